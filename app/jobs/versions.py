"""The job of a PENDING version: its file's text is extracted, cut into passages and made searchable (SPEC R16)."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, exists, func, select

from app.database import Database, WriteSession
from app.jobs.claims import Claim, end
from app.knowledge_bases.indexing import Searchable, index_in_workspace
from app.knowledge_bases.preparing import Preparer, notes_on
from app.knowledge_bases.repository import mark_stale_by_source
from app.library.extraction import Extracted, ExtractionError, extract
from app.library.files import FileStore, MissingFile
from app.library.passages import save_passages
from app.library.sources import lock_source
from app.models import SourceVersion
from app.settings import Settings

NEEDS_WORK: ColumnElement[bool] = SourceVersion.status == "PENDING"
MISSING = "The stored file is missing. Add the file again."


async def read_version(
    database: Database, files: FileStore, settings: Settings, preparer: Preparer, claim: Claim[SourceVersion]
) -> None:
    """Extract, cut and index one version, or mark it FAILED with a reason. Raises ClaimLostError."""
    async with database.write() as session:
        version = await claim.hold(session)
    try:
        content = await files.get(claim.workspace_id, version.sha256)
        extracted = await extract(
            content, media_type=version.media_type, file_name=version.file_name, settings=settings
        )
    except MissingFile:
        await fail_version(database, claim, MISSING)
    except ExtractionError as error:
        await fail_version(database, claim, error.reason)
    else:
        passages = await preparer.prepare(version.source_id, version.id, extracted.text)
        await _save(database, claim, version, extracted, passages)


async def fail_version(database: Database, claim: Claim[SourceVersion], reason: str) -> None:
    """The version cannot be read. If an older one can, that one goes on serving.

    If none can, the indexes that should hold the source are to say so: they look again, and name it (R17).
    """
    async with database.write() as session:
        found = await session.get_one(SourceVersion, (claim.workspace_id, claim.id))
        source = await lock_source(session, claim.workspace_id, found.source_id)
        version = await claim.hold(session)
        version.status = "FAILED"
        version.status_reason = reason
        end(version)
        if source is not None and source.lifecycle == "ACTIVE" and not await _is_any_indexed(session, version):
            await mark_stale_by_source(session, claim.workspace_id, version.source_id)


async def _save(
    database: Database,
    claim: Claim[SourceVersion],
    version: SourceVersion,
    extracted: Extracted,
    passages: Sequence[Searchable],
) -> None:
    async with database.write(patient=True) as session:
        source = await lock_source(session, claim.workspace_id, version.source_id)
        row = await claim.hold(session)
        row.status = "INDEXED"
        row.status_reason = notes_on(extracted, passages)
        row.passage_count = len(passages)
        end(row)
        if source is None or source.lifecycle != "ACTIVE":
            return
        await save_passages(session, claim.workspace_id, [passage for passage, _ in passages])
        if await _is_newest_indexed(session, row):
            await index_in_workspace(session, claim.workspace_id, row.source_id, row.id, passages)
            await mark_stale_by_source(session, claim.workspace_id, row.source_id)


async def _is_any_indexed(session: WriteSession, version: SourceVersion) -> bool:
    indexed = exists().where(
        SourceVersion.workspace_id == version.workspace_id,
        SourceVersion.source_id == version.source_id,
        SourceVersion.status == "INDEXED",
    )
    return bool(await session.scalar(select(indexed)))


async def _is_newest_indexed(session: WriteSession, version: SourceVersion) -> bool:
    newest = await session.scalar(
        select(func.max(SourceVersion.number)).where(
            SourceVersion.workspace_id == version.workspace_id,
            SourceVersion.source_id == version.source_id,
            SourceVersion.status == "INDEXED",
        )
    )
    return newest == version.number
