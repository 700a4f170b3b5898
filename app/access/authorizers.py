"""Who decides, at the last moment, whether a hit may be served (SPEC R12)."""

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from sqlalchemy import ARRAY, Uuid, any_, bindparam, select

from app.access.admission import WORKSPACE_ID, asked_open_read, readable
from app.access.subject import Subject
from app.database import Database, HotStatement
from app.models import Source


class Authorizer(Protocol):
    """The read check. It allows, it denies, or it says that it cannot decide; it never guesses."""

    async def check(self, subject: Subject, source_ids: Sequence[UUID]) -> list[bool]:
        """Whether `subject` may read each source now: one answer for each id, in order, in one batch.

        An id that does not exist is False. Raises AuthorizationUnavailable when it cannot decide for every id
        (down, past its deadline, a nonsense answer), AuthorizerMisconfigured when an operator must act.
        """
        ...


def _readable_sources() -> HotStatement:
    ids = bindparam("ids", type_=ARRAY(Uuid()))
    return HotStatement(
        select(Source.id).where(
            Source.workspace_id == WORKSPACE_ID,
            Source.id == any_(ids),
            Source.lifecycle == "ACTIVE",
            Source.availability == "AVAILABLE",
            readable(Source.private.expression, Source.id.expression, asked_open_read()),
        ),
        keep_plan=True,
    )


class DatabaseAuthorizer:
    """The database's own answer: the same rule as admission, over the grants as they are now. One statement a batch."""

    _READABLE = _readable_sources()

    def __init__(self, database: Database) -> None:
        self._database = database

    async def check(self, subject: Subject, source_ids: Sequence[UUID]) -> list[bool]:
        """See Authorizer. The database's errors pass: if it is down, so is everything else."""
        if not source_ids:
            return []
        rows = await self._database.fetch(
            self._READABLE, workspace_id=subject.workspace_id, subjects=subject.names, ids=list(source_ids)
        )
        allowed = {row["id"] for row in rows}
        return [source_id in allowed for source_id in source_ids]
