"""The job of a PENDING version: its file's text is extracted, cut into passages and made searchable (SPEC R16)."""

import asyncio
from collections.abc import Sequence

from sqlalchemy import ColumnElement, func, select

from app.database import Database, WriteSession
from app.jobs.claims import Claim, end
from app.knowledge_bases.indexing import Searchable, index_in_workspace, searchable
from app.knowledge_bases.repository import mark_stale_by_source
from app.library.extraction import Extracted, ExtractionError, extract
from app.library.files import FileStore, MissingFile
from app.library.passages import StoredPassage, cut, save_passages
from app.library.sources import lock_source
from app.library.splitting import split
from app.models import SourceVersion
from app.settings import Settings

NEEDS_WORK: ColumnElement[bool] = SourceVersion.status == "PENDING"
NO_TEXT = "The file holds no text that can be read. The source is not found by search."


async def read_version(database: Database, files: FileStore, settings: Settings, claim: Claim[SourceVersion]) -> None:
    """Extract, cut and index one version, or mark it FAILED with a reason. Raises ClaimLostError."""
    async with database.read() as session:
        version = await session.get_one(SourceVersion, (claim.workspace_id, claim.id))
    try:
        content = await files.get(claim.workspace_id, version.sha256)
        extracted = await extract(
            content, media_type=version.media_type, file_name=version.file_name, settings=settings
        )
    except MissingFile:
        await fail_version(database, claim, "The stored file is missing. Add the file again.")
    except ExtractionError as error:
        await fail_version(database, claim, error.reason)
    else:
        passages = await asyncio.to_thread(_searchable, version, extracted)
        await _save(database, claim, version, extracted, passages)


def _searchable(version: SourceVersion, extracted: Extracted) -> list[Searchable]:
    return searchable(cut(version.source_id, version.id, extracted.text, split(extracted.text)))


async def fail_version(database: Database, claim: Claim[SourceVersion], reason: str) -> None:
    """The version cannot be read. An older one goes on serving; indexes that hold none of the source say so."""
    async with database.write() as session:
        version = await claim.hold(session)
        version.status = "FAILED"
        version.status_reason = reason
        end(version)


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
        row.status_reason = " ".join([*extracted.notes, *([] if passages else [NO_TEXT])]) or None
        row.passage_count = len(passages)
        end(row)
        if source is None or source.lifecycle != "ACTIVE":
            return
        stored: list[StoredPassage] = [passage for passage, _ in passages]
        await save_passages(session, claim.workspace_id, stored)
        if await _is_newest_indexed(session, row):
            await index_in_workspace(session, claim.workspace_id, row.source_id, row.id, passages)
            await mark_stale_by_source(session, claim.workspace_id, row.source_id)


async def _is_newest_indexed(session: WriteSession, version: SourceVersion) -> bool:
    newest = await session.scalar(
        select(func.max(SourceVersion.number)).where(
            SourceVersion.workspace_id == version.workspace_id,
            SourceVersion.source_id == version.source_id,
            SourceVersion.status == "INDEXED",
        )
    )
    return newest == version.number
