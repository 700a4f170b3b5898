"""What people do to knowledge bases. Each is one transaction and needs library.manage; unknown is NOT_FOUND."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

from app.access.grants import Action
from app.access.rights import require
from app.access.subject import Subject
from app.database import Database, WriteSession
from app.errors import InvalidInput, NotFound
from app.knowledge_bases import repository
from app.knowledge_bases.lifecycle import Work
from app.knowledge_bases.repository import KnowledgeBaseDetails, check_description, check_name
from app.knowledge_bases.work import request_work
from app.library.sources import visible_sources

MAX_SOURCE_IDS = 1_000


@dataclass(frozen=True, slots=True)
class KnowledgeBases:
    """The knowledge bases of one database."""

    database: Database

    async def create(
        self,
        subject: Subject,
        *,
        name: str,
        description: str | None,
        auto_refresh: bool,
        source_ids: Collection[UUID],
    ) -> UUID:
        """A knowledge base that should hold these sources, without an index yet. Its id."""
        name, description = check_name(name), check_description(description)
        async with self._managing(subject) as session:
            await _seen(session, subject, source_ids)
            return await repository.create_knowledge_base(
                session,
                subject.workspace_id,
                name=name,
                description=description,
                auto_refresh=auto_refresh,
                source_ids=source_ids,
            )

    async def change(
        self,
        subject: Subject,
        base_id: UUID,
        *,
        name: str | None,
        description: str | None,
        keep_description: bool,
        auto_refresh: bool | None,
    ) -> None:
        """Change what is given; `name` and `auto_refresh` None, and `keep_description`, leave what is there."""
        async with self._managing(subject, base_id) as session:
            base = await _known(session, subject, base_id)
            await repository.change_knowledge_base(
                session,
                subject.workspace_id,
                base_id,
                name=base.name if name is None else check_name(name),
                description=base.description if keep_description else check_description(description),
                auto_refresh=base.auto_refresh if auto_refresh is None else auto_refresh,
            )

    async def delete(self, subject: Subject, base_id: UUID) -> None:
        """Gone at once. Its sources stay in the Library."""
        async with self._managing(subject, base_id) as session:
            await repository.delete_knowledge_base(session, subject.workspace_id, base_id)

    async def add_sources(self, subject: Subject, base_id: UUID, source_ids: Collection[UUID]) -> None:
        """The knowledge base should hold these too. If one is new, its index is stale (R17)."""
        async with self._managing(subject) as session:
            await repository.hold_sources(session, subject.workspace_id, source_ids)
            await repository.lock_knowledge_bases(session, subject.workspace_id, [base_id])
            await _known(session, subject, base_id)
            await _seen(session, subject, source_ids)
            await repository.add_sources(session, subject.workspace_id, base_id, source_ids)

    async def remove_sources(self, subject: Subject, base_id: UUID, source_ids: Collection[UUID]) -> None:
        """The knowledge base should hold these no longer. Ids that it does not hold are no error, and nor are those
        of sources that the caller may not see: it does not hold them for this caller (R4).
        """
        async with self._managing(subject, base_id) as session:
            _check_count(source_ids)
            seen = await visible_sources(session, subject, source_ids)
            await repository.remove_sources(session, subject.workspace_id, base_id, seen.keys())

    async def request_work(self, subject: Subject, base_id: UUID, work: Work) -> UUID:
        """Ask for a refresh, a rebuild or a repair; the id of the index that it concerns (see work.py)."""
        async with self._managing(subject, base_id) as session:
            return await request_work(session, subject.workspace_id, base_id, work)

    @asynccontextmanager
    async def _managing(self, subject: Subject, base_id: UUID | None = None) -> AsyncIterator[WriteSession]:
        """A transaction of a manager; the knowledge base, where one is named, is locked in it."""
        async with self.database.write() as session:
            if base_id is not None:
                await repository.lock_knowledge_bases(session, subject.workspace_id, [base_id])
                await _known(session, subject, base_id)
            await require(session, subject, Action.LIBRARY_MANAGE)
            yield session


async def _known(session: WriteSession, subject: Subject, base_id: UUID) -> KnowledgeBaseDetails:
    found = await repository.find_knowledge_bases(session, subject.workspace_id, [base_id])
    if base_id not in found:
        raise NotFound("knowledge base")
    return found[base_id]


async def _seen(session: WriteSession, subject: Subject, source_ids: Collection[UUID]) -> None:
    """Raises NotFound unless the caller may see the details of every one of them."""
    _check_count(source_ids)
    if len(await visible_sources(session, subject, source_ids)) < len(set(source_ids)):
        raise NotFound("source")


def _check_count(source_ids: Collection[UUID]) -> None:
    if len(source_ids) > MAX_SOURCE_IDS:
        raise InvalidInput("sourceIds", f"must hold at most {MAX_SOURCE_IDS:,} ids, not {len(source_ids):,}.")
