"""The planner is told of a workspace that it does not know, before searches there suffer."""

from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

from sqlalchemy import text

from app.access.workspaces import ensure_workspace
from app.importing import import_documents
from app.importing.documents import Document
from app.knowledge_bases.upkeep import settle
from app.library.service import NewFile
from app.services import Services, open_services
from app.settings import Settings

PASSAGES = 300
LONG = "\n\n".join("Harbor rigging is checked. " * 30 for _ in range(PASSAGES)).encode()


async def _fill(services: Services, name: str) -> UUID:
    async with services.database.write() as session:
        workspace_id = await ensure_workspace(session, name)
    document = Document("long", NewFile("long.md", "text/markdown", LONG), "Long")
    outcomes = [o async for o in import_documents(services, workspace_id, "user:o", iter([document]))]
    assert [outcome.what for outcome in outcomes] == ["added"]
    return workspace_id


async def _estimate(services: Services, workspace_id: UUID) -> int:
    """How many postings the planner takes the workspace to have."""
    async with services.database.read() as session:
        plan = await session.scalar(
            text(f"EXPLAIN (FORMAT JSON) SELECT * FROM index_postings WHERE workspace_id = '{workspace_id}'")  # noqa: S608
        )
    rows: int = plan[0]["Plan"]["Plan Rows"]
    return rows


async def test_a_new_workspace_beside_listed_ones_becomes_known() -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o711)  # noqa: ASYNC240 once, before anything runs
        async with open_services(Settings(data_dir=folder / "data")) as services:
            for known in ("first", "second"):
                await settle(services.database, await _fill(services, known), 1_000_000)
            new = await _fill(services, "third")
            assert await _estimate(services, new) < 10
            await settle(services.database, new, PASSAGES)
            assert await _estimate(services, new) >= PASSAGES
