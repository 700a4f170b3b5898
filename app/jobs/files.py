"""The job of a workspace's file store: once a day, files that nothing names are deleted. The workspace's own index is
the row that carries it; it is due when its `run_after` has come.
"""

from datetime import UTC, datetime, timedelta

import structlog
from sqlalchemy import ColumnElement, and_, func

from app.database import Database
from app.jobs.claims import Claim, end
from app.library.files import FileStore
from app.library.unused import delete_unused
from app.models import SearchIndex

log = structlog.get_logger(__name__)

NEEDS_WORK: ColumnElement[bool] = and_(SearchIndex.id == SearchIndex.workspace_id, SearchIndex.state == "READY")
EVERY = timedelta(days=1)
# An upload stores its file first and writes its row last: a file this old waits for no row.
LONGEST_UPLOAD = timedelta(days=1)


async def collect(database: Database, files: FileStore, claim: Claim[SearchIndex]) -> None:
    """Delete the unused files of one workspace, and look again in a day."""
    deleted = await delete_unused(database, files, claim.workspace_id, datetime.now(UTC) - LONGEST_UPLOAD)
    if deleted:
        log.info("unused_files_deleted", files=deleted)
    async with database.write() as session:
        index = await claim.hold(session)
        index.run_after = func.now() + EVERY
        index.attempt = 0
        end(index)
