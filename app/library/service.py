"""What people do to the Library. Each is one transaction; who may is asked in it, hidden looks missing (R4)."""

from collections.abc import AsyncIterable, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple, TypeVar
from uuid import UUID

from app.access import grants
from app.access.grants import Action, workspace_actions
from app.access.rights import require
from app.access.subject import Subject
from app.database import Database, ReadSession, WriteSession
from app.errors import Forbidden, InvalidInput, NotFound, Unavailable
from app.library import sources, versions
from app.library.files import FileStore
from app.library.sources import SourceDetails, visible_sources
from app.library.unused import delete_if_unused, keep_files
from app.library.versions import FileFacts, Version, check_file_name, check_media_type

T = TypeVar("T")
# A file of that size is read in a moment, and its caller is going to ask for that: so long the workers leave it alone.
SMALL_FILE = 1_000_000
READ_WITHIN = timedelta(seconds=5)
STORE_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file as it came in: the name and the media type are the person's, and are not believed.

    `content` is a path, or what gives a stream of it each time it is called, where it may be too large to be held.
    """

    name: str
    media_type: str
    content: bytes | Path | Callable[[], AsyncIterable[bytes]]


class Added(NamedTuple):
    """A version that was added. One that `is_small` is left for a moment to the caller, to have it read at once."""

    source_id: UUID
    version_id: UUID
    is_small: bool


@dataclass(frozen=True, slots=True)
class Library:
    """The Library of one database and one file store."""

    database: Database
    files: FileStore

    async def add_source(
        self, subject: Subject, *, title: str, description: str | None, private: bool, file: NewFile
    ) -> Added:
        """A new source of the caller's own, with its first version. Needs library.manage."""
        title, description = sources.check_title(title), sources.check_description(description)
        workspace_id = subject.workspace_id
        async with self.database.read() as reading:
            await require(reading, subject, Action.LIBRARY_MANAGE)

        async def write(session: WriteSession, facts: FileFacts) -> Added:
            await require(session, subject, Action.LIBRARY_MANAGE)
            source_id = await sources.add_source(
                session, workspace_id, title=title, description=description, private=private, owner=subject.id
            )
            return await _add_version(session, workspace_id, source_id, facts)

        return await self.storing(workspace_id, file, write)

    async def add_version(self, subject: Subject, source_id: UUID, file: NewFile) -> Added:
        """A new version of a source; the newest one if it is this same file already."""
        async with self.database.read() as reading:
            await managed_source(reading, subject, source_id)

        async def write(session: WriteSession, facts: FileFacts) -> Added:
            await managed_source(session, subject, source_id)
            return await _add_version(session, subject.workspace_id, source_id, facts)

        return await self.storing(subject.workspace_id, file, write)

    async def storing(
        self, workspace_id: UUID, file: NewFile, write: Callable[[WriteSession, FileFacts], Awaitable[T]]
    ) -> T:
        """Store a file, then write the rows that name it, in one transaction: what `write` returns.

        The file is there before the rows: a crash in between leaves one too many, never one too few. If the same
        content was deleted with another version meanwhile, it is stored again, and the rows are written anew.
        Raises InvalidInput, and whatever `write` raises.
        """
        name, media_type = check_file_name(file.name), check_media_type(file.media_type)
        for _ in range(STORE_ATTEMPTS):
            content = file.content() if callable(file.content) else file.content
            stored = await self.files.put(workspace_id, content)
            async with self.database.write() as session:
                await keep_files(session, workspace_id)
                if await self.files.exists(workspace_id, stored.sha256):
                    return await write(session, FileFacts(name, media_type, stored.size, stored.sha256))
        raise Unavailable("The file store lost the file. Try again.")

    async def discard_stored_file(self, subject: Subject, version_id: UUID) -> Version:
        """Drop a version's stored file: it is not kept from now on, and no search finds it (R20). Safe to repeat."""
        async with self.database.write() as session:
            version = await _visible_version(session, subject, version_id)
            await managed_source(session, subject, version.source_id)
            await versions.discard_stored_file(session, subject.workspace_id, version)
        await delete_if_unused(self.database, self.files, subject.workspace_id, version.sha256)
        async with self.database.read() as reading:
            return await _visible_version(reading, subject, version_id)

    async def change_source(
        self,
        subject: Subject,
        source_id: UUID,
        *,
        title: str | None,
        description: str | None,
        keep_description: bool,
        private: bool | None,
    ) -> SourceDetails:
        """Change what is given; `title` and `private` None, and `keep_description`, leave what is there.

        The source as it is now: a manager who made it private may not be able to see it any more.
        """
        async with self.database.write() as session:
            await sources.lock_source(session, subject.workspace_id, source_id)
            source = await managed_source(session, subject, source_id)
            if private is False:
                _may_open(source)
            changed = source._replace(
                title=source.title if title is None else sources.check_title(title),
                description=source.description if keep_description else sources.check_description(description),
                private=source.private if private is None else private,
            )
            await sources.change_source(
                session,
                subject.workspace_id,
                source_id,
                title=changed.title,
                description=changed.description,
                private=changed.private,
            )
        return changed

    async def set_availability(self, subject: Subject, source_id: UUID, availability: str) -> None:
        async with self.database.write() as session:
            await managed_source(session, subject, source_id)
            await sources.set_availability(session, subject.workspace_id, source_id, availability)

    async def delete_source(self, subject: Subject, source_id: UUID) -> None:
        """Hidden at once; what is left of it is purged by a job (R19)."""
        async with self.database.write() as session:
            await managed_source(session, subject, source_id)
            await sources.mark_deleting(session, subject.workspace_id, source_id)

    async def grant_access(
        self, subject: Subject, to: str, action: Action, source_id: UUID | None, expires_at: datetime | None
    ) -> None:
        """An owner gives access to a source of its own, a manager to any that it sees, and to the workspace."""
        until = None if expires_at is None else _moment_to_come(expires_at)
        async with self.database.write() as session:
            source = await _may_grant(session, subject, source_id)
            if source is not None and action in (Action.SOURCE_READ, Action.SOURCE_CONTENT):
                _may_open(source)
            await grants.grant(session, subject.workspace_id, to, action, source_id, until)

    async def revoke_access(self, subject: Subject, of: str, action: Action, source_id: UUID | None) -> None:
        """Take a grant away; it counts from the next retrieval on. One that was never given is no error."""
        async with self.database.write() as session:
            await _may_grant(session, subject, source_id)
            await grants.revoke(session, subject.workspace_id, of, action, source_id)


