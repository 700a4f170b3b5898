"""Who decides, at the last moment, whether a hit may be served (SPEC R12)."""

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from app.access.subject import Subject


class Authorizer(Protocol):
    """The read check. It allows, it denies, or it says that it cannot decide; it never guesses."""

    async def check(self, subject: Subject, source_ids: Sequence[UUID]) -> list[bool]:
        """Whether `subject` may read each source now: one answer for each id, in order, in one batch.

        An id that does not exist is False. Raises AuthorizationUnavailable when it cannot decide for every id
        (down, past its deadline, a nonsense answer), AuthorizerMisconfigured when an operator must act.
        """
        ...
