"""Files that no version needs any more. Nothing else deletes files.

A file is in the store before the row that names it, and it may be named by several versions. So that none is deleted
while a row that names it is being written, both hold the row of the workspace's own index: who writes a version shares
it (`keep_files`) and then looks whether the file is there; who deletes a file has it alone.
"""

from datetime import datetime
from uuid import UUID

from sqlalchemy import Select, select

from app.database import Database, WriteSession
from app.library.files import FileStore
from app.models import SearchIndex, SourceVersion

# Digests looked up in one statement.
BATCH = 1_000


async def keep_files(session: WriteSession, workspace_id: UUID) -> None:
    """No file of the workspace is deleted until this transaction ends."""
    await session.execute(_own_index(workspace_id).with_for_update(read=True))


async def delete_if_unused(database: Database, files: FileStore, workspace_id: UUID, sha256: str) -> bool:
    """Delete the file unless a version that is kept names it. Whether it was deleted, or was not there."""
    async with database.write() as session:
        await session.execute(_own_index(workspace_id).with_for_update(key_share=True))
        named = select(SourceVersion.id).where(
            SourceVersion.workspace_id == workspace_id, SourceVersion.sha256 == sha256, SourceVersion.kept
        )
        if await session.scalar(named.limit(1)) is not None:
            return False
        await files.delete(workspace_id, sha256)
        return True


async def delete_unused(database: Database, files: FileStore, workspace_id: UUID, before: datetime) -> int:
    """Delete the files that were stored before that moment and that nothing names; how many.

    They are left by uploads whose server died between the file and the row, and by deletes whose store was away.
    """
    deleted = 0
    await files.delete_unfinished(workspace_id, before)
    batch: list[str] = []
    async for sha256 in files.stored_before(workspace_id, before):
        batch.append(sha256)
        if len(batch) == BATCH:
            deleted += await _delete_those(database, files, workspace_id, batch)
            batch = []
    return deleted + await _delete_those(database, files, workspace_id, batch)


async def _delete_those(database: Database, files: FileStore, workspace_id: UUID, digests: list[str]) -> int:
    async with database.read() as session:
        named = set(
            await session.scalars(
                select(SourceVersion.sha256).where(
                    SourceVersion.workspace_id == workspace_id, SourceVersion.sha256.in_(digests), SourceVersion.kept
                )
            )
        )
    unused = [sha256 for sha256 in digests if sha256 not in named]
    return sum([await delete_if_unused(database, files, workspace_id, sha256) for sha256 in unused])


def _own_index(workspace_id: UUID) -> Select[UUID]:
    return select(SearchIndex.id).where(SearchIndex.workspace_id == workspace_id, SearchIndex.id == workspace_id)
