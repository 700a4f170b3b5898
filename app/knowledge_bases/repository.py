"""Knowledge bases and the set of sources that each should hold. A change of the set makes its index stale (R17)."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from sqlalchemy import ARRAY, Uuid, and_, any_, delete, func, literal, select, update
from sqlalchemy.dialects.postgresql import insert

from app.access.subject import Subject
from app.database import ReadSession, WriteSession, announce_work
from app.inputs import trimmed_text
from app.knowledge_bases.lifecycle import State, Work
from app.library.sources import SourceDetails, list_sources
from app.models import KnowledgeBase, KnowledgeBaseSource, SearchIndex, Source, new_id

MAX_NAME = 200
MAX_DESCRIPTION = 5_000
# A retrieval that found an index current may still be reading it: far longer than any operation may take.
RETIREMENT = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class KnowledgeBaseDetails:
    id: UUID
    name: str
    description: str | None
    auto_refresh: bool


def check_name(name: str) -> str:
    """The name as it is stored: trimmed, 1 to 200 characters. Raises InvalidInput."""
    return trimmed_text("name", name, longest=MAX_NAME)


def check_description(description: str | None) -> str | None:
    """The description as it is stored: trimmed, at most 5,000 characters, None if empty. Raises InvalidInput."""
    if description is None:
        return None
    return trimmed_text("description", description, shortest=0, longest=MAX_DESCRIPTION) or None


async def find_knowledge_bases(
    session: ReadSession | WriteSession, workspace_id: UUID, ids: Collection[UUID]
) -> dict[UUID, KnowledgeBaseDetails]:
    """Those of `ids` that the workspace has. Every caller of the workspace knows its knowledge bases (R4)."""
    rows = await session.scalars(
        select(KnowledgeBase).where(
            KnowledgeBase.workspace_id == workspace_id, KnowledgeBase.id == any_(literal(list(ids), ARRAY(Uuid())))
        )
    )
    return {row.id: _details(row) for row in rows}


async def find_knowledge_base_named(
    session: ReadSession | WriteSession, workspace_id: UUID, name: str
) -> KnowledgeBaseDetails | None:
    """The oldest knowledge base of that name; None where there is none. Names need not be unique."""
    row = await session.scalar(
        select(KnowledgeBase)
        .where(KnowledgeBase.workspace_id == workspace_id, KnowledgeBase.name == name)
        .order_by(KnowledgeBase.id)
        .limit(1)
    )
    return None if row is None else _details(row)


async def list_knowledge_bases(
    session: ReadSession, workspace_id: UUID, *, after: UUID | None, first: int
) -> list[KnowledgeBaseDetails]:
    """At most `first` knowledge bases behind `after`, in the order they were made."""
    statement = select(KnowledgeBase).where(KnowledgeBase.workspace_id == workspace_id)
    if after is not None:
        statement = statement.where(KnowledgeBase.id > after)
    return [_details(row) for row in await session.scalars(statement.order_by(KnowledgeBase.id).limit(first))]


def _details(row: KnowledgeBase) -> KnowledgeBaseDetails:
    return KnowledgeBaseDetails(row.id, row.name, row.description, row.auto_refresh)


async def create_knowledge_base(
    session: WriteSession,
    workspace_id: UUID,
    *,
    name: str,
    description: str | None,
    auto_refresh: bool,
    source_ids: Collection[UUID],
) -> UUID:
    """A knowledge base without an index: it is first built when somebody asks for it."""
    base_id = new_id()
    await hold_sources(session, workspace_id, source_ids)
    session.add(
        KnowledgeBase(
            workspace_id=workspace_id, id=base_id, name=name, description=description, auto_refresh=auto_refresh
        )
    )
    await session.flush()
    await _insert_sources(session, workspace_id, base_id, source_ids)
    return base_id


async def change_knowledge_base(
    session: WriteSession, workspace_id: UUID, base_id: UUID, *, name: str, description: str | None, auto_refresh: bool
) -> None:
    await session.execute(
        update(KnowledgeBase)
        .where(KnowledgeBase.workspace_id == workspace_id, KnowledgeBase.id == base_id)
        .values(name=name, description=description, auto_refresh=auto_refresh)
    )


async def delete_knowledge_base(session: WriteSession, workspace_id: UUID, base_id: UUID) -> None:
    """Gone at once; the rows of its indexes are dropped by a job."""
    of_base = (KnowledgeBase.workspace_id == workspace_id, KnowledgeBase.id == base_id)
    await lock_knowledge_bases(session, workspace_id, [base_id])
    await session.execute(update(KnowledgeBase).where(*of_base).values(current_index_id=None))
    await session.execute(
        update(SearchIndex)
        .where(SearchIndex.workspace_id == workspace_id, SearchIndex.knowledge_base_id == base_id)
        .values(
            knowledge_base_id=None,
            state=State.RETIRED,
            work=None,
            lease_until=None,
            leased_by=None,
            attempt=0,
            run_after=func.now() + RETIREMENT,
        )
    )
    await session.execute(delete(KnowledgeBase).where(*of_base))


async def add_sources(session: WriteSession, workspace_id: UUID, base_id: UUID, source_ids: Collection[UUID]) -> None:
    """Add to the set. Sources that it holds already change nothing; if none is new, the index stays as it is."""
    await hold_sources(session, workspace_id, source_ids)
    await lock_knowledge_bases(session, workspace_id, [base_id])
    if await _insert_sources(session, workspace_id, base_id, source_ids):
        await mark_stale(session, workspace_id, [base_id])


async def remove_sources(
    session: WriteSession, workspace_id: UUID, base_id: UUID, source_ids: Collection[UUID]
) -> None:
    """Take from the set. Sources that it does not hold change nothing; if none was held, the index stays as it is."""
    await lock_knowledge_bases(session, workspace_id, [base_id])
    removed = await session.scalars(
        delete(KnowledgeBaseSource)
        .where(
            KnowledgeBaseSource.workspace_id == workspace_id,
            KnowledgeBaseSource.knowledge_base_id == base_id,
            KnowledgeBaseSource.source_id == any_(literal(list(source_ids), ARRAY(Uuid()))),
        )
        .returning(KnowledgeBaseSource.source_id)
    )
    if removed.all():
        await mark_stale(session, workspace_id, [base_id])


async def hold_sources(session: WriteSession, workspace_id: UUID, source_ids: Collection[UUID]) -> None:
    """Let no version of these sources become searchable until the transaction ends, and wait for one that is about to.

    Whoever makes a version searchable looks which knowledge bases hold its source. Were one being added meanwhile,
    neither would see the other, and an index would stay at the older version. Locked before any knowledge base, always.
    """
    await session.execute(
        select(Source.id)
        .where(Source.workspace_id == workspace_id, Source.id == any_(literal(list(source_ids), ARRAY(Uuid()))))
        .order_by(Source.id)
        .with_for_update(read=True)
    )


async def _insert_sources(
    session: WriteSession, workspace_id: UUID, base_id: UUID, source_ids: Collection[UUID]
) -> bool:
    """Whether any of them was new."""
    if not source_ids:
        return False
    rows = func.unnest(literal(list(source_ids), ARRAY(Uuid()))).column_valued("source_id")
    added = await session.scalars(
        insert(KnowledgeBaseSource)
        .from_select(
            ["workspace_id", "knowledge_base_id", "source_id"],
            select(literal(workspace_id), literal(base_id), rows),
        )
        .on_conflict_do_nothing()
        .returning(KnowledgeBaseSource.source_id)
    )
    return bool(added.all())


async def list_held_sources(
    session: ReadSession, subject: Subject, base_id: UUID, *, after: UUID | None, first: int
) -> list[SourceDetails]:
    """At most `first` sources behind `after` that the knowledge base should hold, those that the caller may see."""
    held = select(KnowledgeBaseSource.source_id).where(
        KnowledgeBaseSource.workspace_id == subject.workspace_id, KnowledgeBaseSource.knowledge_base_id == base_id
    )
    return await list_sources(session, subject, among=held, after=after, first=first)


async def lock_knowledge_bases(session: WriteSession, workspace_id: UUID, base_ids: Collection[UUID]) -> None:
    """Hold them, in the order of their ids, until the transaction ends: sets and index states change one at a time."""
    await session.execute(
        select(KnowledgeBase.id)
        .where(
            KnowledgeBase.workspace_id == workspace_id,
            KnowledgeBase.id == any_(literal(list(base_ids), ARRAY(Uuid()))),
        )
        .order_by(KnowledgeBase.id)
        .with_for_update(key_share=True)
    )


async def mark_stale_by_source(session: WriteSession, workspace_id: UUID, source_id: UUID) -> None:
    """A member has a newer indexed version: the indexes of all knowledge bases that should hold it are stale (R17)."""
    holding = select(KnowledgeBaseSource.knowledge_base_id).where(
        KnowledgeBaseSource.workspace_id == workspace_id, KnowledgeBaseSource.source_id == source_id
    )
    bases = (await session.scalars(holding)).all()
    await lock_knowledge_bases(session, workspace_id, bases)
    await mark_stale(session, workspace_id, bases)


async def mark_stale(session: WriteSession, workspace_id: UUID, base_ids: Collection[UUID]) -> None:
    """What their current indexes hold is no longer what they should hold. With auto_refresh that is a job at once.

    An index that is READY turns stale. One that is being built looks again before it is finished. One that FAILED stays
    so until it is repaired, which looks again as well; with auto_refresh that is a job at once, since what changed may
    be what was wrong. The knowledge bases are locked by the caller.
    """
    idle = await session.execute(
        select(KnowledgeBase, SearchIndex)
        .join(
            SearchIndex,
            and_(
                SearchIndex.workspace_id == KnowledgeBase.workspace_id, SearchIndex.id == KnowledgeBase.current_index_id
            ),
        )
        .where(
            KnowledgeBase.workspace_id == workspace_id,
            KnowledgeBase.id.in_(base_ids),
            SearchIndex.state.in_([State.READY, State.FAILED]),
            SearchIndex.work.is_(None),
        )
        .execution_options(populate_existing=True)
    )
    for base, index in idle:
        successor = await open_index(session, workspace_id, base.id)
        if successor is not None:
            # What is being built will hold what should be held; what is stale would be refused anyway.
            base.current_index_id = successor.id
            retire(index)
        elif index.state == State.READY:
            index.state = State.STALE
            if base.auto_refresh:
                enqueue(index, Work.REFRESH)
        elif base.auto_refresh:
            enqueue(index, Work.REPAIR)
    await session.flush()
    await announce_work(session)


async def open_index(session: WriteSession, workspace_id: UUID, base_id: UUID) -> SearchIndex | None:
    """The index of the knowledge base that has work to do; there is at most one."""
    return await session.scalar(
        select(SearchIndex)
        .where(
            SearchIndex.workspace_id == workspace_id,
            SearchIndex.knowledge_base_id == base_id,
            SearchIndex.work.is_not(None),
        )
        .execution_options(populate_existing=True)
    )


def retire(index: SearchIndex) -> None:
    """No knowledge base points to the index any more. Its rows are dropped when no retrieval can be reading them."""
    index.state = State.RETIRED
    index.work = None
    index.attempt = 0
    index.run_after = func.now() + RETIREMENT
    index.lease_until = None
    index.leased_by = None


def enqueue(index: SearchIndex, work: Work) -> None:
    """Make the index a job, to be claimed at once. What an earlier job left in it is forgotten."""
    index.work = work
    index.attempt = 0
    index.run_after = func.now()
    index.lease_until = None
    index.leased_by = None
    index.done = 0
    index.total = 0
