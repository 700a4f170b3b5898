"""Whether the process lives, and whether it can serve."""

import structlog
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.migrating import current, head
from app.services import Services

log = structlog.stdlib.get_logger(__name__)


async def healthz(_: Request) -> Response:
    """200 as long as the process answers."""
    return JSONResponse({"status": "ok"})


async def readyz(request: Request) -> Response:
    """200 when the database answers and has the migrations that this code expects; else 503 with what is missing."""
    services: Services = request.state.services
    try:
        async with services.database.engine.connect() as connection:
            revision = await connection.run_sync(current)
    except Exception:
        log.warning("database_does_not_answer", exc_info=True)
        return JSONResponse({"status": "unavailable", "reason": "The database does not answer."}, 503)
    if revision != head():
        return JSONResponse({"status": "unavailable", "reason": "Migrations are missing. Run: gctl migrate"}, 503)
    return JSONResponse({"status": "ok"})
