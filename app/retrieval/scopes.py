"""What a search is told before it runs: whether the caller reads in general, and which index is the base's own.

Both are remembered, because both seldom change, and the search itself says whether they still hold, in the state of the
data that it searched. So nothing is ever served by what is remembered: it saves a round trip, or costs one.
"""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from app.access.subject import Subject
from app.database import Database, HotStatement
from app.knowledge_bases.facts import IndexState, index_state
from app.replicas import written
from app.retrieval.statements import scopes

REMEMBERED = 10_000

_SCOPES = HotStatement(scopes(), keep_plan=True)
_SCOPES_AND_POSITION = HotStatement(scopes().add_columns(written().label("written")), keep_plan=True)


@dataclass(frozen=True, slots=True)
class Scopes:
    """What one statement says of a caller and the knowledge bases it named. A base without an index maps to None.

    `written`: how far the database was written, if that was asked (app/replicas.py).
    """

    open_read: bool
    indexes: dict[UUID, IndexState | None]
    written: int | None


@dataclass(frozen=True, slots=True)
class Scope:
    """Where one caller's question is searched. `index` None: the workspace's own, whose id is the workspace's."""

    open_read: bool
    index: IndexState | None


async def load_scopes(
    database: Database, subject: Subject, knowledge_base_ids: Iterable[UUID], *, position: bool = False
) -> Scopes:
    """One statement for all of them. A knowledge base that the workspace does not have is missing from `indexes`."""
    rows = await database.fetch(
        _SCOPES_AND_POSITION if position else _SCOPES,
        workspace_id=subject.workspace_id,
        subjects=subject.names,
        knowledge_base_ids=list(knowledge_base_ids),
    )
    found = {row["knowledge_base_id"]: index_state(row) for row in rows if row["knowledge_base_id"] is not None}
    return Scopes(open_read=rows[0]["open_read"], indexes=found, written=rows[0]["written"] if position else None)


class RememberedScopes:
    """The scopes that searches ran in, by caller and knowledge base (None: the workspace). The newest are kept."""

    def __init__(self) -> None:
        self._scopes: OrderedDict[tuple[Subject, UUID | None], Scope] = OrderedDict()

    def find(self, subject: Subject, base_id: UUID | None) -> Scope | None:
        key = subject, base_id
        scope = self._scopes.get(key)
        if scope is not None:
            self._scopes.move_to_end(key)
        return scope

    def keep(self, subject: Subject, base_id: UUID | None, scope: Scope) -> None:
        self._scopes[subject, base_id] = scope
        self._scopes.move_to_end((subject, base_id))
        if len(self._scopes) > REMEMBERED:
            self._scopes.popitem(last=False)

    def forget(self, subject: Subject, base_id: UUID | None) -> None:
        self._scopes.pop((subject, base_id), None)
