"""Sources: what is known of each, who may see it, and what a change of one writes."""

from collections.abc import Collection
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Select,
    Uuid,
    and_,
    any_,
    bindparam,
    cast,
    func,
    literal,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import TSQUERY, insert

from app.access.admission import SUBJECTS, WORKSPACE_ID, OpenRead, asked_open_read, holds_open_read, readable, visible
from app.access.subject import Subject
from app.database import Database, HotStatement, ReadSession, WriteSession, announce_work
from app.inputs import clean_text, trimmed_text
from app.models import Source, SourceGrant, SourceVersion, VersionAccess, new_id
from app.query import parse
from app.words import title_key, title_vector

MAX_TITLE = 500
MAX_DESCRIPTION = 5_000


class SourceDetails(NamedTuple):
    """What a caller who may see a source's details sees.

    `owned`: the caller, or one of its groups, is the owner. `readable`: it may read the content too (R2, R3).
    """

    id: UUID
    title: str
    description: str | None
    private: bool
    owner: str
    lifecycle: str
    availability: str
    owned: bool
    readable: bool


def check_title(title: str) -> str:
    """The title as it is stored: trimmed, 1 to 500 characters (R16). Raises InvalidInput."""
    return trimmed_text("title", title, longest=MAX_TITLE)


def check_description(description: str | None) -> str | None:
    """The description as it is stored: trimmed, at most 5,000 characters, None if empty. Raises InvalidInput."""
    if description is None:
        return None
    return trimmed_text("description", description, shortest=0, longest=MAX_DESCRIPTION) or None


def _visible_sources(*conditions: ColumnElement[bool], open_read: OpenRead | None = None) -> Select[*tuple[Any, ...]]:
    """The sources of the workspace whose details the caller may see now (R4). A DELETING one is seen by nobody.

    `open_read` as for admission; None: the statement asks.
    """
    private, id_ = Source.private.expression, Source.id.expression
    open_read = asked_open_read() if open_read is None else open_read
    return (
        select(
            Source.id,
            Source.title,
            Source.description,
            Source.private,
            Source.owner,
            Source.lifecycle,
            Source.availability,
            (Source.owner == any_(SUBJECTS)).label("owned"),
            func.coalesce(readable(private, id_, open_read), False).label("readable"),
        )
        .where(
            Source.workspace_id == WORKSPACE_ID,
            Source.lifecycle == "ACTIVE",
            visible(private, id_, open_read),
            *conditions,
        )
        .order_by(Source.id)
    )


async def _load(
    session: ReadSession | WriteSession, subject: Subject, statement: Select[*tuple[Any, ...]]
) -> list[SourceDetails]:
    rows = await session.execute(statement, {"workspace_id": subject.workspace_id, "subjects": subject.names})
    return [SourceDetails(**row._mapping) for row in rows]


async def visible_sources(
    session: ReadSession | WriteSession, subject: Subject, ids: Collection[UUID]
) -> dict[UUID, SourceDetails]:
    """Those of `ids` that exist and whose details the caller may see; the others are missing, for whatever reason."""
    found = await _load(session, subject, _visible_sources(Source.id == any_(literal(list(ids), ARRAY(Uuid())))))
    return {source.id: source for source in found}


_IDS = bindparam("ids", type_=ARRAY(Uuid()))
_BY_ID = HotStatement(_visible_sources(Source.id == any_(_IDS)), keep_plan=True)


async def sources_by_id(database: Database, subject: Subject, ids: Collection[UUID]) -> dict[UUID, SourceDetails]:
    """`visible_sources` in a statement of its own, the short way."""
    rows = await database.fetch(_BY_ID, workspace_id=subject.workspace_id, subjects=subject.names, ids=list(ids))
    return {row["id"]: SourceDetails(*row) for row in rows}


async def list_sources(
    session: ReadSession,
    subject: Subject,
    *,
    query: str | None = None,
    among: Select[UUID] | None = None,
    after: UUID | None,
    first: int,
) -> list[SourceDetails]:
    """At most `first` visible sources behind `after`, in the order they were added; only those `among` these ids.

    With a `query`: those whose title and description hold all its words, or whose title it is (R9, R10). A query with
    nothing searchable finds an equal title only.
    """
    conditions = [] if after is None else [Source.id > after]
    if among is not None:
        conditions.append(Source.id.in_(among))
    if query is not None:
        conditions.append(_named(query))
    caller = {"workspace_id": subject.workspace_id, "subjects": subject.names}
    open_read = bool(await session.scalar(select(holds_open_read()), caller))
    return await _load(session, subject, _visible_sources(*conditions, open_read=open_read).limit(first))


