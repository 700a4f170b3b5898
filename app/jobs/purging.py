"""The jobs that clean up: sources that are being deleted, and generations that nobody searches any more (SPEC R19).

Rows go in batches, each in a transaction of its own, so that no lock is held for long; a job that is interrupted goes
on from there, and one that is done twice finds nothing to do.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.orm import InstrumentedAttribute

from app.database import Database
from app.jobs.claims import Claim
from app.library.files import FileStore
from app.library.unused import delete_if_unused
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
    """Drop the source's rows and the files that no other version of its workspace has, then the source itself.

    A step deletes at most the passages of one version, once an index.
    """
    workspace_id, source_id = claim.workspace_id, claim.id
    digests = await _keep_no_version(database, claim)
    async with database.read() as session:
        members = IndexMember.workspace_id == workspace_id, IndexMember.source_id == source_id
        index_ids = (await session.scalars(select(IndexMember.index_id).where(*members))).all()
        versions = SourceVersion.workspace_id == workspace_id, SourceVersion.source_id == source_id
        version_ids = (await session.scalars(select(SourceVersion.id).where(*versions))).all()
    for index_id in index_ids:
        in_index = IndexPosting.workspace_id == workspace_id, IndexPosting.index_id == index_id
        await _delete(database, IndexPosting, *in_index, IndexPosting.source_id == source_id)
    for table in (IndexMember, IndexFailure, KnowledgeBaseSource):
        await _delete(database, table, table.workspace_id == workspace_id, table.source_id == source_id)
    for version_id in version_ids:
        await _delete(database, Passage, Passage.workspace_id == workspace_id, Passage.version_id == version_id)
    for sha256 in digests:
        await delete_if_unused(database, files, workspace_id, sha256)
    async with database.write(patient=True) as session:
        await session.delete(await claim.hold(session))


async def _keep_no_version(database: Database, claim: Claim[Source]) -> Sequence[str]:
    """From now on nothing of the source is copied or kept. The sha256 of all its files.

    The lock waits for builds that are copying the source, and for a version that is being added: both lock it too, and
    whoever comes later sees that it is on its way out.
    """
    of_source = SourceVersion.workspace_id == claim.workspace_id, SourceVersion.source_id == claim.id
    async with database.write(patient=True) as session:
        await session.execute(
            select(Source.id).where(Source.workspace_id == claim.workspace_id, Source.id == claim.id).with_for_update()
        )
        await session.execute(update(SourceVersion).where(*of_source).values(kept=False))
        return (await session.scalars(select(SourceVersion.sha256).where(*of_source).distinct())).all()


async def drop_index(database: Database, claim: Claim[SearchIndex]) -> None:
    """Drop the rows of a retired generation, then the generation itself."""
    of_index = claim.workspace_id, claim.id
    await _delete_in_batches(database, IndexPosting, IndexPosting.passage_id, *of_index)
    await _delete_in_batches(database, IndexMember, IndexMember.source_id, *of_index)
    await _delete_in_batches(database, IndexFailure, IndexFailure.source_id, *of_index)
    async with database.write(patient=True) as session:
        await session.delete(await claim.hold(session))


async def _delete_in_batches(
    database: Database,
    table: type[IndexPosting | IndexMember | IndexFailure],
    key: InstrumentedAttribute[UUID],
    workspace_id: UUID,
    index_id: UUID,
) -> None:
    """Delete the rows of an index along its key, so that no batch looks again at what those before it deleted."""
    condition: list[ColumnElement[bool]] = [table.workspace_id == workspace_id, table.index_id == index_id]
    last: UUID | None = None
    while True:
        rest = condition if last is None else [*condition, key > last]
        async with database.write(patient=True) as session:
            last = await session.scalar(select(key).where(*rest).order_by(key).offset(BATCH - 1).limit(1))
            batch = rest if last is None else [*rest, key <= last]
            await session.execute(delete(table).where(*batch), execution_options={"synchronize_session": False})
        if last is None:
            return


async def _delete(database: Database, table: type[Base], *condition: ColumnElement[bool]) -> None:
    statement: Any = delete(table).where(*condition)
    async with database.write(patient=True) as session:
        await session.execute(statement, execution_options={"synchronize_session": False})
