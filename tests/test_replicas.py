"""Searches on a real standby: what runs there, and that no lag and no death of it is ever seen in an answer."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio
from structlog.testing import capture_logs

from app import replicas as module
from app.services import Services, open_services
from app.settings import Settings
from graphql_schema.asgi import create
from tests.knowledge_bases.indexes import until
from tests.replicas import AT_ONCE, Servers, T, ask, statements, timed, two_servers
from tests.serving import serving
from tests.world import World

SECRET = "a secret that only these tests know, of 32 bytes or more"
# What only a search says, and what only a replica is asked about itself.
SEARCH = "as_assumed"
PROBE = "pg_is_in_recovery"


@dataclass(frozen=True)
class Pair:
    """`exact` and `patient` are addresses of the product: one with no lag allowed, one with a minute's."""

    servers: Servers
    services: Services
    exact: str
    patient: str

    async def ran(self, question: Awaitable[T]) -> tuple[T, str]:
        """What came of it, and where its searches ran: `primary`, `standby`, or both in that order."""
        logs = {"primary": self.servers.log, "standby": self.servers.standby.log}
        starts = {name: log.stat().st_size for name, log in logs.items()}
        answer = await question
        ran = [name for name, log in logs.items() for text in statements(log, starts[name]) if SEARCH in text]
        return answer, " ".join(ran)


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with two_servers() as made:
        yield made


@pytest_asyncio.fixture(scope="module")
async def pair(servers: Servers) -> AsyncIterator[Pair]:
    for sql in ("ALTER SYSTEM SET log_statement = 'all'", "ALTER SYSTEM SET autovacuum = off"):
        await ask(servers.url, sql)
    await ask(servers.url, "SELECT pg_reload_conf()")
    values = {"database_url": servers.url, "data_dir": servers.folder, "jwt_secret": SECRET, "worker_in_server": False}
    exact = Settings.model_validate(values | {"database_replica_urls": servers.standby.url})
    patient = exact.model_copy(update={"replica_lag_seconds": 60.0})
    async with open_services(exact) as services, serving(create(exact)) as first, serving(create(patient)) as second:
        yield Pair(servers, services, first, second)


@pytest_asyncio.fixture
async def world(pair: Pair) -> AsyncIterator[World]:
    """A library whose searches run on the standby: `Harbor` is public, `Vault` is private."""
    async with World.made(pair.services, pair.exact) as made:
        await made.add("Harbor", "The harbor has a lighthouse.")
        await made.add("Vault", "The vault has a lighthouse too.", private=True)
        await back_on_the_standby(pair, made)
        yield made


def patient(pair: Pair, world: World) -> World:
    """The same world, asked where a replica may be a minute behind."""
    return World(pair.services, pair.patient, world.client, world.workspace, world.workspace_id, world.sources)


async def back_on_the_standby(pair: Pair, world: World) -> None:
    async def ran_there() -> bool:
        return (await pair.ran(world.reader.titles("lighthouse")))[1] == "standby"

    await until(ran_there)


@asynccontextmanager
async def paused(pair: Pair, *worlds: World) -> AsyncIterator[None]:
    """The standby replays nothing more, and is used as long as nothing is written."""
    while True:
        async with pair.servers.paused():
            try:
                async with asyncio.timeout(3):
                    for world in worlds:
                        await back_on_the_standby(pair, world)
            except TimeoutError:
                continue  # the primary wrote something of its own, as it does every 15 seconds
            yield
            return


async def test_searches_run_on_the_standby_and_nothing_else_does(pair: Pair, world: World) -> None:
    start = pair.servers.standby.log.stat().st_size
    base = await world.knowledge_base("Harbor")
    await back_on_the_standby(pair, world)
    assert await pair.ran(world.reader.titles("lighthouse")) == (["Harbor"], "standby")
    assert await pair.ran(world.reader.titles("lighthouse", base)) == (["Harbor"], "standby")
    assert await pair.ran(world.reader.titles("lighthouse anchor", base, match="ANY_WORD")) == (["Harbor"], "standby")
    assert await pair.ran(world.nobody.titles("lighthouse", base)) == ([], "standby")
    await world.reader.ask("query($id: ID!) { source(id: $id) { title } }", id=world.sources["Harbor"])
    ran = [text for text in statements(pair.servers.standby.log, start) if SEARCH not in text and PROBE not in text]
    assert [text for text in ran if re.search("source|passage|index|grant|job|knowledge", text)] == []


