"""One operation's retrievals, from checked requests to hits that may be served."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from app.access.subject import Subject
from app.database import Database
from app.errors import AppError, AuthorizationUnavailable, IndexNotReady, NotFound
from app.knowledge_bases.facts import IndexState
from app.knowledge_bases.lifecycle import State, remedy, shown_state
from app.query import Query, parse
from app.retrieval.repository import Hit, Scopes, load_scopes, search_index
from app.retrieval.request import RetrieveRequest

# Whether each source may be served now, in order (SPEC R12): a DataLoader's load_many, or an authorizer's check.
ReadCheck = Callable[[Sequence[UUID]], Awaitable[Sequence[bool]]]

# When the authorizer refused hits, their places are filled in further rounds, each one more search and one more batch.
# A round looks at this many new candidates for each free place: one refusal costs little, and half or a tenth of the
# candidates refused still fills the limit. When the last round leaves places free, the answer is shorter than its
# limit, never unchecked (docs/access.md).
REFILL_FACTORS = (2, 4, 8)


@dataclass(frozen=True, slots=True)
class Answer:
    """Hits in their order, the query that found them, and the index that was searched (None: the workspace's own)."""

    hits: Sequence[Hit]
    query: Query
    index: IndexState | None


@dataclass
class _Pending:
    request: RetrieveRequest
    query: Query
    index_id: UUID
    index: IndexState | None
    hits: list[Hit] = field(default_factory=list)
    settled: bool = False
    failure: AppError | None = None

    @property
    def outcome(self) -> Answer | AppError:
        return self.failure or Answer(self.hits, self.query, self.index)

    def candidates(self, factor: int) -> int:
        """How many hits to search for: those that were allowed stand among them again."""
        free = self.request.limit - len(self.hits)
        return len(self.hits) + free * factor

    def serve(self, found: Sequence[Hit], asked_for: int, denied: Collection[UUID]) -> None:
        """Keep what was allowed. Settled when that fills the limit, or nothing was refused, or no more was found."""
        allowed = [hit for hit in found if hit.source_id not in denied]
        self.settled = len(allowed) in (len(found), *range(self.request.limit, asked_for)) or len(found) < asked_for
        self.hits = allowed[: self.request.limit]


async def retrieve(
    database: Database, subject: Subject, requests: Sequence[RetrieveRequest], read_check: ReadCheck
) -> list[Answer | AppError]:
    """One answer or error for each request, in order. A refused knowledge base fails its own request alone.

    Raises what concerns all of them: AuthorizationUnavailable, and the database's errors.
    """
    bases = {request.knowledge_base_id for request in requests if request.knowledge_base_id is not None}
    scopes = await load_scopes(database, subject, bases)
    outcomes = [_scoped(subject, request, scopes) for request in requests]
    pending = [outcome for outcome in outcomes if isinstance(outcome, _Pending)]
    await _find_and_check(database, subject, scopes.open_read, pending, read_check)
    return [Answer(o.hits, o.query, o.index) if isinstance(o, _Pending) else o for o in outcomes]


def _scoped(subject: Subject, request: RetrieveRequest, scopes: Scopes) -> _Pending | AppError:
    """The index to search, or why there is none to search (R5, R6)."""
    query = parse(request.query)
    if request.knowledge_base_id is None:
        return _Pending(request, query, subject.workspace_id, None)
    if request.knowledge_base_id not in scopes.indexes:
        return NotFound("knowledge base")
    index = scopes.indexes[request.knowledge_base_id]
    state = None if index is None else shown_state(index.state, index.work)
    if index is None or state != State.READY:
        return IndexNotReady(state, remedy(state) or "")
    return _Pending(request, query, index.id, index)


async def _find_and_check(
    database: Database, subject: Subject, open_read: bool, pending: Sequence[_Pending], read_check: ReadCheck
) -> None:
    """Search, then ask for all hits of all requests at once; where a refusal freed places, search again."""
    denied: set[UUID] = set()
    for _ in range(1 + REFILL_ROUNDS):
        open_requests = [p for p in pending if not p.settled]
        if not open_requests:
            return
        for p in open_requests:
            p.hits = await _search(database, subject, open_read, p, denied)
        sources = list(dict.fromkeys(hit.source_id for p in open_requests for hit in p.hits))
        allowed = await read_check(sources) if sources else []
        denied.update(source for source, may in zip(sources, allowed, strict=True) if not may)
        for p in open_requests:
            full = len(p.hits) == p.request.limit
            served = [hit for hit in p.hits if hit.source_id not in denied]
            p.settled = len(served) == len(p.hits) or not full
            p.hits = served


async def _search(database: Database, subject: Subject, open_read: bool, p: _Pending, denied: set[UUID]) -> list[Hit]:
    return await search_index(
        database,
        subject,
        index_id=p.index_id,
        open_read=open_read,
        query=p.query,
        limit=p.request.limit,
        source_ids=p.request.source_ids,
        denied=denied,
    )
