"""What may be read: the one definition (SPEC R1-R3, R7). Nothing else in the project decides it.

Every statement that needs it joins `Admission.access` by the version (or asks `visible` of a source) and puts the
predicate into its WHERE, before any ranking and any limit.

The parameters, the same everywhere:
    workspace_id   uuid
    subjects       text[]   the caller and its groups
    source_ids     uuid[]   the source list, NULL if none was sent
    denied         uuid[]   sources that the authorizer has refused in this operation

Whether the caller holds workspace.read or library.read now is `open_read`. A search, and a list of sources, is written
for one answer to it, True or False, since PostgreSQL considers the ways to join grants only where a condition on them
stands by itself, not in an OR. For a caller who reads in general they are looked up for private sources alone, one by
one. For any other they are joined, and the statement starts from what is fewer, its matches or the grants. (Adding up
a caller's grants by source took 4 to 10 ms of every search where there were 10,000, and an owner of a large library
has more.) Statements that look up a few rows by key ask for `open_read` themselves.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlalchemy import (
    ARRAY,
    Boolean,
    ColumnElement,
    FromClause,
    ScalarSelect,
    Select,
    Text,
    Uuid,
    and_,
    any_,
    bindparam,
    exists,
    false,
    func,
    or_,
    select,
    true,
)
from sqlalchemy.orm import InstrumentedAttribute, aliased

from app.models import SourceGrant, VersionAccess, WorkspaceGrant

WORKSPACE_ID = bindparam("workspace_id", type_=Uuid())
SUBJECTS = bindparam("subjects", type_=ARRAY(Text()))
OPEN_READ = bindparam("open_read", type_=Boolean())
SOURCE_IDS = bindparam("source_ids", type_=ARRAY(Uuid()))
DENIED = bindparam("denied", type_=ARRAY(Uuid()))

# Known when the statement is written, or asked in it.
OpenRead: TypeAlias = bool | ColumnElement[bool]


def live(until: InstrumentedAttribute[Any]) -> ColumnElement[bool]:
    """Whether a grant counts now. NULL, no grant, is not true."""
    return until > func.now()


def holds_open_read() -> ColumnElement[bool]:
    """Whether the caller holds workspace.read or library.read now."""
    grants = WorkspaceGrant
    return exists().where(
        grants.workspace_id == WORKSPACE_ID,
        grants.subject == any_(SUBJECTS),
        or_(live(grants.workspace_read_until), live(grants.library_read_until)),
    )


def asked_open_read() -> ScalarSelect[bool]:
    """The same for a statement that looks up a few rows by key: asked once in it."""
    return select(holds_open_read()).scalar_subquery()


# What one grant row gives. source.read includes source.details; the owner has source.read always.
_READS = or_(SourceGrant.owner, live(SourceGrant.read_until))
_DETAILS = or_(_READS, live(SourceGrant.details_until))
_CONTENT = live(SourceGrant.content_until)


def _grants(of: Any, source_id: ColumnElement[Any]) -> Select[Any]:
    """`of` the caller's grants on the source, over all its subjects."""
    grants = SourceGrant
    return (
        select(of)
        .where(grants.workspace_id == WORKSPACE_ID, grants.subject == any_(SUBJECTS), grants.source_id == source_id)
        .correlate_except(grants)
    )


def readable(private: ColumnElement[bool], source_id: ColumnElement[Any], open_read: OpenRead) -> ColumnElement[bool]:
    """R2 and R3. NULL, which is not true, where there is no grant."""
    rights = _grants(
        or_(func.bool_or(_READS), and_(func.bool_or(_DETAILS), or_(~private, func.bool_or(_CONTENT)))), source_id
    ).scalar_subquery()
    if open_read is False:
        # whoever reads a source by grants sees its details by grants
        return and_(_sees_by_grants(source_id), or_(~private, rights))
    return or_(and_(~private, _condition(open_read)), rights)


def visible(private: ColumnElement[bool], source_id: ColumnElement[Any], open_read: OpenRead) -> ColumnElement[bool]:
    """Whether the caller may see the source's details (R4). NULL, which is not true, where there is no grant."""
    if open_read is False:
        return _sees_by_grants(source_id)
    details = _grants(func.bool_or(_DETAILS), source_id).scalar_subquery()
    return or_(and_(~private, _condition(open_read)), details)


def _sees_by_grants(source_id: ColumnElement[Any]) -> ColumnElement[bool]:
    """A condition that can be joined on."""
    return _grants(true(), source_id).where(_DETAILS).exists()


def _condition(open_read: OpenRead) -> ColumnElement[bool]:
    if isinstance(open_read, bool):
        return true() if open_read else false()
    return open_read


@dataclass(frozen=True)
class Admission:
    """What a search joins and asks: `joined(rows, version)` and then `predicate`."""

    access: type[VersionAccess]
    source_id: ColumnElement[Any]
    open_read: OpenRead

    def joined(self, rows: FromClause, version_id: InstrumentedAttribute[Any]) -> FromClause:
        a = self.access
        return rows.join(a, and_(a.workspace_id == WORKSPACE_ID, a.version_id == version_id))

    @property
    def gates(self) -> dict[str, ColumnElement[bool]]:
        """R7, each condition by its name: explanation tells them apart (R27)."""
        a = self.access
        return {
            "active": a.active.expression,
            "available": a.available.expression,
            "kept": a.kept.expression,
            "listed": or_(SOURCE_IDS.is_(None), self.source_id == any_(SOURCE_IDS)),
            "readable": readable(a.private.expression, self.source_id, self.open_read),
        }

    @property
    def predicate(self) -> ColumnElement[bool]:
        """R7: all of the gates, and not refused in this operation."""
        return and_(*self.gates.values(), ~(self.source_id == any_(DENIED)))


def admitted(source_id: InstrumentedAttribute[Any], open_read: OpenRead) -> Admission:
    """Admission to rows that have this source id: a fresh alias for one search step, or for a look-up by key."""
    return Admission(aliased(VersionAccess), source_id.expression, open_read)