async def test_a_search_on_the_standby_costs_the_primary_two_statements(pair: Pair, world: World) -> None:
    start, asked, begin = 0, 0, 0.0

    async def twenty() -> bool:
        nonlocal start, asked, begin
        start, asked = pair.servers.log.stat().st_size, pair.servers.standby.log.stat().st_size
        begin = time.monotonic()
        answers = [await pair.ran(world.reader.titles("lighthouse")) for _ in range(20)]
        return answers == [(["Harbor"], "standby")] * 20

    await until(twenty)  # unless the primary wrote something of its own meanwhile
    ran = statements(pair.servers.log, start)
    # The caller and the position; the read check. Of the standby nothing is asked but by the probes of both products.
    assert sum("pg_current_wal_flush_lsn" in text for text in ran) == 20
    assert len(ran) == 40
    probes = [text for text in statements(pair.servers.standby.log, asked) if PROBE in text]
    assert len(probes) <= 2 * (1 + time.monotonic() - begin)


Act = Callable[[World], Awaitable[object]]


@dataclass(frozen=True)
class Change:
    """What is done while the standby stands still, and the titles that `lighthouse` finds before and after it."""

    act: Act
    after: list[str]
    before: tuple[str, ...] = ("Harbor",)
    question: str = "lighthouse"


def change(mutation: str, **fields: Any) -> Act:
    async def act(world: World) -> None:
        await world.manager.change(mutation, "__typename", id=world.sources["Harbor"], **fields)

    return act


async def discard(world: World) -> None:
    source = await world.manager.ask(
        "query($id: ID!) { source(id: $id) { latestVersion { id } } }", id=world.sources["Harbor"]
    )
    version = source["source"]["latestVersion"]["id"]
    await world.manager.change("discardStoredFile", "__typename", sourceVersionId=version)


CHANGES = {
    "a title": Change(change("updateSource", title="Pier"), ["Pier"]),
    "words of a title": Change(change("updateSource", title="Pier"), ["Pier"], before=(), question="pier"),
    "a grant": Change(lambda w: w.grant("user:reader", "source.read", w.sources["Vault"]), ["Harbor", "Vault"]),
    "a revocation": Change(lambda w: w.revoke("user:reader", "workspace.read"), []),
    "a deletion": Change(change("deleteSource"), []),
    "unavailability": Change(change("setSourceAvailability", availability="UNAVAILABLE"), []),
    "a discarded file": Change(discard, []),
    "a new source": Change(lambda w: w.add("Quay", "Quay with a lighthouse, that is all."), ["Harbor", "Quay"]),
}


@pytest.mark.parametrize("name", CHANGES)
async def test_what_the_standby_has_not_replayed_counts_at_once(pair: Pair, world: World, name: str) -> None:
    case = CHANGES[name]
    async with paused(pair, world):
        assert await pair.ran(world.reader.titles(case.question)) == (list(case.before), "standby")
        await case.act(world)
        for _ in range(2):
            (titles, ran), seconds = await timed(pair.ran(world.reader.titles(case.question)))
            assert (sorted(titles), ran) == (case.after, "primary")
            assert seconds < AT_ONCE
    await back_on_the_standby(pair, world)
    assert sorted(await world.reader.titles(case.question)) == case.after


async def test_a_new_generation_counts_at_once(pair: Pair, world: World) -> None:
    base = await world.knowledge_base("Harbor")
    async with paused(pair, patient(pair, world), world):
        await world.manager.change("rebuildIndex", "__typename", knowledgeBaseId=base)
        await world.work()
        for caller, where in ((world.reader, "primary"), (patient(pair, world).reader, "primary standby")):
            answer, ran = await pair.ran(caller.retrieve("lighthouse", base))
            assert answer["index"] == {"state": "READY", "generation": 2}
            assert [hit["source"]["title"] for hit in answer["hits"]] == ["Harbor"]
            assert ran == where
    await back_on_the_standby(pair, world)


