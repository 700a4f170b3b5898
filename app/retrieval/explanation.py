"""Why a source is, or is not, among the hits of a question (SPEC R27).

Nothing here decides anew. Whether the source is found is read off the retrieval's own answer; whether it is admitted
off admission's own conditions; whether and where it matches off the searches' own statements, asked for that source
alone, for the largest limit, and for many more places than that. So it cannot say otherwise than a retrieval.

Only hits that the caller may read are counted, those that the authorizer refuses left out: an explanation is the same
whatever else the workspace holds.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from app.access.subject import Subject
from app.database import Database, HotStatement
from app.errors import NotFound
from app.knowledge_bases.facts import IndexState
from app.query import Query, parse
from app.retrieval.explanation_statements import lacking_terms, source_facts
from app.retrieval.gate_sentences import (
    admission_gates,
    index_gate,
    limit_gate,
    match_gates,
    refused_by_authorizer,
)
from app.retrieval.gates import MAX_PLACE, Facts, Gate, Lacking, NearestPassage, Outcome, Standing, Step, in_order
from app.retrieval.repository import Hit, ScopeChanged, search_index
from app.retrieval.request import MAX_LIMIT, MatchMode, RetrieveRequest
from app.retrieval.scopes import Scope, Scopes, load_scopes
from app.retrieval.service import Answer, ReadCheck

# How often at most a term is held against a passage to say which are lacking: about a quarter of a second.
MAX_COMPARISONS = 500_000

_FACTS = HotStatement(source_facts())
_LACKING = HotStatement(lacking_terms())


@dataclass(frozen=True, slots=True)
class Explanation:
    """`found`: the source is among the hits of this request. `gates`: all of them, in order.

    `place` is that of its first hit, from 1, also where the limit ends before it; None where it does not match or
    stands behind MAX_PLACE. `smallest_limit` is the least limit, up to 50, that shows it; None where none would.
    """

    found: bool
    place: int | None
    step: Step | None
    smallest_limit: int | None
    summary: str
    gates: tuple[Gate, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asks what of which source. `retrieve` gives the answer of a request; `read_check` and `narrowed` are those
    of the retrieval.
    """

    database: Database
    subject: Subject
    request: RetrieveRequest
    source_id: UUID
    retrieve: Callable[[RetrieveRequest], Awaitable[Answer]]
    read_check: ReadCheck
    narrowed: bool


async def explain(asked: Asked) -> Explanation:
    """Raises NotFound for a knowledge base that is not there, and for a source whose details the caller may not see

    (R4); and what a retrieval raises when the authorizer cannot decide. An index that is not ready is an answer.
    """
    try:
        return await _explain(asked)
    except ScopeChanged:
        return await _explain(asked)


async def _explain(asked: Asked) -> Explanation:
    base_id = asked.request.knowledge_base_id
    scopes = await load_scopes(asked.database, asked.subject, [] if base_id is None else [base_id])
    if base_id is not None and base_id not in scopes.indexes:
        raise NotFound("knowledge base")
    index = None if base_id is None else scopes.indexes[base_id]
    facts = await _facts(asked, scopes, index)
    gates = [index_gate(base_id is not None, index)]
    if gates[-1].outcome is Outcome.PASSED:
        gates += admission_gates(base_id is not None, facts)
    if gates[-1].outcome is Outcome.PASSED and not await _allowed(asked, [asked.source_id]):
        gates[-1] = refused_by_authorizer()
    if gates[-1].outcome is Outcome.FAILED:
        return Explanation(False, None, None, None, f"Not found. {gates[-1].sentence}", in_order(gates))
    return await _explain_search(asked, Scope(scopes.open_read, index), facts, gates)


def _index_id(asked: Asked, index: IndexState | None) -> UUID | None:
    if asked.request.knowledge_base_id is None:
        return asked.subject.workspace_id
    return None if index is None else index.id


async def _facts(asked: Asked, scopes: Scopes, index: IndexState | None) -> Facts:
    source_ids = asked.request.source_ids
    rows = await asked.database.fetch(
        _FACTS,
        workspace_id=asked.subject.workspace_id,
        subjects=asked.subject.names,
        open_read=scopes.open_read,
        source_ids=None if source_ids is None else list(source_ids),
        source_id=asked.source_id,
        index_id=_index_id(asked, index),
        knowledge_base_id=asked.request.knowledge_base_id,
    )
    if not rows or not rows[0]["visible"]:
        raise NotFound("source")
    return Facts(**rows[0])


async def _allowed(asked: Asked, source_ids: Sequence[UUID]) -> set[UUID]:
    """Those that the authorizer lets the caller read."""
    answers = await asked.read_check(source_ids) if source_ids else []
    return {source_id for source_id, may in zip(source_ids, answers, strict=True) if may is True}


