"""One operation's retrievals, from checked requests to hits that may be served."""

from collections.abc import Awaitable, Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from uuid import UUID

from app.access.subject import Subject
from app.database import Database
from app.errors import AppError, AuthorizationUnavailable, IndexNotReady, NotFound
from app.knowledge_bases.facts import IndexState
from app.knowledge_bases.lifecycle import State, remedy, shown_state
from app.query import Query, parse
from app.replicas import Replicas
from app.retrieval.any_word import POOL
from app.retrieval.repository import Hit, ScopeChanged, search_index
from app.retrieval.request import MAX_LIMIT, MatchMode, RetrieveRequest
from app.retrieval.routing import Routing
from app.retrieval.scopes import RememberedScopes, Scope, Scopes, load_scopes
from app.retrieval.sizes import IndexSizes

# Whether each source may be served now, in order (SPEC R12): an authorizer's check, or what remembers its answers.
ReadCheck = Callable[[Sequence[UUID]], Awaitable[Sequence[bool]]]

# The places of hits that the authorizer refused are filled in further rounds, each one more search and one more batch.
# A round looks at this many new candidates for each free place, and for at least REFILL_PLACES of them, which is one
# call of a service that takes 50 at a time: so a limit is filled even where nine in ten are refused. What the last
# round leaves free stays free (docs/access.md).
REFILL_FACTORS = (2, 4, 8)
REFILL_PLACES = 25
# How often a search is run whose caller's rights or index changed under it. They change seldom, and not again at once.
SEARCH_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Answer:
    """Hits in their order, the query that found them, and the index that was searched (None: the workspace's own)."""

    hits: Sequence[Hit]
    query: Query
    index: IndexState | None


@dataclass
class _Pending:
    """A request on its way. `found` are the round's candidates, at most `wanted`; `hits` those that a check allowed,
    at most `limit`; `refused` the sources that it did not, in this round and before.
    """

    request: RetrieveRequest
    query: Query
    limit: int
    wanted: int
    shortlists: bool = False
    scope: Scope | None = None
    written: int | None = None
    found: Sequence[Hit] = ()
    hits: Sequence[Hit] = ()
    refused: frozenset[UUID] = frozenset()
    settled: bool = False
    failure: AppError | None = None

    @property
    def outcome(self) -> Answer | AppError:
        return self.failure or Answer(self.hits, self.query, None if self.scope is None else self.scope.index)

    def widen(self, factor: int) -> None:
        """Want what was allowed so far, which is found again, and `factor` new candidates for each free place."""
        free = self.limit - len(self.hits)
        self.wanted = len(self.hits) + factor * max(free, REFILL_PLACES)

    def serve(self, refused: AbstractSet[UUID]) -> None:
        """Keep what is not refused, of the source list (R12). Settled when that fills the limit, or there is no more.

        Not while ranks of the third step count a source that was refused (R28): then it is searched again without. A
        shortlist is ranked anew anyway.
        """
        here = refused and refused & {hit.source_id for hit in self.found}
        self.refused |= here
        listed = self.request.source_ids
        allowed = self.found
        if here or listed is not None:
            allowed = [h for h in allowed if h.source_id not in here and (listed is None or h.source_id in listed)]
        self.hits = allowed[: self.limit]
        full = len(self.hits) == self.limit or len(self.found) < self.wanted
        counted = bool(here) and not self.shortlists and any(hit.by_any_word for hit in self.hits)
        self.settled = full and not counted

    def shortlist(self) -> frozenset[UUID] | None:
        """The sources that the last search is of; None where there is no third step to rank."""
        if not any(hit.by_any_word for hit in self.found):
            return None
        allowed = frozenset(hit.source_id for hit in self.found) - self.refused
        return allowed if self.request.source_ids is None else allowed & self.request.source_ids

    def undecided(self, error: AppError) -> None:
        """No hit is served. A request that found nothing has nothing to decide (R12)."""
        if self.found:
            self.fail(error)
        self.settled = True

    def fail(self, error: AppError) -> None:
        self.found = self.hits = ()
        self.settled = True
        self.failure = error


