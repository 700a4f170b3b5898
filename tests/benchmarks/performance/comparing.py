"""The same questions to four servers in turns: the product, strawberry's own view, a plain route, PostGraphile."""

import contextlib
import json
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from app.query import parse
from tests.benchmarks.performance.bed import OPEN, Bed, Caller
from tests.benchmarks.performance.load import Call, Times, ask, load
from tests.benchmarks.performance.processes import Server, free_port, serving
from tests.benchmarks.performance.rivals import postgraphile
from tests.benchmarks.performance.statements import asked

BIN = Path(sys.executable).parent
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
        started: list[Rival] = []
        environment = {
            "DATABASE_URL": bed.url,
            "BENCHMARK_URL": bed.url,
            "GCTL_DATA_DIR": str(bed.folder),
            "GCTL_JWT_SECRET": bed.settings.jwt_secret.get_secret_value() if bed.settings.jwt_secret else "",
            "GCTL_WORKER_IN_SERVER": "false",
        }

        def start(name: str, *command: str, **more: str) -> Server:
            port = free_port()
            filled = [part.replace("PORT", str(port)) for part in command]
            log = bed.folder / f"{name}.log"
            return stack.enter_context(serving(filled, port, environment | {"PORT": str(port)} | more, log))

        def uvicorn(module: str) -> list[str]:
            target = f"tests.benchmarks.performance.rivals.{module}:app"
            return [str(BIN / "uvicorn"), target, "--factory", "--port", "PORT", "--no-access-log"]

        product = start("product", str(BIN / "gctl"), "serve", "--port", "PORT", "--no-sample")
        started += [
            Rival(PRODUCT, product, _graphql(bed, "text"), _retrieved),
            Rival(SNIPPETS, product, _graphql(bed, "snippetSafe"), _retrieved),
            Rival(STOCK, start("stock", *uvicorn("stock")), _graphql(bed, "text"), _retrieved),
            Rival(ROUTE, start("plain", *uvicorn("plain")), _route(bed), lambda body: _body(body)["hits"]),
        ]
        if npm is not None:
            server = start("postgraphile", str(BIN / "node"), str(npm / "server.mjs"), NODE_ENV="production")
            started.append(Rival(POSTGRAPHILE, server, _postgraphile(bed), _postgraphile_hits))
        yield started


def _graphql(bed: Bed, shown: str) -> Callable[[Caller, UUID, str, int], Call]:
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
    product, *others = [rival for rival in contenders if rival.name != SNIPPETS]
    for size, base in bed.bases.items():
        for caller in callers:
            for query in [query for queries in questions.values() for query in queries[:3]]:
                right = product.hits(await ask(product.server.port, product.call(caller, base, query, 10)))
                for rival in others:
                    compared += 1
                    answer = rival.hits(await ask(rival.server.port, rival.call(caller, base, query, 10)))
                    if answer != right:
                        found.append(f"{rival.name}: {size} passages, {caller.name}, {query}")
    return compared, found


async def overhead(
    contenders: Sequence[Rival], base: UUID, queries: Sequence[str], *, rounds: int, requests: int
) -> dict[int, dict[str, dict[str, float]]]:
    """For limit 10 and 50, for each: CPU ms a request, requests/s, percentiles; medians of interleaved rounds."""
    table: dict[int, dict[str, dict[str, float]]] = {}
    for limit in (10, 50):
        calls = {rival.name: [rival.call(OPEN, base, query, limit) for query in queries] for rival in contenders}
        for rival in contenders:
            await load(rival.server.port, calls[rival.name], clients=2, requests=len(queries) * 2)
        measured: dict[str, list[dict[str, float]]] = {rival.name: [] for rival in contenders}
        for _ in range(rounds):
            for rival in contenders:
                before = rival.server.cpu
                times = await load(rival.server.port, calls[rival.name], clients=2, requests=requests)
                measured[rival.name].append(_figures(times) | {"cpu": 1_000 * (rival.server.cpu - before) / requests})
        table[limit] = {
            name: {what: statistics.median(each[what] for each in all_) for what in all_[0]}
            for name, all_ in measured.items()
        }
    return table


def _figures(times: Times) -> dict[str, float]:
    percentiles = {f"p{percent}": times.percentile(percent) for percent in (50, 95, 99)}
    return {"rate": len(times.each) / times.whole, **percentiles}


async def crowds(product: Rival, base: UUID, queries: Sequence[str], requests: int) -> dict[int, dict[str, float]]:
    """1, 10 and 100 clients at once."""
    calls = [product.call(OPEN, base, query, 10) for query in queries]
    found = {}
    for clients in (1, 10, 100):
        before = product.server.cpu
        times = await load(product.server.port, calls, clients=clients, requests=requests)
        found[clients] = _figures(times) | {"cpu": 1_000 * (product.server.cpu - before) / requests}
    return found


async def memory(product: Rival, base: UUID, queries: Sequence[str], requests: int) -> list[tuple[int, int]]:
    """(requests so far, resident bytes of the server), twenty times on the way."""
    calls = [product.call(OPEN, base, query, 10) for query in queries]
    found = []
    for step in range(1, 21):
        await load(product.server.port, calls, clients=4, requests=requests // 20)
        found.append((step * (requests // 20), product.server.memory))
    return found