def _named(query: str) -> ColumnElement[bool]:
    parsed = parse(clean_text("query", query))
    same_title = Source.title_key == parsed.title_key
    if not parsed.terms:
        return same_title
    return or_(same_title, Source.title_tsv.bool_op("@@")(cast(parsed.all_words, TSQUERY)))


async def add_source(
    session: WriteSession,
    workspace_id: UUID,
    *,
    title: str,
    description: str | None,
    private: bool,
    owner: str,
    external_id: str | None = None,
) -> UUID:
    """A new source without a version, and its owner's standing right to read it. Texts as the checks return them."""
    source_id = new_id()
    session.add(
        Source(
            workspace_id=workspace_id,
            id=source_id,
            private=private,
            owner=owner,
            external_id=external_id,
            **named_columns(title, description),
        )
    )
    await session.flush()
    session.add(SourceGrant(workspace_id=workspace_id, subject=owner, source_id=source_id, owner=True))
    await session.flush()
    return source_id


def named_columns(title: str, description: str | None) -> dict[str, Any]:
    """The columns that hold a source's title and description, and make it found by them."""
    return {
        "title": title,
        "description": description,
        "title_key": title_key(title),
        "title_tsv": title_vector(title, description),
    }


async def change_source(
    session: WriteSession, workspace_id: UUID, source_id: UUID, *, title: str, description: str | None, private: bool
) -> None:
    """Write the whole of what a person may change. It counts in the next retrieval; no index is touched (R15)."""
    await _change(session, workspace_id, source_id, private=private, **named_columns(title, description))


async def set_availability(session: WriteSession, workspace_id: UUID, source_id: UUID, availability: str) -> None:
    await _change(session, workspace_id, source_id, availability=availability)


async def mark_deleting(session: WriteSession, workspace_id: UUID, source_id: UUID) -> None:
    """Hide the source at once (R19). From now it is a job to purge what is left of it."""
    await _change(session, workspace_id, source_id, lifecycle="DELETING", external_id=None)
    await announce_work(session)


async def _change(session: WriteSession, workspace_id: UUID, source_id: UUID, **values: Any) -> None:
    await session.execute(
        update(Source).where(Source.workspace_id == workspace_id, Source.id == source_id).values(**values)
    )
    await keep_access_in_step(session, workspace_id, source_id)


async def keep_access_in_step(session: WriteSession, workspace_id: UUID, source_id: UUID) -> None:
    """Write what admission asks of each version of the source. Whatever changes one of these facts calls this."""
    facts = (
        select(
            SourceVersion.workspace_id,
            SourceVersion.id,
            Source.id,
            Source.private,
            Source.lifecycle == "ACTIVE",
            Source.availability == "AVAILABLE",
            SourceVersion.kept,
        )
        .join(Source, and_(Source.workspace_id == SourceVersion.workspace_id, Source.id == SourceVersion.source_id))
        .where(SourceVersion.workspace_id == workspace_id, SourceVersion.source_id == source_id)
    )
    columns = ["workspace_id", "version_id", "source_id", "private", "active", "available", "kept"]
    rows = insert(VersionAccess).from_select(columns, facts)
    await session.execute(
        rows.on_conflict_do_update(
            index_elements=["workspace_id", "version_id"], set_={name: rows.excluded[name] for name in columns[3:]}
        )
    )


async def lock_source(session: WriteSession, workspace_id: UUID, source_id: UUID) -> Source | None:
    """The source, locked until the transaction ends, so that its versions change one at a time. None if it is gone."""
    return await session.scalar(
        select(Source)
        .where(Source.workspace_id == workspace_id, Source.id == source_id)
        .with_for_update(key_share=True)
        .execution_options(populate_existing=True)
    )


async def source_exists(session: WriteSession, workspace_id: UUID, source_id: UUID) -> bool:
    """For operators: whether the source exists and is not being deleted, whoever may see it."""
    source = await session.get(Source, (workspace_id, source_id))
    return source is not None and source.lifecycle == "ACTIVE"
