"""What the database takes: the statements of a retrieval, beside the bare search and the round trip they rest on."""

import statistics
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

import asyncpg

from app.access.subject import Subject
from app.database import Database
from app.knowledge_bases.facts import index_state
from app.knowledge_bases.indexing import copy_members
from app.query import parse
from app.retrieval.repository import statement, told
from app.retrieval.scopes import Scope
from app.retrieval.statements import Form
from tests.benchmarks.performance.bed import Bed, Caller
from tests.benchmarks.performance.corpus import Tenant
from tests.benchmarks.performance.rivals.plain import SCOPES, retrieve

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


async def milliseconds(run: Callable[[], Awaitable[object]], rounds: int = 3) -> float:
    """The best of some runs: what is left of the noise of a shared machine."""
    found = []
    for _ in range(rounds):
        started = time.perf_counter()
        await run()
        found.append(1_000 * (time.perf_counter() - started))
    return min(found)


async def classes(
    connection: asyncpg.Connection, tenant: Tenant, caller: Caller, base: UUID, questions: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, float]]:
    """For each class the medians over its questions, in ms: `retrieve` (its two statements), `search` (the first),
    `bare` (F) and `trip` (R).
    """
    subject = Subject(tenant.id, caller.subject, frozenset(caller.groups))
    scope = await _scope(connection, subject, base)
    assert scope.index is not None
    found = {}
    for name, queries in questions.items():
        each: dict[str, list[float]] = {"retrieve": [], "search": [], "bare": [], "trip": []}
        for query in queries:
            search, *arguments = _search(subject, scope, query)
            words = parse(query).all_words
            runs: dict[str, Callable[[], Awaitable[object]]] = {
                "retrieve": partial(retrieve, connection, asked(tenant, caller, base, query)),
                "search": partial(connection.fetch, search, *arguments),
                "bare": partial(connection.fetch, BARE_SEARCH, tenant.id, scope.index.id, words, 10),
                "trip": partial(connection.fetch, "SELECT 1"),
            }
            for what, run in runs.items():
                each[what].append(await milliseconds(run))
        found[name] = {what: statistics.median(times) for what, times in each.items()}
    return found


async def _scope(connection: asyncpg.Connection, subject: Subject, base: UUID) -> Scope:
    arguments = SCOPES.arguments(
        {"workspace_id": subject.workspace_id, "subjects": subject.names, "knowledge_base_ids": [base]}
    )
    (row,) = await connection.fetch(SCOPES.sql, *arguments)
    return Scope(row["open_read"], index_state(row))


def _search(subject: Subject, scope: Scope, query: str) -> list[object]:
    """The search and its arguments."""
    parsed = parse(query)
    search = statement(Form(words=True, open_read=scope.open_read, sources=True))
    given: dict[str, object] = {
        "workspace_id": subject.workspace_id,
        "subjects": subject.names,
        "all_words": parsed.all_words,
        "title_key": parsed.title_key,
        "limit": 10,
        "source_ids": None,
        "denied": [],
    }
    return [search.sql, *search.arguments(given | told(subject, scope))]


async def build(bed: Bed, tenant: Tenant, sources: int = 200) -> float:
    """Microseconds a passage to copy 200 sources of a library into the index of a knowledge base, rolled back."""
    database = Database(bed.url, bed.settings)
    found = []
    for _ in range(3):
        try:
            async with database.write(patient=True) as session:
                ids = [tenant.made(1, number) for number in range(sources)]
                started = time.perf_counter()
                await copy_members(session, tenant.id, tenant.made(5, 0), ids)
                found.append((time.perf_counter() - started) * 1e6 / (sources * 5))
                raise _Undone
        except _Undone:
            pass
    await database.close()
    return min(found)


class _Undone(Exception):
    """Leave the library as it was."""
