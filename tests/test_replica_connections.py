"""What becomes of a replica that hangs, dies, is started again, or is none: the connections to real standbys."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest
from pydantic import ValidationError
from sqlalchemy import column, select, table
from structlog.testing import capture_logs

from app import replicas as module
from app.database import HotStatement
from app.settings import Settings
from tests.knowledge_bases.indexes import until
from tests.replicas import AT_ONCE, SLEEP, WRITTEN, Servers, ask, replicas_at, timed, two_servers
from tests.standby import standby

TOLD = HotStatement(select(column("n")).select_from(table("told")))


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with two_servers() as made:
        yield made


async def test_a_standby_that_was_started_again_further_back_is_not_taken_for_what_it_was(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PROBE_SECONDS", 600.0)  # nobody notices
    await ask(servers.url, "CREATE TABLE told AS SELECT 1 AS n")
    async with replicas_at(servers) as own:
        await own.until_usable()
        await ask(servers.url, "UPDATE told SET n = 2")
        position = await own.written()
        await servers.until_equal()
        assert await own.run(TOLD, position) == [(2,)]
        with servers.killed():
            servers.standby.start(recovery_min_apply_delay="1h")
            assert await ask(servers.standby.url, "SELECT count(*) FROM pg_class WHERE relname = 'told'") == 0
            await asyncio.sleep(0.1)  # the end of the connections reaches the driver
            assert await own.run(SLEEP, position, seconds=0) is None
            assert own.replicas.usable
            assert await own.run(SLEEP, 1, seconds=0) == [(None,)]
    await servers.until_equal()


async def test_two_servers_behind_one_address_are_not_taken_for_one(
    servers: Servers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(module, "PROBE_SECONDS", 600.0)
    await ask(servers.url, "CREATE TABLE told_twice AS SELECT 1 AS n")
    told = HotStatement(select(column("n")).select_from(table("told_twice")))
    socket = tmp_path / ".s.PGSQL.5432"
    socket.symlink_to(servers.standby.folder / socket.name)
    with standby(servers.url) as second:
        await ask(second.url, "SELECT pg_wal_replay_pause()")
        async with replicas_at(servers, f"postgresql://postgres@/gctl?host={tmp_path}&port=5432") as own:
            await own.until_usable()
            await ask(servers.url, "UPDATE told_twice SET n = 2")
            await servers.until_equal()
            position = await own.written()
            assert await own.run(told, position) == [(2,)]
            socket.unlink()
            socket.symlink_to(second.folder / socket.name)
            await asyncio.gather(*(own.run(SLEEP, seconds=0) for _ in range(3)))  # on so many connections
            assert [await own.run(told, position) for _ in range(5)] == [None] * 5


async def test_a_cancelled_search_leaves_nothing_behind(servers: Servers) -> None:
    async with replicas_at(servers, database_pool_size=1) as own:
        await own.until_usable()
        for _ in range(3):
            search = asyncio.create_task(own.run(SLEEP, seconds=60))
            await asyncio.sleep(0.1)
            answer, seconds = await timed(own.run(SLEEP, seconds=0))
            assert answer is None  # its one connection is in use: nobody waits for it
            assert seconds < AT_ONCE
            search.cancel()
            with pytest.raises(asyncio.CancelledError):
                await search
            assert own.replicas.usable
        assert await own.run(SLEEP, seconds=0) == [(None,)]
        sleeping = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
        assert await ask(servers.standby.url, sleeping) == 0


async def test_what_conflicts_with_the_replay_goes_on_at_the_primary(servers: Servers) -> None:
    await ask(servers.url, "CREATE TABLE conflict AS SELECT 1 AS n")
    with capture_logs() as logs:
        async with replicas_at(servers) as own:
            await own.until_usable()
            search = asyncio.create_task(own.run(SLEEP, seconds=60))
            await asyncio.sleep(0.2)
            await ask(servers.url, "DELETE FROM conflict")
            await ask(servers.url, "VACUUM conflict")
            assert await search is None
            assert not own.replicas.usable
            await own.until_usable()
    assert [log["event"] for log in logs] == ["replica_in", "replica_out", "replica_in"]
    assert logs[1]["detail"].startswith("SerializationError: canceling statement due to conflict with recovery")


async def test_a_search_that_takes_too_long_is_given_up(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.5)
    async with replicas_at(servers) as own:
        await own.until_usable()
        answer, seconds = await timed(own.run(SLEEP, seconds=60))
        assert answer is None
        assert seconds < 0.5 + AT_ONCE


async def test_a_wrong_server_is_never_used_and_that_is_said_once(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PROBE_SECONDS", 0.05)
    await ask(servers.url, "CREATE DATABASE other")
    await servers.until_equal()
    itself = servers.url.replace("postgres@", "postgres:hunter2@")
    other = servers.standby.url.replace("/gctl?", "/other?")
    nobody = "postgresql://postgres:hunter2@127.0.0.1:1/gctl"
    with capture_logs() as logs:
        async with replicas_at(servers, itself, other, nobody) as own:
            await asyncio.sleep(0.6)
            assert not own.replicas.usable
            assert await own.run(SLEEP, seconds=0) is None
    assert sorted((log["event"], log["replica"], log["because"]) for log in logs) == [
        ("replica_out", 1, "It is no standby."),
        ("replica_out", 2, "It is a standby of another database."),
        ("replica_out", 3, "It does not answer."),
    ]
    assert "hunter2" not in str(logs)
    await ask(servers.url, "DROP DATABASE other")


async def test_a_standby_that_was_promoted_is_not_used_any_more(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PROBE_SECONDS", 0.05)
    with standby(servers.url) as second, capture_logs() as logs:
        async with replicas_at(servers, second.url) as own:
            await own.until_usable()
            assert await ask(second.url, "SELECT pg_promote()")
            await asyncio.sleep(0.5)
            assert not own.replicas.usable
    assert [(log["event"], log.get("because")) for log in logs][-1] == ("replica_out", "It is no standby.")


async def test_a_frozen_standby_does_not_hold_up_the_end(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PROBE_SECONDS", 0.02)
    clients = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
    others = await ask(servers.standby.url, clients)
    try:
        async with replicas_at(servers) as own:
            await own.until_usable()
            await asyncio.gather(*(own.run(SLEEP, seconds=0) for _ in range(3)))
            servers.standby.freeze()
            await asyncio.sleep(0.2)  # a probe waits for it
            end = time.monotonic()
        assert time.monotonic() - end < AT_ONCE
    finally:
        servers.standby.thaw()

    async def gone() -> bool:
        return bool(await ask(servers.standby.url, clients) <= others)

    await until(gone)


async def test_lag_is_allowed_for_so_long_and_no_longer(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 100.0
    monkeypatch.setattr(module, "monotonic", lambda: clock)
    async with replicas_at(servers, replica_lag_seconds=10.0) as own, servers.paused():
        await own.until_usable()
        assert await own.run(SLEEP, await own.written(), seconds=0) == [(None,)]
        await ask(servers.url, "CREATE TABLE lag()")
        for clock in (100.1, 105.0, 110.0):  # noqa: B007 the clock reads it
            assert await own.run(SLEEP, await own.written(), seconds=0) == [(None,)]
        clock = 110.1
        assert await own.run(SLEEP, await own.written(), seconds=0) is None
        clock = 200.0
        assert await own.run(SLEEP, await own.written(), seconds=0) is None


async def test_a_position_holds_what_was_committed_asynchronously(servers: Servers) -> None:
    connection = await asyncpg.connect(servers.url)
    try:
        await connection.execute("CREATE TABLE IF NOT EXISTS soon (n int); SET synchronous_commit = off")
        for _ in range(5):
            await connection.execute("INSERT INTO soon VALUES (1)")
            inserted = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint"
            assert await connection.fetchval(WRITTEN.sql, *WRITTEN.arguments({})) >= await connection.fetchval(inserted)
    finally:
        await connection.close()


def test_the_addresses_are_read_and_never_shown() -> None:
    given = " postgresql://a:hunter2@b/c ,\npostgres://d/e postgresql://f?host=/tmp/x&port=5432 "
    settings = Settings.model_validate({"database_replica_urls": given})
    assert settings.replica_urls == given.replace(",", " ").split()
    assert "hunter2" not in f"{settings!r} {settings}"
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate({"database_replica_urls": "postgresql://a:hunter,2@b/c"})
    assert "address 2 does not begin with postgresql://" in str(caught.value)
    assert "hunter" not in str(caught.value)
    assert Settings.model_validate({}).replica_urls == []
