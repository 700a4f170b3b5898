"""Where a search runs: on a read replica, if one can say what the primary would say now; else on the primary.

Whom it may show what is not left to a replica. The search compares the caller's rights and the index, as the primary
named them, with what it sees (`ScopeChanged`), and the read check (R12) is asked afterwards, of the primary.
"""

from collections.abc import Awaitable, Callable, Sequence

from sqlalchemy import ARRAY, Uuid, any_, bindparam, select

from app.access.admission import WORKSPACE_ID, admitted, asked_open_read
from app.access.subject import Subject
from app.database import Database, HotStatement
from app.models import Passage
from app.replicas import Replicas
from app.retrieval.repository import Hit, ScopeChanged

Search = Callable[[Database], Awaitable[list[Hit]]]


def _admitted_passages() -> HotStatement:
    admission = admitted(Passage.source_id, asked_open_read())
    return HotStatement(
        select(Passage.id)
        .select_from(admission.joined(Passage.__table__, Passage.version_id))
        .where(
            Passage.workspace_id == WORKSPACE_ID,
            Passage.id == any_(bindparam("ids", type_=ARRAY(Uuid()))),
            admission.predicate,
        )
    )


class Routing:
    """Runs searches. The primary's errors are raised, a replica's never."""

    _ADMITTED = _admitted_passages()

    def __init__(self, primary: Database, replicas: Replicas) -> None:
        self._primary = primary
        self._replicas = replicas

    async def run(self, search: Search, subject: Subject, written: int | None) -> list[Hit]:
        """`written`: the primary's position when it named the scope, None to search there. Raises ScopeChanged."""
        if written is not None:

            async def on_replica(replica: Database) -> list[Hit] | None:
                try:
                    return await search(replica)
                except ScopeChanged:  # for the primary to say
                    return None

            found = await self._replicas.search(written, on_replica)
            if found is not None and await self._may_be_served(subject, found):
                return found
        return await search(self._primary)

    async def _may_be_served(self, subject: Subject, hits: Sequence[Hit]) -> bool:
        """Whether the primary admits them all (R7), where a replica may be behind it. The read check knows less: not
        whether a file was discarded, and if a service decides, no grants.
        """
        if not self._replicas.may_lag or not hits:
            return True
        rows = await self._primary.fetch(
            self._ADMITTED,
            workspace_id=subject.workspace_id,
            subjects=subject.names,
            ids=[hit.passage_id for hit in hits],
            source_ids=None,
            denied=[],
        )
        return len(rows) == len(hits)
