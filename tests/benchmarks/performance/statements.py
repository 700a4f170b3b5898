"""What the database takes: the statements of a retrieval, beside the bare search and the round trip they rest on."""

import statistics
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias
from uuid import UUID

from sqlalchemy import func, literal_column, select

from app.access.subject import Subject
from app.database import Database, HotStatement
from app.knowledge_bases.indexing import copy_members
from app.query import parse
from app.retrieval.statements import INDEX_COLUMNS
from app.settings import Settings
from tests.benchmarks.performance.bed import Caller
from tests.benchmarks.performance.corpus import Tenant
from tests.benchmarks.performance.postgres import SEARCHES, forget, identifiers
from tests.benchmarks.performance.rivals.plain import SCOPES, Plans, retrieve, search

# By class and by what was measured, of each question.
Times: TypeAlias = dict[str, dict[str, list[float]]]

RUNS = 3
INSIDE = "SELECT min_plan_time, min_exec_time FROM pg_stat_statements WHERE queryid = $1"

# F of the limits: the content search without admission, ranked and limited as the product ranks and limits.
BARE_SEARCH = """
SELECT passage_id, source_id, version_id, ordinal,
  ts_rank(tsv, $3::text::tsquery, 1)::float8 * CASE WHEN ordinal = 0 THEN 2.0 ELSE 1.0 END AS rank
FROM index_postings WHERE workspace_id = $1 AND index_id = $2 AND tsv @@ $3::text::tsquery
ORDER BY rank DESC, source_id, ordinal LIMIT $4
"""


def asked(tenant: Tenant, caller: Caller, base: UUID, query: str, limit: int = 10) -> dict[str, Any]:
    return {
        "workspace": str(tenant.id),
        "subjects": caller.subjects,
        "kb": str(base),
        "query": query,
        "limit": limit,
    }


async def milliseconds(runs: Mapping[str, Callable[[], Awaitable[object]]]) -> dict[str, float]:
    """The best of some runs of each, by turns: what is left of the noise of a shared machine."""
    found: dict[str, list[float]] = {what: [] for what in runs}
    for _ in range(RUNS):
        for what, run in runs.items():
            started = time.perf_counter()
            await run()
            found[what].append(1_000 * (time.perf_counter() - started))
    return {what: min(times) for what, times in found.items()}


async def times(
    plans: Plans, tenant: Tenant, caller: Caller, base: UUID, questions: Mapping[str, Sequence[str]]
) -> Times:
    """The ms of each question of each class: `retrieve` (its two statements), `search` (the first), `bare` (F, planned
    each time) and `trip` (R).
    """
    subject = Subject(tenant.id, caller.subject, frozenset(caller.groups))
    told = await _told(plans, subject, base)
    found: Times = {}
    for name, queries in questions.items():
        each = found[name] = {what: [] for what in ("retrieve", "search", "bare", "trip")}
        for query in queries:
            statement, arguments = await _search(plans, subject, told, query)
            place = plans.kept if statement.keep_plan else plans.made
            words = parse(query).all_words
            runs: dict[str, Callable[[], Awaitable[object]]] = {
                "retrieve": partial(retrieve, plans, asked(tenant, caller, base, query)),
                "search": partial(place.fetch, statement.sql, *arguments),
                "bare": partial(plans.made.fetch, BARE_SEARCH, tenant.id, told["index_id"], words, 10),
                "trip": partial(place.fetch, "SELECT 1"),
            }
            for what, best in (await milliseconds(runs)).items():
                each[what].append(best)
    return found


async def inside(
    plans: Plans, tenant: Tenant, caller: Caller, base: UUID, questions: Mapping[str, Sequence[str]]
) -> Times:
    """The ms that PostgreSQL itself says each question's search takes: to `plan`, 0 where a plan is kept, and to
    `execute`. What it counts is the statement as it is run; EXPLAIN would make a plan where none is made.
    """
    subject = Subject(tenant.id, caller.subject, frozenset(caller.groups))
    told = await _told(plans, subject, base)
    statement, _ = await _search(plans, subject, told, "word")
    place = plans.kept if statement.keep_plan else plans.made
    identifier = (await identifiers(place))[SEARCHES[told["open_read"]]]
    found: Times = {}
    for name, queries in questions.items():
        each = found[name] = {"plan": [], "execute": []}
        for query in queries:
            statement, arguments = await _search(plans, subject, told, query)
            await forget(place)
            await place.execute("SET pg_stat_statements.track = 'all'")
            for _ in range(RUNS):
                await place.fetch(statement.sql, *arguments)
            await place.execute("SET pg_stat_statements.track = 'none'")
            row = await place.fetchrow(INSIDE, identifier)
            each["plan"].append(row["min_plan_time"])
            each["execute"].append(row["min_exec_time"])
    return found


def medians(rounds: Sequence[Times]) -> dict[str, dict[str, float]]:
    """Of each class the median over its questions, each at the best of its rounds."""
    return {
        name: {
            what: statistics.median(map(min, zip(*(times[name][what] for times in rounds), strict=True)))
            for what in each
        }
        for name, each in rounds[0].items()
    }


async def _told(plans: Plans, subject: Subject, base: UUID) -> Mapping[str, Any]:
    """The knowledge base's row of SCOPES."""
    caller = {"workspace_id": subject.workspace_id, "subjects": subject.names}
    row: Mapping[str, Any]
    (row,) = await plans.run(SCOPES, **caller, knowledge_base_ids=[base])
    return row


async def _search(
    plans: Plans, subject: Subject, told: Mapping[str, Any], query: str
) -> tuple[HotStatement, list[object]]:
    """The search and its arguments."""
    parsed = parse(query)
    found = await search(plans, subject.workspace_id, told, words=True)
    given: dict[str, object] = {
        "workspace_id": subject.workspace_id,
        "subjects": subject.names,
        "knowledge_base_id": told["knowledge_base_id"],
        "index_id": told["index_id"],
        **{name: told[name] for name in INDEX_COLUMNS},
        "all_words": parsed.all_words,
        "title_key": parsed.title_key,
        "limit": 10,
        "source_ids": None,
        "denied": [],
    }
    return found, found.arguments(given)


async def build(url: str, settings: Settings, tenant: Tenant, sources: int = 200) -> float:
    """Microseconds a passage to copy 200 sources of a library into the index of a knowledge base, rolled back.

    With what GIN puts off: else one build has to do what others before it left, and they are cheap.
    """
    database = Database(url, settings)
    put_off = partial(
        database.fetch, HotStatement(select(func.gin_clean_pending_list(literal_column("'ix_index_postings_tsv'"))))
    )
    await put_off()
    found = []
    for _ in range(3):
        try:
            async with database.write(patient=True) as session:
                ids = [tenant.made(1, number) for number in range(sources)]
                started = time.perf_counter()
                await copy_members(session, tenant.id, tenant.made(5, 0), ids)
                copied = time.perf_counter() - started
                raise _Undone
        except _Undone:
            started = time.perf_counter()
            await put_off()
            found.append((copied + time.perf_counter() - started) * 1e6 / (sources * 5))
    await database.close()
    return min(found)


class _Undone(Exception):
    """Leave the library as it was."""
