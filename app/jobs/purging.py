"""The jobs that clean up: sources that are being deleted, and generations that nobody searches any more (SPEC R19).

Rows go in batches, each in a transaction of its own, so that no lock is held for long; a job that is interrupted goes
on from there, and one that is done twice finds nothing to do.
"""

from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, and_, delete, func, select, tuple_

from app.database import Database
from app.jobs.claims import Claim
from app.library.files import FileStore
from app.models import (
    Base,
    IndexFailure,
    IndexMember,
    IndexPosting,
    KnowledgeBaseSource,
    Passage,
    SearchIndex,
    Source,
    SourceVersion,
)

SOURCE_NEEDS_WORK: ColumnElement[bool] = Source.lifecycle == "DELETING"
INDEX_NEEDS_WORK: ColumnElement[bool] = SearchIndex.state == "RETIRED"
BATCH = 5_000


async def purge_source(database: Database, files: FileStore, claim: Claim[Source]) -> None:
    """Drop the source's rows and the files that no other version of its workspace has, then the source itself."""
    workspace_id, source_id = claim.workspace_id, claim.id
    async with database.read() as session:
        members = IndexMember.workspace_id == workspace_id, IndexMember.source_id == source_id
        index_ids = (await session.scalars(select(IndexMember.index_id).where(*members))).all()
        versions = SourceVersion.workspace_id == workspace_id, SourceVersion.source_id == source_id
        digests = (await session.scalars(select(SourceVersion.sha256).where(*versions).distinct())).all()
        version_ids = (await session.scalars(select(SourceVersion.id).where(*versions))).all()
    for index_id in index_ids:
        in_index = IndexPosting.workspace_id == workspace_id, IndexPosting.index_id == index_id
        await _drop(database, IndexPosting, *in_index, IndexPosting.source_id == source_id)
    for table in (IndexMember, IndexFailure, KnowledgeBaseSource):
        await _drop(database, table, table.workspace_id == workspace_id, table.source_id == source_id)
    for version_id in version_ids:
        await _drop(database, Passage, Passage.workspace_id == workspace_id, Passage.version_id == version_id)
    for sha256 in digests:
        await _delete_unshared_file(database, files, workspace_id, source_id, sha256)
    async with database.write(patient=True) as session:
        await session.delete(await claim.hold(session))


async def _delete_unshared_file(
    database: Database, files: FileStore, workspace_id: UUID, source_id: UUID, sha256: str
) -> None:
    async with database.read() as session:
        others = select(func.count()).where(
            SourceVersion.workspace_id == workspace_id,
            SourceVersion.sha256 == sha256,
            SourceVersion.source_id != source_id,
            SourceVersion.kept,
        )
        shared = await session.scalar(others)
    if not shared:
        await files.delete(workspace_id, sha256)


async def drop_index(database: Database, claim: Claim[SearchIndex]) -> None:
    """Drop the rows of a retired generation, then the generation itself."""
    workspace_id, index_id = claim.workspace_id, claim.id
    for table in (IndexPosting, IndexMember, IndexFailure):
        await _drop(database, table, table.workspace_id == workspace_id, table.index_id == index_id)
    async with database.write(patient=True) as session:
        await session.delete(await claim.hold(session))


async def _drop(database: Database, table: type[Base], *condition: ColumnElement[bool]) -> None:
    """Delete what meets the condition, a batch a transaction."""
    key: tuple[Any, ...] = tuple(table.__table__.primary_key)
    batch = select(*key).where(*condition).limit(BATCH).subquery("batch")
    statement = delete(table).where(and_(*condition), tuple_(*key).in_(select(batch)))
    while True:
        async with database.write(patient=True) as session:
            result: Any = await session.execute(statement, execution_options={"synchronize_session": False})
        if result.rowcount < BATCH:
            return