async def _explain_search(asked: Asked, scope: Scope, facts: Facts, gates: list[Gate]) -> Explanation:
    """The source is admitted: what is left is whether it matches, and whether there is a place for it."""
    request = asked.request
    query = parse(request.query)
    answer = await asked.retrieve(request)
    standing = _standing(asked.source_id, answer.hits)
    found = standing is not None
    if standing is None:
        standing = await _search_further(asked, scope, query)
    lacking = None
    if query.terms and (standing is None or standing.step is not Step.CONTENT):
        lacking = await _lacking(asked, _index_id(asked, scope.index), query, facts.passage_count or 0)
    any_word = request.match is MatchMode.ANY_WORD and len(query.terms) > 1
    matches = match_gates(query, facts, standing, lacking, any_word=any_word)
    gates += matches
    if standing is None:
        unmatched = " ".join(gate.sentence for gate in matches if gate.outcome is Outcome.FAILED)
        return Explanation(False, None, None, None, f"Not found. {unmatched}", in_order(gates))
    limit = limit_gate(standing, request.limit, found)
    return Explanation(
        found=found,
        place=standing.place,
        step=standing.step,
        smallest_limit=_smallest_limit(standing.place, request.limit, found),
        summary=_summary(standing, limit, found),
        gates=in_order([*gates, limit]),
    )


def _standing(source_id: UUID, hits: Sequence[Hit]) -> Standing | None:
    """Where the source's first hit stands among these."""
    for place, hit in enumerate(hits, 1):
        if hit.source_id == source_id:
            step = _step(hit)
            return Standing(step, place, sum(_step(before) is step for before in hits[:place]))
    return None


def _step(hit: Hit) -> Step:
    if hit.by_any_word:
        return Step.ANY_WORD
    return Step.TITLE if hit.by_title else Step.CONTENT


async def _search_further(asked: Asked, scope: Scope, query: Query) -> Standing | None:
    """The source is not among the hits: whether it matches at all, and where it would stand."""

    async def search(limit: int, source_ids: frozenset[UUID] | None) -> list[Hit]:
        return await search_index(
            asked.database,
            asked.subject,
            scope,
            query=query,
            limit=limit,
            source_ids=source_ids,
            match=asked.request.match,
        )

    alone = await search(1, frozenset([asked.source_id]))
    if not alone:
        return None
    most = await asked.retrieve(replace(asked.request, limit=MAX_LIMIT))
    standing = _standing(asked.source_id, most.hits)
    if standing is not None:
        return standing
    if asked.narrowed and _step(alone[0]) is Step.ANY_WORD:
        return Standing(Step.ANY_WORD, None, None)  # what is behind them was not ranked by what was allowed
    hits = await search(MAX_PLACE, asked.request.source_ids)
    place = next((place for place, hit in enumerate(hits) if hit.source_id == asked.source_id), None)
    if place is None:
        return Standing(_step(alone[0]), None, None)
    until = hits[: place + 1]
    allowed = await _allowed(asked, list(dict.fromkeys(hit.source_id for hit in until)))
    return _standing(asked.source_id, [hit for hit in until if hit.source_id in allowed])


def _smallest_limit(place: int | None, limit: int, found: bool) -> int | None:
    if place is None or place > MAX_LIMIT or (place <= limit and not found):
        return None
    return place


def _summary(standing: Standing, limit: Gate, found: bool) -> str:
    by, matches = _BY[standing.step]
    if found:
        return f"Found at place {standing.place}, by {by}."
    return f"Not found, though {matches}. {limit.sentence}"


_BY = {
    Step.CONTENT: ("its text", "its text matches"),
    Step.TITLE: ("its title and description", "its title and description match"),
    Step.ANY_WORD: ("some of the words", "some of the words match"),
}


async def _lacking(asked: Asked, index_id: UUID | None, query: Query, passage_count: int) -> Lacking:
    """Which words the source lacks; of a very long question about a very long text, which of the first words."""
    terms = query.terms[: max(MAX_COMPARISONS // max(passage_count, 1), 1)]
    rows = await asked.database.fetch(
        _LACKING,
        workspace_id=asked.subject.workspace_id,
        index_id=index_id,
        source_id=asked.source_id,
        terms=[term.tsquery for term in terms],
    )

    def typed(numbers: Sequence[int]) -> tuple[str, ...]:
        return tuple(terms[number - 1].typed for number in sorted(numbers))

    row = rows[0]
    nearest = None
    if row["best_ordinal"] is not None and len(row["best_lacks"]) < len(terms):
        nearest = NearestPassage(row["best_ordinal"], typed(row["best_lacks"]))
    return Lacking(
        title=typed(row["title_lacks"]),
        text=typed(row["text_lacks"]),
        nearest=nearest,
        asked=len(terms) if len(terms) < len(query.terms) else 0,
    )
