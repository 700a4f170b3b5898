"""Grants: what a caller holds, and giving and taking it away (SPEC R1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from uuid import UUID

from sqlalchemy import delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import InstrumentedAttribute

from app.access.admission import live
from app.access.subject import Subject, is_subject
from app.database import ReadSession, WriteSession
from app.errors import InvalidInput
from app.models import SourceGrant, WorkspaceGrant


class Action(StrEnum):
    """The first three are held on the workspace, the others on one source."""

    WORKSPACE_READ = "workspace.read"
    LIBRARY_READ = "library.read"
    LIBRARY_MANAGE = "library.manage"
    SOURCE_READ = "source.read"
    SOURCE_DETAILS = "source.details"
    SOURCE_CONTENT = "source.content"


_WORKSPACE_COLUMNS = {
    Action.WORKSPACE_READ: WorkspaceGrant.workspace_read_until,
    Action.LIBRARY_READ: WorkspaceGrant.library_read_until,
    Action.LIBRARY_MANAGE: WorkspaceGrant.library_manage_until,
}
_SOURCE_COLUMNS = {
    Action.SOURCE_READ: SourceGrant.read_until,
    Action.SOURCE_DETAILS: SourceGrant.details_until,
    Action.SOURCE_CONTENT: SourceGrant.content_until,
}
# The driver takes this for PostgreSQL's infinity, and gives it back without a time zone.
FOREVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Grant:
    """One action that a subject holds on a source. `expires_at` None: until it is revoked."""

    subject: str
    action: Action
    expires_at: datetime | None

    @property
    def key(self) -> str:
        """What tells it from the source's other grants; the list is in the order of it."""
        return f"{self.subject} {self.action}"


async def workspace_actions(session: ReadSession | WriteSession, subject: Subject) -> frozenset[Action]:
    """The actions on the workspace that the caller or one of its groups holds now."""
    columns = list(_WORKSPACE_COLUMNS.items())
    row = (
        await session.execute(
            select(*(func.bool_or(live(column)) for _, column in columns)).where(
                WorkspaceGrant.workspace_id == subject.workspace_id, WorkspaceGrant.subject.in_(subject.names)
            )
        )
    ).one()
    return frozenset(action for (action, _), held in zip(columns, row, strict=True) if held)


async def grant(
    session: WriteSession,
    workspace_id: UUID,
    subject: str,
    action: Action,
    source_id: UUID | None = None,
    expires_at: datetime | None = None,
) -> None:
    """Give `subject` the action until `expires_at`, or until it is revoked. An earlier grant of it is replaced.

    Raises InvalidInput when the subject is none, or the action does not belong where it is given. That the source
    exists, and that the caller may give this, the caller of this function has made sure.
    """
    column = _column(subject, action, source_id).key
    until = FOREVER if expires_at is None else expires_at
    if source_id is None:
        await session.execute(
            insert(WorkspaceGrant)
            .values({"workspace_id": workspace_id, "subject": subject, column: until})
            .on_conflict_do_update(index_elements=["workspace_id", "subject"], set_={column: until})
        )
    else:
        await session.execute(
            insert(SourceGrant)
            .values({"workspace_id": workspace_id, "subject": subject, "source_id": source_id, column: until})
            .on_conflict_do_update(index_elements=["workspace_id", "subject", "source_id"], set_={column: until})
        )


async def revoke(
    session: WriteSession, workspace_id: UUID, subject: str, action: Action, source_id: UUID | None = None
) -> None:
    """Take the action away. One that was never given is no error. What an owner has by owning cannot be revoked."""
    column = _column(subject, action, source_id).key
    if source_id is None:
        of_workspace = (WorkspaceGrant.workspace_id == workspace_id, WorkspaceGrant.subject == subject)
        await session.execute(update(WorkspaceGrant).where(*of_workspace).values({column: None}))
        return
    of_source = (
        SourceGrant.workspace_id == workspace_id,
        SourceGrant.subject == subject,
        SourceGrant.source_id == source_id,
    )
    await session.execute(update(SourceGrant).where(*of_source).values({column: None}))
    empty = [~SourceGrant.owner, *(until.is_(None) for until in _SOURCE_COLUMNS.values())]
    await session.execute(delete(SourceGrant).where(*of_source, *empty))


def _column(subject: str, action: Action, source_id: UUID | None) -> InstrumentedAttribute[datetime | None]:
    if not is_subject(subject):
        raise InvalidInput(
            "subject", "must be user:…, agent:… or group:…, with 1 to 200 printable characters and no white space."
        )
    columns = _WORKSPACE_COLUMNS if source_id is None else _SOURCE_COLUMNS
    if action not in columns:
        where = "on the workspace" if source_id is None else "on one source"
        raise InvalidInput("action", f"{action} is not an action {where}.")
    return columns[action]


async def grants_of_source(
    session: ReadSession, workspace_id: UUID, source_id: UUID, *, after: str, first: int
) -> Sequence[Grant]:
    """At most `first` live grants on a source, in the order of their `key`, behind `after` ("": from the start).

    Expired ones are not listed, nor what an owner has by owning.
    """
    by_subject = SourceGrant.subject.collate("C")  # by code points, as Python compares keys
    rows = await session.scalars(
        select(SourceGrant)
        .where(
            SourceGrant.workspace_id == workspace_id,
            SourceGrant.source_id == source_id,
            or_(*(live(column) for column in _SOURCE_COLUMNS.values())),
            by_subject >= after.partition(" ")[0],
        )
        .order_by(by_subject)
        .limit(first + 1)  # each row holds a grant, and at most the first row's grants are all before `after`
    )
    now = datetime.now(UTC)
    found = [
        Grant(row.subject, action, None if until == FOREVER else until)
        for row in rows
        for action, until in _held(row).items()
        if until > now
    ]
    return sorted((grant for grant in found if grant.key > after), key=lambda grant: grant.key)[:first]


def _held(row: SourceGrant) -> dict[Action, datetime]:
    untils = {action: getattr(row, column.key) for action, column in _SOURCE_COLUMNS.items()}
    return {action: until if until.tzinfo else FOREVER for action, until in untils.items() if until is not None}
