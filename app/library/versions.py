"""Versions: the files of a source, newest last."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from sqlalchemy import ARRAY, Uuid, any_, func, literal, select, update
from sqlalchemy.dialects.postgresql import distinct_on

from app.database import ReadSession, WriteSession, announce_work
from app.errors import NotFound
from app.inputs import trimmed_text
from app.library.sources import keep_access_in_step, lock_source
from app.models import SourceVersion, new_id

MAX_FILE_NAME = 255
MAX_MEDIA_TYPE = 255


@dataclass(frozen=True, slots=True)
class FileFacts:
    """A stored file: its name and declared media type as the person gave them, its size in bytes, and what it holds."""

    name: str
    media_type: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Version:
    id: UUID
    source_id: UUID
    number: int
    file_name: str
    media_type: str
    size: int
    sha256: str
    kept: bool
    status: str
    status_reason: str | None
    passage_count: int


def check_file_name(name: str) -> str:
    """A file's name: trimmed, 1 to 255 characters. Raises InvalidInput."""
    return trimmed_text("file.name", name, longest=MAX_FILE_NAME)


def check_media_type(media_type: str) -> str:
    """A declared media type: trimmed, 1 to 255 characters. It is a hint: what counts is what the file holds."""
    return trimmed_text("file.mediaType", media_type, longest=MAX_MEDIA_TYPE)


async def add_version(
    session: WriteSession, workspace_id: UUID, source_id: UUID, file: FileFacts, *, read_within: timedelta = timedelta()
) -> tuple[UUID, bool]:
    """A new PENDING version, and True; or, when the newest version is this same file and kept, that one, and False.

    For `read_within` the workers leave it to the caller, who is going to have it read. Raises NotFound for a source
    that is gone or on its way out.
    """
    source = await lock_source(session, workspace_id, source_id)
    if source is None or source.lifecycle != "ACTIVE":
        raise NotFound("source")
    newest = await _newest(session, workspace_id, source_id)
    if newest is not None and newest.sha256 == file.sha256 and newest.kept and newest.status != "FAILED":
        return newest.id, False
    version = SourceVersion(
        workspace_id=workspace_id,
        id=new_id(),
        source_id=source_id,
        number=1 if newest is None else newest.number + 1,
        file_name=file.name,
        media_type=file.media_type,
        size=file.size,
        sha256=file.sha256,
        run_after=func.now() + read_within,
    )
    session.add(version)
    await session.flush()
    await keep_access_in_step(session, workspace_id, source_id)
    if not read_within:
        await announce_work(session)
    return version.id, True


async def _newest(session: WriteSession, workspace_id: UUID, source_id: UUID) -> SourceVersion | None:
    return await session.scalar(
        select(SourceVersion)
        .where(SourceVersion.workspace_id == workspace_id, SourceVersion.source_id == source_id)
        .order_by(SourceVersion.number.desc())
        .limit(1)
    )


async def discard_stored_file(session: WriteSession, workspace_id: UUID, version: Version) -> None:
    """The version is not kept from now on (R20). Its file goes by app/library/unused.py, if no other version has it."""
    # What admission asks of the source's versions is written by one transaction at a time: without the lock this one
    # could write an older `private` over a change that is being committed.
    await lock_source(session, workspace_id, version.source_id)
    of_workspace = SourceVersion.workspace_id == workspace_id
    await session.execute(update(SourceVersion).where(of_workspace, SourceVersion.id == version.id).values(kept=False))
    await keep_access_in_step(session, workspace_id, version.source_id)


async def find_versions(
    session: ReadSession | WriteSession, workspace_id: UUID, ids: Collection[UUID]
) -> dict[UUID, Version]:
    """Those of `ids` that exist. Who may see them is decided by their sources: ask for those first."""
    rows = await session.scalars(
        select(SourceVersion).where(
            SourceVersion.workspace_id == workspace_id, SourceVersion.id == any_(literal(list(ids), ARRAY(Uuid())))
        )
    )
    return {row.id: _version(row) for row in rows}


async def latest_versions(
    session: ReadSession | WriteSession, workspace_id: UUID, source_ids: Collection[UUID]
) -> dict[UUID, Version]:
    """The highest-numbered version of each source, whatever its status, by the source's id."""
    rows = await session.scalars(
        select(SourceVersion)
        .ext(distinct_on(SourceVersion.source_id))
        .where(
            SourceVersion.workspace_id == workspace_id,
            SourceVersion.source_id == any_(literal(list(source_ids), ARRAY(Uuid()))),
        )
        .order_by(SourceVersion.source_id, SourceVersion.number.desc())
    )
    return {row.source_id: _version(row) for row in rows}


async def list_versions(
    session: ReadSession, workspace_id: UUID, source_id: UUID, *, before: int | None, first: int
) -> list[Version]:
    """At most `first` versions of a source with numbers below `before`, the newest first."""
    statement = (
        select(SourceVersion)
        .where(SourceVersion.workspace_id == workspace_id, SourceVersion.source_id == source_id)
        .order_by(SourceVersion.number.desc())
        .limit(first)
    )
    if before is not None:
        statement = statement.where(SourceVersion.number < before)
    return [_version(row) for row in await session.scalars(statement)]


def _version(row: SourceVersion) -> Version:
    return Version(
        id=row.id,
        source_id=row.source_id,
        number=row.number,
        file_name=row.file_name,
        media_type=row.media_type,
        size=row.size,
        sha256=row.sha256,
        kept=row.kept,
        status=row.status,
        status_reason=row.status_reason,
        passage_count=row.passage_count,
    )
