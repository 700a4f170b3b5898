"""The short way to the database: what becomes of its connections."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import asyncpg
import pytest
import pytest_asyncio
from sqlalchemy import ARRAY, Integer, Select, bindparam, cast, func, literal, select, text
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from app.database import Database, HotStatement, Record
from app.services import Services, database_url
from app.settings import Settings

PID = select(func.pg_backend_pid().label("pid"))
SLEEP = select(func.pg_sleep(bindparam("seconds", type_=Integer())))
WRONG = select(1 / bindparam("zero", type_=Integer()))


class Hot(Database):
    """One connection for statements of either kind: whatever is left on it meets the next one."""

    keep_plan: bool

    async def run(self, statement: Select[Any], **parameters: object) -> Sequence[Record]:
        return await self.fetch(HotStatement(statement, keep_plan=self.keep_plan), **parameters)


@pytest_asyncio.fixture(params=[True, False], ids=["kept", "pooled"])
async def database(services: Services, settings: Settings, request: pytest.FixtureRequest) -> AsyncIterator[Hot]:  # noqa: ARG001 the server runs
    own = Hot(database_url(settings), settings.model_copy(update={"database_pool_size": 1}), pool_seconds=0.3)
    own.keep_plan = request.param
    yield own
    await own.close()


async def _pid(database: Hot) -> int:
    (row,) = await database.run(PID)
    pid: int = row["pid"]
    return pid


async def test_a_connection_is_used_again(database: Hot) -> None:
    assert await _pid(database) == await _pid(database)


async def test_a_connection_whose_server_went_away_is_replaced(database: Hot, services: Services) -> None:
    before = await _pid(database)
    async with services.database.write() as session:
        assert await session.scalar(select(func.pg_terminate_backend(before, 5_000)))
    await asyncio.sleep(0.1)  # the end of the connection reaches the driver
    assert await _pid(database) != before
    async with database.read() as session:
        assert await session.scalar(select(1)) == 1


async def test_a_cancelled_statement_is_stopped_and_its_connection_not_used_again(database: Hot) -> None:
    before = await _pid(database)
    for _ in range(3):
        running = asyncio.create_task(database.run(SLEEP, seconds=60))
        await asyncio.sleep(0.1)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    async with asyncio.timeout(5):
        assert await _pid(database) != before


async def test_a_statement_that_fails_leaves_its_connection_usable(database: Hot) -> None:
    before = await _pid(database)
    with pytest.raises(asyncpg.DivisionByZeroError):
        await database.run(WRONG, zero=0)
    assert await _pid(database) == before


async def test_who_waits_too_long_for_a_connection_is_told_so(database: Hot) -> None:
    before = await _pid(database)
    running = asyncio.create_task(database.run(SLEEP, seconds=1))
    await asyncio.sleep(0.1)
    with pytest.raises(PoolTimeoutError):
        await database.run(PID)
    await running
    waiting = [asyncio.create_task(_pid(database)) for _ in range(5)]
    assert set(await asyncio.gather(*waiting)) == {before}


async def test_who_gives_up_waiting_takes_no_connection_along(database: Hot) -> None:
    before = await _pid(database)
    running = asyncio.create_task(database.run(SLEEP, seconds=1))
    await asyncio.sleep(0.1)
    waiting = asyncio.create_task(database.run(PID))
    await asyncio.sleep(0.1)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await running
    assert await _pid(database) == before


async def test_closing_ends_the_connections(database: Hot, services: Services) -> None:
    pid = await _pid(database)
    await database.close()
    async with services.database.read() as session:
        alive = select(func.count()).select_from(text("pg_stat_activity")).where(text("pid = :pid"))
        assert await session.scalar(alive, {"pid": pid}) == 0


async def test_values_of_the_program_stand_in_the_text(database: Hot) -> None:
    statement = HotStatement(
        select(
            bindparam("number", type_=Integer()) * 2.5,
            literal("it's {'a'}"),
            literal(True),
            literal(None, Integer()),
            cast([], ARRAY(Integer())),
        )
    )
    assert statement.parameters == ("number",)
    (row,) = await database.fetch(statement, number=3)
    assert tuple(row) == (7.5, "it's {'a'}", True, None, [])
    with pytest.raises(KeyError):
        await database.fetch(statement)


async def test_a_statement_of_any_size_is_prepared_once(database: Hot) -> None:
    long = HotStatement(select(func.pg_backend_pid().label("pid"), literal("x" * 50_000)))
    prepared = HotStatement(
        select(func.count().label("count"))
        .select_from(text("pg_prepared_statements"))
        .where(text("length(statement) > 50000"))
    )
    for _ in range(2):
        await database.fetch(long)
        assert (await database.fetch(prepared))[0]["count"] == 1


@pytest.mark.parametrize("keep_plan", [True, False])
async def test_a_plan_is_kept_only_where_that_is_asked(services: Services, settings: Settings, keep_plan: bool) -> None:
    sought = HotStatement(
        select(literal("a sought statement"), bindparam("number", type_=Integer())), keep_plan=keep_plan
    )
    plans = HotStatement(
        select(text("generic_plans, custom_plans"))
        .select_from(text("pg_prepared_statements"))
        .where(text("statement LIKE '%a sought statement%'")),
        keep_plan=keep_plan,
    )
    own = Database(services.database.url.render_as_string(False), settings.model_copy(update={"database_pool_size": 2}))
    for number in range(8):
        await own.fetch(sought, number=number)
    ((generic, custom),) = [row for row in await own.fetch(plans) if sum(row) == 8]
    await own.close()
    assert (generic, custom) == ((8, 0) if keep_plan else (0, 8))
