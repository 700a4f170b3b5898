"""What can be told of an index beside its state: how much it holds, and what it could not read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, func, select

from app.access.subject import Subject
from app.database import ReadSession, WriteSession
from app.library.sources import SourceDetails, visible_sources
from app.models import IndexFailure, IndexMember, KnowledgeBase, SearchIndex


@dataclass(frozen=True, slots=True)
class IndexState:
    """One generation of a knowledge base's index, as one statement saw it (app/knowledge_bases/lifecycle.py)."""

    id: UUID
    knowledge_base_id: UUID
    state: str
    generation: int
    work: str | None
    done: int
    total: int
    built_at: datetime | None


def index_state(row: Mapping[Any, Any]) -> IndexState | None:
    """The index of a row that has its columns, its id as `index_id`; None where that is NULL."""
    if row["index_id"] is None:
        return None
    return IndexState(
        id=row["index_id"],
        knowledge_base_id=row["knowledge_base_id"],
        state=row["state"],
        generation=row["generation"],
        work=row["work"],
        done=row["done"],
        total=row["total"],
        built_at=row["built_at"],
    )


async def load_index(session: ReadSession, workspace_id: UUID, index_id: UUID) -> IndexState | None:
    """The index of that id, current or not; None where there is none."""
    return await _load(session, SearchIndex.workspace_id == workspace_id, SearchIndex.id == index_id)


async def current_index(session: ReadSession | WriteSession, workspace_id: UUID, base_id: UUID) -> IndexState | None:
    """The index that the knowledge base is searched through; None where it was never built."""
    pointer = select(KnowledgeBase.current_index_id).where(
        KnowledgeBase.workspace_id == workspace_id, KnowledgeBase.id == base_id
    )
    return await _load(session, SearchIndex.workspace_id == workspace_id, SearchIndex.id == pointer.scalar_subquery())


async def watched_index(session: ReadSession, workspace_id: UUID, base_id: UUID) -> IndexState | None:
    """The index that is being worked on, be it current or the successor of one that is; else the current one.

    None where the knowledge base was never built.
    """
    open_index = _load(
        session,
        SearchIndex.workspace_id == workspace_id,
        SearchIndex.knowledge_base_id == base_id,
        SearchIndex.work.is_not(None),
    )
    return await open_index or await current_index(session, workspace_id, base_id)


async def _load(session: ReadSession | WriteSession, *condition: ColumnElement[bool]) -> IndexState | None:
    index = SearchIndex
    rows = await session.execute(
        select(
            index.id.label("index_id"),
            index.knowledge_base_id,
            index.state,
            index.generation,
            index.work,
            index.done,
            index.total,
            index.built_at,
        ).where(*condition)
    )
    row = rows.mappings().one_or_none()
    return None if row is None else index_state(row)


@dataclass(frozen=True, slots=True)
class IndexSize:
    """How many members an index has, and how many passages they have together."""

    members: int
    passages: int


@dataclass(frozen=True, slots=True)
class Failure:
    """A source that the index should hold and could not read, and why."""

    source: SourceDetails
    reason: str


async def index_size(session: ReadSession, workspace_id: UUID, index_id: UUID) -> IndexSize:
    row = (
        await session.execute(
            select(func.count(), func.coalesce(func.sum(IndexMember.passage_count), 0)).where(
                IndexMember.workspace_id == workspace_id, IndexMember.index_id == index_id
            )
        )
    ).one()
    return IndexSize(members=row[0], passages=row[1])


async def index_failures(
    session: ReadSession, subject: Subject, index_id: UUID, *, after: UUID | None, first: int
) -> Sequence[Failure]:
    """At most `first` failures behind the source `after`, by source id: those whose source the caller may see (R4)."""
    statement = (
        select(IndexFailure.source_id, IndexFailure.reason)
        .where(IndexFailure.workspace_id == subject.workspace_id, IndexFailure.index_id == index_id)
        .order_by(IndexFailure.source_id)
    )
    if after is not None:
        statement = statement.where(IndexFailure.source_id > after)
    reasons = dict((await session.execute(statement)).all())
    seen = await visible_sources(session, subject, reasons.keys())
    return [Failure(seen[source_id], reason) for source_id, reason in reasons.items() if source_id in seen][:first]


async def failure_reason(session: ReadSession, workspace_id: UUID, index_id: UUID) -> str | None:
    """Why an index failed where no member is to blame; None otherwise."""
    return await session.scalar(
        select(SearchIndex.failure_reason).where(SearchIndex.workspace_id == workspace_id, SearchIndex.id == index_id)
    )
