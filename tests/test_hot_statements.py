"""The short way to the database: what becomes of its connections."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest
import pytest_asyncio
from sqlalchemy import ARRAY, Integer, bindparam, cast, func, literal, select, text

from app.database import Database, HotStatement
from app.services import Services, database_url
from app.settings import Settings

PID = HotStatement(select(func.pg_backend_pid().label("pid")))
SLEEP = HotStatement(select(func.pg_sleep(bindparam("seconds", type_=Integer()))))
WRONG = HotStatement(select(1 / bindparam("zero", type_=Integer())))


@pytest_asyncio.fixture
async def database(services: Services, settings: Settings) -> AsyncIterator[Database]:  # noqa: ARG001 the server runs
    """One connection: whatever is left on it meets the next statement."""
    own = Database(database_url(settings), settings.model_copy(update={"database_pool_size": 1}))
    yield own
    await own.close()


async def _pid(database: Database) -> int:
    (row,) = await database.fetch(PID)
    pid: int = row["pid"]
    return pid


async def test_a_connection_is_used_again(database: Database) -> None:
    assert await _pid(database) == await _pid(database)


async def test_a_connection_whose_server_went_away_is_replaced(database: Database, services: Services) -> None:
    before = await _pid(database)
    async with services.database.write() as session:
        assert await session.scalar(select(func.pg_terminate_backend(before, 5_000)))
    await asyncio.sleep(0.1)  # the end of the connection reaches the driver
    assert await _pid(database) != before
    async with database.read() as session:
        assert await session.scalar(select(1)) == 1


async def test_a_cancelled_statement_is_stopped_and_its_connection_not_used_again(database: Database) -> None:
    before = await _pid(database)
    for _ in range(3):
        running = asyncio.create_task(database.fetch(SLEEP, seconds=60))
        await asyncio.sleep(0.1)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    async with asyncio.timeout(5):
        assert await _pid(database) != before


async def test_a_statement_that_fails_leaves_its_connection_usable(database: Database) -> None:
    before = await _pid(database)
    with pytest.raises(asyncpg.DivisionByZeroError):
        await database.fetch(WRONG, zero=0)
    assert await _pid(database) == before


async def test_values_of_the_program_stand_in_the_text(database: Database) -> None:
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


async def test_a_statement_of_any_size_is_prepared_once(database: Database) -> None:
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