class Retrieval:
    """Answers questions. It lives as long as the process, and remembers where they were searched."""

    def __init__(self, database: Database, replicas: Replicas, *, narrowed: bool) -> None:
        """`narrowed`: whoever makes the read checks may refuse what the database admits."""
        self.narrowed = narrowed
        self._database = database
        self._replicas = replicas
        self._routing = Routing(database, replicas)
        self._remembered = RememberedScopes()
        self._sizes = IndexSizes()

    async def answers(
        self, subject: Subject, requests: Sequence[RetrieveRequest], read_check: ReadCheck
    ) -> list[Answer | AppError]:
        """One answer or error for each request, in order: a refused knowledge base fails its own request alone, an
        authorizer that cannot decide those that have hits. The database's errors are raised: they concern all.
        """
        pending = [self._pending(request) for request in requests]
        if not self._replicas.usable:  # else the primary is asked, each time, what a replica must hold
            for p in pending:
                p.scope = self._remembered.find(subject, p.request.knowledge_base_id)
        await self._load_scopes(subject, [p for p in pending if p.scope is None])
        await self._find_and_check(subject, pending, read_check)
        return [p.outcome for p in pending]

    def _pending(self, request: RetrieveRequest) -> _Pending:
        query = parse(request.query)
        if self.narrowed and request.match is MatchMode.ANY_WORD:
            return _Pending(request, query, limit=MAX_LIMIT, wanted=POOL, shortlists=True)
        return _Pending(request, query, limit=request.limit, wanted=request.limit)

    async def _load_scopes(self, subject: Subject, pending: Sequence[_Pending]) -> None:
        """Where each is to be searched, or why it cannot be (R5, R6): one statement for all of them."""
        if not pending:
            return
        bases = {p.request.knowledge_base_id for p in pending if p.request.knowledge_base_id is not None}
        scopes = await load_scopes(self._database, subject, bases, position=self._replicas.usable)
        for p in pending:
            p.written = scopes.written
            try:
                p.scope = _scope(scopes, p.request.knowledge_base_id)
            except AppError as error:
                p.fail(error)
            else:
                self._remembered.keep(subject, p.request.knowledge_base_id, p.scope)

    async def _find_and_check(self, subject: Subject, pending: Sequence[_Pending], read_check: ReadCheck) -> None:
        """Search, then ask for all hits of all requests at once; where a refusal freed places, search again."""
        for factor in (None, *REFILL_FACTORS):
            unsettled = [p for p in pending if not p.settled]
            if not unsettled:
                break
            for p in unsettled:
                if factor is not None:
                    p.widen(factor)
                await self._search(subject, p)
            await _check(unsettled, read_check)
        for p in pending:
            if p.shortlists and p.failure is None:
                await self._rank_shortlist(subject, p)

    async def _rank_shortlist(self, subject: Subject, p: _Pending) -> None:
        """Search what was allowed alone: weights and ranks then count nothing that was refused (R14, R28).

        The shortlist does not depend on the limit, so that the first hits of a larger limit are those of a smaller.
        """
        shortlist = p.shortlist()
        p.limit = p.wanted = p.request.limit
        if shortlist is not None:
            p.request = replace(p.request, source_ids=shortlist)
            await self._search(subject, p)
            p.serve(p.refused)
        p.hits = p.hits[: p.limit]

    async def _search(self, subject: Subject, p: _Pending) -> None:
        """Search where it was searched last; if that is not so any more, where it is to be searched now."""
        base_id = p.request.knowledge_base_id
        for _ in range(SEARCH_ATTEMPTS):
            if p.scope is None:
                return  # refused
            try:
                p.found = await self._found(subject, p.scope, p)
                return
            except ScopeChanged as error:
                changed = error
                self._remembered.forget(subject, base_id)
                p.scope = None
                await self._load_scopes(subject, [p])
        p.fail(changed)

    async def _found(self, subject: Subject, scope: Scope, p: _Pending) -> list[Hit]:
        index_id = subject.workspace_id if scope.index is None else scope.index.id
        small = await self._sizes.small(self._database, subject.workspace_id, index_id, scope.open_read)

        def search(database: Database) -> Awaitable[list[Hit]]:
            return search_index(
                database,
                subject,
                scope,
                query=p.query,
                limit=p.wanted,
                source_ids=p.request.source_ids,
                denied=p.refused,
                match=p.request.match,
                sources=p.request.sources,
                small=small,
            )

        return await self._routing.run(search, subject, p.written)


def _scope(scopes: Scopes, base_id: UUID | None) -> Scope:
    """Raises NotFound and IndexNotReady."""
    if base_id is None:
        return Scope(scopes.open_read, None)
    if base_id not in scopes.indexes:
        raise NotFound("knowledge base")
    index = scopes.indexes[base_id]
    state = None if index is None else shown_state(index.state, index.work)
    if index is None or state != State.READY:
        raise IndexNotReady(state, remedy(state) or "")
    return Scope(scopes.open_read, index)


async def _check(unsettled: Sequence[_Pending], read_check: ReadCheck) -> None:
    """One batch for a round."""
    sources = list(dict.fromkeys(hit.source_id for p in unsettled for hit in p.found))
    try:
        answers = await read_check(sources) if sources else []
    except AuthorizationUnavailable as error:
        for p in unsettled:
            p.undecided(error)
        return
    refused = {source for source, may in zip(sources, answers, strict=True) if may is not True}
    for p in unsettled:
        p.serve(refused)
