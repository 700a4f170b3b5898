"""What may be read: the one definition (SPEC R1-R3, R7). Nothing else in the project decides it.

Every statement that needs it joins `Admission.access` by the version (or asks `visible` of a source) and the caller's
live grants, and puts the predicate into its WHERE, before any ranking and any limit.

The parameters, the same everywhere:
    workspace_id   uuid
    subjects       text[]   the caller and its groups
    open_read      bool     whether the caller holds workspace.read or library.read now. It goes in as a value, not
                            as a sub-select: PostgreSQL folds it, and for a restricted caller it then starts from the
                            few grants and not from the many passages (measured: 2.5 ms against 99).
    source_ids     uuid[]   the source list, NULL if none was sent
    denied         uuid[]   sources that the authorizer has refused in this operation
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    BindParameter,
    Boolean,
    ColumnElement,
    FromClause,
    Subquery,
    Text,
    Uuid,
    and_,
    any_,
    bindparam,
    exists,
    func,
    or_,
    select,
)
from sqlalchemy.orm import InstrumentedAttribute, aliased

from app.models import SourceGrant, VersionAccess, WorkspaceGrant

WORKSPACE_ID = bindparam("workspace_id", type_=Uuid())
SUBJECTS = bindparam("subjects", type_=ARRAY(Text()))
OPEN_READ = bindparam("open_read", type_=Boolean())
SOURCE_IDS = bindparam("source_ids", type_=ARRAY(Uuid()))
DENIED = bindparam("denied", type_=ARRAY(Uuid()))


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


def source_grants(among: BindParameter[Any] | None = None) -> Subquery:
    """The caller's live rights by source, over all its subjects: may_read, may_see_details, may_see_content.

    source.read includes source.details; the owner has source.read always. `among` are the ids that a statement asks
    about: PostgreSQL does not find out by itself that it needs only their grants, and adds up all 10,000 of a caller.
    """
    grants = SourceGrant
    reads = or_(grants.owner, live(grants.read_until))
    return (
        select(
            grants.workspace_id,
            grants.source_id,
            func.bool_or(reads).label("may_read"),
            func.bool_or(or_(reads, live(grants.details_until))).label("may_see_details"),
            func.bool_or(live(grants.content_until)).label("may_see_content"),
        )
        .where(
            grants.workspace_id == WORKSPACE_ID,
            grants.subject == any_(SUBJECTS),
            *(() if among is None else (grants.source_id == any_(among),)),
        )
        .group_by(grants.workspace_id, grants.source_id)
        .subquery("granted")
    )


def readable(private: ColumnElement[bool], granted: Subquery, open_read: ColumnElement[bool]) -> ColumnElement[bool]:
    """R2 and R3. `granted` is outer-joined: without a row its columns are NULL, and NULL does not read."""
    g = granted.c
    return or_(
        and_(~private, or_(open_read, g.may_see_details)),
        and_(private, or_(g.may_read, and_(g.may_see_details, g.may_see_content))),
    )


def visible(private: ColumnElement[bool], granted: Subquery, open_read: ColumnElement[bool]) -> ColumnElement[bool]:
    """Whether the caller may see the source's details (R4)."""
    return or_(and_(~private, open_read), granted.c.may_see_details)


@dataclass(frozen=True)
class Admission:
    """What a search joins and asks: `joined(rows, version)` and then `predicate`."""

    access: type[VersionAccess]
    granted: Subquery
    open_read: ColumnElement[bool]

    def joined(
        self,
        rows: FromClause,
        version_id: InstrumentedAttribute[UUID],
        source_id: InstrumentedAttribute[UUID] | None = None,
    ) -> FromClause:
        """`source_id`: that of `rows`, where a search may start from a caller's grants and find its rows by them."""
        a = self.access
        return rows.join(a, and_(a.workspace_id == WORKSPACE_ID, a.version_id == version_id)).outerjoin(
            self.granted,
            and_(
                self.granted.c.workspace_id == WORKSPACE_ID,
                self.granted.c.source_id == (a.source_id if source_id is None else source_id),
            ),
        )

    @property
    def gates(self) -> dict[str, ColumnElement[bool]]:
        """R7, each condition by its name: explanation tells them apart (R27)."""
        a = self.access
        return {
            "active": a.active.expression,
            "available": a.available.expression,
            "kept": a.kept.expression,
            "listed": or_(SOURCE_IDS.is_(None), a.source_id == any_(SOURCE_IDS)),
            "readable": readable(a.private.expression, self.granted, self.open_read),
        }

    @property
    def predicate(self) -> ColumnElement[bool]:
        """R7: all of the gates, and not refused in this operation."""
        return and_(*self.gates.values(), ~(self.access.source_id == any_(DENIED)))


def admitted(open_read: ColumnElement[bool] = OPEN_READ) -> Admission:
    """A fresh set of aliases for one search step, or for a look-up by key, which can ask for `open_read` itself."""
    return Admission(aliased(VersionAccess), source_grants(), open_read)
