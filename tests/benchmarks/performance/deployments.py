"""The product in other arrangements: several workers, a read replica; and what it has PostgreSQL do.

The load, PostgreSQL, its standby and the servers share the machine: on two cores none of them can add what it would
add on machines of their own, and the CPU of a request is the figure to read.
"""

import contextlib
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar
from uuid import UUID

from tests.benchmarks.performance.bed import HUNDRED, OPEN, Bed
from tests.benchmarks.performance.comparing import figures, graphql
from tests.benchmarks.performance.load import Call, load
from tests.benchmarks.performance.postgres import SEARCHES, counting, forget
from tests.benchmarks.performance.postgres import figures as counted
from tests.benchmarks.performance.processes import Server
from tests.benchmarks.performance.servers import product, rest
from tests.standby import standby

Name = TypeVar("Name")
CLIENTS = 10
WORKERS = (1, 2)


def _calls(bed: Bed, base: UUID, queries: Sequence[str]) -> list[Call]:
    call = graphql(bed, "text")
    return [call(OPEN, base, query, 10) for query in queries]


async def workers(
    bed: Bed, base: UUID, queries: Sequence[str], *, rounds: int, requests: int
) -> dict[int, dict[str, float]]:
    """`gctl serve --workers` 1 and 2."""
    with contextlib.ExitStack() as stack:
        servers = {n: stack.enter_context(product(bed, f"workers-{n}", "--workers", str(n))) for n in WORKERS}
        return await _turns(servers, _calls(bed, base, queries), rounds, requests)


async def replica(bed: Bed, base: UUID, queries: Sequence[str], *, rounds: int, requests: int) -> dict[str, Any]:
    """The `servers` with no replica and with one; how many `searches` there were with one, and where they ran: on the
    `primary`, on the `replica`.
    """
    with contextlib.ExitStack() as stack:
        second = stack.enter_context(standby(bed.url))
        servers = {
            "no replica": stack.enter_context(product(bed, "alone")),
            "one replica": stack.enter_context(product(bed, "replica", DATABASE_REPLICA_URLS=second.url)),
        }
        calls = _calls(bed, base, queries)
        table = await _turns(servers, calls, rounds, requests)
        async with counting(bed.url) as primary, counting(second.url) as other:
            await forget(primary)
            await forget(other)
            await load(servers["one replica"].port, calls, clients=CLIENTS, requests=requests)
            ran = {"primary": await counted(primary), "replica": await counted(other)}
    name = SEARCHES[True]
    places = {place: each[name]["calls"] if name in each else 0 for place, each in ran.items()}
    return {"servers": table, "searches": sum(places.values()), **places}


async def statements(
    bed: Bed, questions: Mapping[str, Sequence[str]], requests: int
) -> dict[int, dict[str, dict[str, Any]]]:
    """For each knowledge base what PostgreSQL counted of the statements of a server just started (see
    `postgres.figures`), while two clients asked all questions, for an open caller and for one of 100 grants in turn.
    """
    found = {}
    call = graphql(bed, "text")
    with product(bed, "counted") as server:
        await rest(server)
        async with counting(bed.url) as connection:
            for size, base in bed.bases.items():
                each = [query for queries in questions.values() for query in queries]
                calls = [call(caller, base, query, 10) for query in each for caller in (OPEN, HUNDRED)]
                await forget(connection)
                await load(server.port, calls, clients=2, requests=max(requests, len(calls)))
                found[size] = await counted(connection)
    return found


async def _turns(
    servers: Mapping[Name, Server], calls: Sequence[Call], rounds: int, requests: int
) -> dict[Name, dict[str, float]]:
    """Medians of the rounds, after each server was warmed."""
    for server in servers.values():
        await rest(server)
        await load(server.port, calls, clients=CLIENTS, requests=len(calls) * 5)
    measured: dict[Name, list[dict[str, float]]] = {name: [] for name in servers}
    for _ in range(rounds):
        for name, server in servers.items():
            before = server.cpu
            times = await load(server.port, calls, clients=CLIENTS, requests=requests)
            measured[name].append(figures(times) | {"cpu": 1_000 * (server.cpu - before) / requests})
    return {
        name: {what: statistics.median(each[what] for each in all_) for what in all_[0]}
        for name, all_ in measured.items()
    }
