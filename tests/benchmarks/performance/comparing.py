"""The same questions to four servers in turns: the product, strawberry's own view, a plain route, PostGraphile."""

import contextlib
import json
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from app.query import parse
from tests.benchmarks.performance.bed import OPEN, Bed, Caller
from tests.benchmarks.performance.load import Call, Times, ask, load
from tests.benchmarks.performance.processes import Server
from tests.benchmarks.performance.rivals import postgraphile
from tests.benchmarks.performance.servers import BIN, product, rival, server
from tests.benchmarks.performance.statements import asked

FIELDS = "chunkId resourceId resourceVersionId ordinal textHash {shown} rank source {{ title }}"
DOCUMENT = """query R($kb: ID, $query: String!, $limit: Int!) {{
  retrieve(knowledgeBaseId: $kb, query: $query, limit: $limit) {{ hits {{ {fields} }} }}
}}"""
PRODUCT, SNIPPETS, STOCK, ROUTE, POSTGRAPHILE = (
    "the product",
    "the product, snippetSafe in place of text",
    "stock Strawberry",
    "a plain route",
    "PostGraphile",
)


@dataclass(frozen=True)
class Rival:
    """A server, how a question is put to it, and how its answer reads: hits as the product shows them."""

    name: str
    server: Server
    call: Callable[[Caller, UUID, str, int], Call]
    hits: Callable[[bytes], list[dict[str, Any]]]


@contextlib.contextmanager
def rivals(bed: Bed, npm: Path | None) -> Iterator[list[Rival]]:
    """All of them, started. `npm` None leaves PostGraphile out."""
    with contextlib.ExitStack() as stack:
        own = stack.enter_context(product(bed, "product"))
        started = [
            Rival(PRODUCT, own, graphql(bed, "text"), _retrieved),
            Rival(SNIPPETS, own, graphql(bed, "snippetSafe"), _retrieved),
            Rival(STOCK, stack.enter_context(rival(bed, "stock")), graphql(bed, "text"), _retrieved),
            Rival(ROUTE, stack.enter_context(rival(bed, "plain")), _route(bed), lambda body: _body(body)["hits"]),
        ]
        if npm is not None:
            node = server(bed, "postgraphile", str(BIN / "node"), str(npm / "server.mjs"), NODE_ENV="production")
            started.append(Rival(POSTGRAPHILE, stack.enter_context(node), _postgraphile(bed), _postgraphile_hits))
        yield started


def graphql(bed: Bed, shown: str) -> Callable[[Caller, UUID, str, int], Call]:
    """How the product's API is asked; `shown` is the field with the passage's text."""
    document = DOCUMENT.format(fields=FIELDS.format(shown=shown))

    def call(caller: Caller, base: UUID, query: str, limit: int) -> Call:
        body = {"query": document, "variables": {"kb": str(base), "query": query, "limit": limit}}
        return Call.post("/graphql", json.dumps(body).encode(), bed.token(caller))

    return call


def _route(bed: Bed) -> Callable[[Caller, UUID, str, int], Call]:
    return lambda caller, base, query, limit: Call.post(
        "/retrieve", json.dumps(asked(bed.main, caller, base, query, limit)).encode()
    )


def _postgraphile(bed: Bed) -> Callable[[Caller, UUID, str, int], Call]:
    def call(caller: Caller, base: UUID, query: str, limit: int) -> Call:
        variables = asked(bed.main, caller, base, query, limit)
        parsed = parse(query)
        variables |= {"words": parsed.all_words, "key": parsed.title_key.hex()}
        del variables["query"]
        return Call.post("/graphql", json.dumps({"query": postgraphile.QUERY, "variables": variables}).encode())

    return call


def _body(body: bytes) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(body)
    if answer.get("errors"):
        raise RuntimeError(answer["errors"])
    return answer


def _retrieved(body: bytes) -> list[dict[str, Any]]:
    hits: list[dict[str, Any]] = _body(body)["data"]["retrieve"]["hits"]
    return hits


def _postgraphile_hits(body: bytes) -> list[dict[str, Any]]:
    hits = _body(body)["data"]["retrieve"]
    return [{"source": {"title": hit.pop("sourceTitle")}} | hit for hit in hits]


async def differences(
    contenders: Sequence[Rival], bed: Bed, callers: Sequence[Caller], questions: dict[str, list[str]]
) -> tuple[int, list[str]]:
    """How many answers were compared, and what was not equal between the product and the others, field by field."""
    compared, found = 0, []
    own, *others = [each for each in contenders if each.name != SNIPPETS]
    for size, base in bed.bases.items():
        for caller in callers:
            for query in [query for queries in questions.values() for query in queries[:3]]:
                right = own.hits(await ask(own.server.port, own.call(caller, base, query, 10)))
                for other in others:
                    compared += 1
                    answer = other.hits(await ask(other.server.port, other.call(caller, base, query, 10)))
                    if answer != right:
                        found.append(f"{other.name}: {size} passages, {caller.name}, {query}")
    return compared, found


async def overhead(
    contenders: Sequence[Rival], base: UUID, queries: Sequence[str], *, rounds: int, requests: int
) -> dict[int, dict[str, dict[str, float]]]:
    """For limit 10 and 50, for each: CPU ms a request, requests/s, percentiles; medians of interleaved rounds."""
    table: dict[int, dict[str, dict[str, float]]] = {}
    for limit in (10, 50):
        calls = {each.name: [each.call(OPEN, base, query, limit) for query in queries] for each in contenders}
        for each in contenders:
            await load(each.server.port, calls[each.name], clients=2, requests=len(queries) * 2)
        measured: dict[str, list[dict[str, float]]] = {each.name: [] for each in contenders}
        for _ in range(rounds):
            for each in contenders:
                before = each.server.cpu
                times = await load(each.server.port, calls[each.name], clients=2, requests=requests)
                measured[each.name].append(figures(times) | {"cpu": 1_000 * (each.server.cpu - before) / requests})
        table[limit] = {
            name: {what: statistics.median(times[what] for times in all_) for what in all_[0]}
            for name, all_ in measured.items()
        }
    return table


def figures(times: Times) -> dict[str, float]:
    """Requests a second, and percentiles in ms."""
    percentiles = {f"p{percent}": times.percentile(percent) for percent in (50, 95, 99)}
    return {"rate": len(times.each) / times.whole, **percentiles}


async def crowds(own: Rival, base: UUID, queries: Sequence[str], requests: int) -> dict[int, dict[str, float]]:
    """1, 10 and 100 clients at once."""
    calls = [own.call(OPEN, base, query, 10) for query in queries]
    found = {}
    for clients in (1, 10, 100):
        before = own.server.cpu
        times = await load(own.server.port, calls, clients=clients, requests=requests)
        found[clients] = figures(times) | {"cpu": 1_000 * (own.server.cpu - before) / requests}
    return found


async def memory(own: Rival, base: UUID, queries: Sequence[str], requests: int) -> list[tuple[int, int]]:
    """(requests so far, resident bytes of the server), twenty times on the way."""
    calls = [own.call(OPEN, base, query, 10) for query in queries]
    found = []
    for step in range(1, 21):
        await load(own.server.port, calls, clients=4, requests=requests // 20)
        found.append((step * (requests // 20), own.server.memory))
    return found