async def test_with_patience_edits_may_be_missed_and_nothing_is_served_that_was_taken_away(
    pair: Pair, world: World
) -> None:
    reader = patient(pair, world).reader
    await world.add("Pilot", "The pilot has a lantern.")
    await world.grant("user:guest", "source.read", world.sources["Vault"])
    async with paused(pair, patient(pair, world)):
        await change("updateSource", title="Pier")(world)
        assert await pair.ran(reader.titles("harbor")) == (["Harbor"], "standby")
        await world.grant("user:reader", "source.read", world.sources["Vault"])
        assert await pair.ran(reader.titles("vault")) == ([], "standby")
        await discard(world)
        assert await pair.ran(reader.titles("harbor")) == ([], "primary standby")
        assert await pair.ran(reader.titles("lantern")) == (["Pilot"], "standby")
        await world.revoke("user:reader", "workspace.read")
        assert await pair.ran(reader.titles("lantern")) == ([], "primary standby")
        guest = patient(pair, world).caller("user:guest")
        assert await pair.ran(guest.titles("vault")) == (["Vault"], "standby")
        await world.revoke("user:guest", "source.read", world.sources["Vault"])
        assert await pair.ran(guest.titles("vault")) == ([], "primary standby")
    await back_on_the_standby(pair, world)
    assert await reader.titles("vault") == ["Vault"]


async def test_a_standby_that_was_killed_is_passed_over_and_comes_back(pair: Pair, world: World) -> None:
    with capture_logs() as logs, pair.servers.killed():
        for _ in range(3):
            answer, seconds = await timed(pair.ran(world.reader.titles("lighthouse")))
            assert answer == (["Harbor"], "primary")
            assert seconds < AT_ONCE
        assert (await world.client.get(f"{pair.exact}/readyz")).status_code == 200
        await asyncio.sleep(1.2 * module.PROBE_SECONDS)
        pair.servers.standby.start()
        await back_on_the_standby(pair, world)
        await back_on_the_standby(pair, patient(pair, world))
    said = sorted((log["event"], log["replica"], log.get("because")) for log in logs if "replica" in log)
    assert said == [("replica_in", 1, None)] * 2 + [("replica_out", 1, "It does not answer.")] * 2


async def test_a_standby_that_is_killed_in_the_middle_of_a_search_is_not_missed(pair: Pair, world: World) -> None:
    pair.servers.standby.freeze()
    question = asyncio.create_task(pair.ran(world.reader.titles("lighthouse")))
    await asyncio.sleep(0.3)
    waited = not question.done()
    with pair.servers.killed():
        answer, seconds = await timed(question)
    assert waited
    assert answer == (["Harbor"], "primary")
    assert seconds < AT_ONCE
    await back_on_the_standby(pair, world)


@pytest.mark.parametrize("number", [1, 20], ids=["on a connection that it has", "on new connections too"])
async def test_a_standby_that_hangs_is_given_up(pair: Pair, world: World, number: int) -> None:
    await asyncio.gather(*(world.reader.titles("lighthouse") for _ in range(5)))  # on as many connections
    pair.servers.standby.freeze()
    try:
        questions = (timed(pair.ran(world.reader.titles("lighthouse"))) for _ in range(number))
        answers = await asyncio.gather(*questions)
        assert {str(answer) for (answer, _), _ in answers} == {"['Harbor']"}
        assert max(seconds for _, seconds in answers) < module.ANSWER_SECONDS + AT_ONCE
        for _ in range(3):
            answer, seconds = await timed(pair.ran(world.reader.titles("lighthouse")))
            assert answer == (["Harbor"], "primary")
            assert seconds < AT_ONCE
    finally:
        pair.servers.standby.thaw()
    await back_on_the_standby(pair, world)