def _moment_to_come(expires_at: datetime) -> datetime:
    """`expires_at` in UTC. Raises InvalidInput for what is past, has no time zone, or is beyond the year 9999."""
    try:
        until = None if expires_at.tzinfo is None else expires_at.astimezone(UTC)
    except OverflowError:
        until = None
    if until is None or until <= datetime.now(UTC):
        raise InvalidInput("expiresAt", "must be a moment to come, with its time zone.")
    return until


async def _add_version(session: WriteSession, workspace_id: UUID, source_id: UUID, facts: FileFacts) -> Added:
    is_small = facts.size <= SMALL_FILE
    version_id, _ = await versions.add_version(
        session, workspace_id, source_id, facts, read_within=READ_WITHIN if is_small else timedelta()
    )
    return Added(source_id, version_id, is_small)


async def _may_grant(session: WriteSession, subject: Subject, source_id: UUID | None) -> SourceDetails | None:
    """The source that the grant is on, if it is on one. Raises NotFound and Forbidden."""
    if source_id is not None:
        return await managed_source(session, subject, source_id)
    await require(session, subject, Action.LIBRARY_MANAGE)
    return None


def _may_open(source: SourceDetails) -> None:
    """Managing opens no private source (R3), so neither may a manager open to itself, or to all, one it can't read."""
    if source.private and not source.readable:
        raise Forbidden("Only who may read this private source may open it to others.")


async def managed_source(session: ReadSession | WriteSession, subject: Subject, source_id: UUID) -> SourceDetails:
    """The source, if the caller sees its details and may manage it. Raises NotFound, then Forbidden."""
    source = (await visible_sources(session, subject, [source_id])).get(source_id)
    if source is None:
        raise NotFound("source")
    if not source.owned and Action.LIBRARY_MANAGE not in await workspace_actions(session, subject):
        raise Forbidden("Only its owner, or who holds library.manage on the workspace, may manage this source.")
    return source


async def _visible_version(session: ReadSession | WriteSession, subject: Subject, version_id: UUID) -> Version:
    version = (await versions.find_versions(session, subject.workspace_id, [version_id])).get(version_id)
    if version is None or not await visible_sources(session, subject, [version.source_id]):
        raise NotFound("version")
    return version
