"""Connections: what reads, what writes, and the short way for the statements of a retrieval.

A write is one transaction, committed by whoever opened it when its block ends, and rolled back if the block raises.
A read sees one state of the data and cannot write. A hot statement is compiled once and runs on the driver's
connection (measured: 0.2 ms of CPU instead of 0.6 through a session).
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, NewType, TypeAlias, cast

import asyncpg
from sqlalchemy import URL, BindParameter, ColumnElement, Select, event, func, literal_column, make_url, select, text
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import asyncpg as asyncpg_dialect
from sqlalchemy.engine import AdaptedConnection
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.pool import PoolProxiedConnection
from sqlalchemy.sql.visitors import replacement_traverse
from sqlalchemy.util import greenlet_spawn

from app.settings import Settings

ReadSession = NewType("ReadSession", AsyncSession)
# The driver's row: read it by column name.
Record: TypeAlias = asyncpg.Record
WriteSession = NewType("WriteSession", AsyncSession)

# For plans only: no statement's meaning depends on a setting. Parameters differ too much for one plan to fit all. What
# is searched is mostly in memory, where a page costs a twentieth of what PostgreSQL takes it for. It would rather read
# the access rows of a whole workspace than look up those of 500 matches (measured: 4.2 ms in place of 2.1).
PLANNER = {
    "random_page_cost": "0.05",
    "seq_page_cost": "0.05",
    "plan_cache_mode": "force_custom_plan",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "work_mem": "16MB",
}
# Of statements that look up a few rows by their keys, planning is the greater part. Theirs are planned once on each
# connection, when a table may yet be small; it is not to be read whole when it has grown.
KEPT_PLANS = PLANNER | {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off"}
CONNECT_SECONDS = 5.0
# The driver keeps prepared what is at most 15 kB long. The search for any word is longer, and was prepared each time.
ANY_SIZE = 0
WORK_CHANNEL = "gctl_work"
_DIALECT = asyncpg_dialect.dialect()  # type: ignore[no-untyped-call] # SQLAlchemy's


class HotStatement:
    """A read, written in Core, compiled once. Parameters are named, and every one must be given.

    Values that are known when it is written stand in its text: of a search's 26 parameters they were eleven.
    `keep_plan`: the way to its rows is the same whatever the parameters.
    """

    def __init__(self, statement: Select[*tuple[Any, ...]], *, keep_plan: bool = False) -> None:
        self.keep_plan = keep_plan
        whole = cast("Select[*tuple[Any, ...]]", replacement_traverse(statement, {}, _written_out))
        compiled = whole.compile(dialect=_DIALECT, compile_kwargs={"render_postcompile": True})
        self.sql = str(compiled)
        self.parameters = tuple(compiled.positiontup or ())

    def arguments(self, given: dict[str, object]) -> list[object]:
        """The positional arguments of the driver. KeyError for a parameter that was not given."""
        return [given[name] for name in self.parameters]


def _written_out(element: object, **_: object) -> ColumnElement[Any] | None:
    """A value of the program's own in place of a parameter; None leaves what comes with each call."""
    if not isinstance(element, BindParameter) or element.required:
        return None
    value = element.compile(dialect=_DIALECT, compile_kwargs={"literal_binds": True})
    return sql_cast(literal_column(str(value)), element.type)


class Database:
    """One PostgreSQL server's connections, and half as many more for statements whose plans are kept.

    `connect_seconds`: how long a new connection may take; `pool_seconds`: how long one waits for a free one.
    """

    def __init__(
        self,
        url: str,
        settings: Settings,
        *,
        connect_seconds: float = CONNECT_SECONDS,
        pool_seconds: float = CONNECT_SECONDS,
    ) -> None:
        self.url = driver_url(url)
        kept = max(1, settings.database_pool_size // 2)
        seconds = connect_seconds, pool_seconds
        self.engine = self._engine(PLANNER, settings.database_pool_size, settings, *seconds)
        self._kept = _KeptConnections(self._engine(KEPT_PLANS, kept, settings, *seconds), kept, pool_seconds)
        self._reads = self.engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    def _engine(
        self, planner: dict[str, str], pool_size: int, settings: Settings, connect_seconds: float, pool_seconds: float
    ) -> AsyncEngine:
        engine = create_async_engine(
            self.url,
            pool_size=pool_size,
            max_overflow=0,
            hide_parameters=True,  # texts and queries do not belong in logs
            pool_timeout=pool_seconds,
            connect_args={
                "server_settings": planner | {"statement_timeout": str(settings.statement_timeout_ms)},
                "timeout": connect_seconds,
                "max_cacheable_statement_size": ANY_SIZE,
            },
        )
        event.listen(engine.sync_engine, "checkout", _refuse_dead)
        return engine

    @property
    def engines(self) -> set[AsyncEngine]:
        """Those that have connections."""
        return {self.engine, self._kept.engine}

    async def close(self) -> None:
        await self.engine.dispose()
        await self._kept.close()

    @asynccontextmanager
    async def read(self, *, patient: bool = False) -> AsyncIterator[ReadSession]:
        """A session that sees one state and cannot write. `patient` as in `write`."""
        async with AsyncSession(self._reads, expire_on_commit=False) as session:
            if patient:
                await session.execute(text("SET LOCAL statement_timeout = 0"))
            yield ReadSession(session)

    @asynccontextmanager
    async def write(self, *, patient: bool = False) -> AsyncIterator[WriteSession]:
        """One transaction: committed when the block ends, rolled back when it raises.

        `patient` is for jobs: their statements are not held to the time limit of a person's.
        """
        async with AsyncSession(self.engine, expire_on_commit=False) as session, session.begin():
            if patient:
                await session.execute(text("SET LOCAL statement_timeout = 0"))
            yield WriteSession(session)

    async def fetch(self, statement: HotStatement, **parameters: object) -> Sequence[Record]:
        """Run a hot statement on its own, in a transaction of one statement."""
        arguments = statement.arguments(parameters)
        if statement.keep_plan:
            return await self._kept.fetch(statement.sql, arguments)
        # What `engine.connect` does around this costs 70 µs of the 200 that a short statement takes.
        connection = await greenlet_spawn(self.engine.sync_engine.raw_connection)
        try:
            return await _fetch(connection, _driver(connection), statement.sql, arguments)
        finally:
            connection.close()  # sends nothing: no transaction of ours is open


class _KeptConnections:
    """Connections of a pool that nobody else uses: they stay out. Handing one back takes longer than most of them work.

    (Measured: 36 µs of CPU for a short statement, 88 with the pool's part, 98 with asyncpg's own pool.)
    """

    def __init__(self, engine: AsyncEngine, size: int, wait_seconds: float) -> None:
        self.engine = engine
        self._free = asyncio.Semaphore(size)
        self._wait_seconds = wait_seconds
        self._idle: list[_Kept] = []

    async def fetch(self, sql: str, arguments: Sequence[object]) -> Sequence[Record]:
        """Raises SQLAlchemy's TimeoutError, as a pool does, when none came free in time."""
        if self._free.locked():
            try:
                await asyncio.wait_for(self._free.acquire(), self._wait_seconds)
            except TimeoutError:
                raise PoolTimeoutError("No connection came free.") from None
        else:
            await self._free.acquire()
        try:
            kept = await self._take()
            try:
                return await _fetch(*kept, sql, arguments)
            finally:
                self._idle.append(kept)
        finally:
            self._free.release()

    async def _take(self) -> "_Kept":
        while self._idle:
            kept = self._idle.pop()
            if kept.pooled.is_valid and not kept.driver.is_closed():
                return kept
            kept.pooled.close()  # the pool finds that it is dead, and replaces it
        pooled = await greenlet_spawn(self.engine.sync_engine.raw_connection)
        return _Kept(pooled, _driver(pooled))

    async def close(self) -> None:
        while self._idle:
            self._idle.pop().pooled.close()
        await self.engine.dispose()


class _Kept(NamedTuple):
    """A connection of the pool, and the driver's behind it: to ask for that takes a while."""

    pooled: PoolProxiedConnection
    driver: Any


async def _fetch(
    connection: PoolProxiedConnection, driver: Any, sql: str, arguments: Sequence[object]
) -> Sequence[Record]:
    try:
        rows: list[Record] = await driver.fetch(sql, *arguments)
    except asyncio.CancelledError:
        # The driver asks the server to stop the statement; a connection in that state is not used again.
        await greenlet_spawn(connection.invalidate)
        raise
    return rows


def _driver(connection: PoolProxiedConnection) -> Any:
    assert connection.driver_connection is not None
    return connection.driver_connection


def _refuse_dead(connection: AdaptedConnection, *_: object) -> None:
    """The pool connects anew in place of a connection whose server went away while nobody used it."""
    if connection.driver_connection.is_closed():
        raise DisconnectionError


async def announce_work(session: WriteSession) -> None:
    """Wake the workers when this transaction commits. It only hastens: they look by themselves every few seconds."""
    await session.execute(select(func.pg_notify(WORK_CHANNEL, "")))


def driver_url(url: str) -> URL:
    """A postgresql:// address for SQLAlchemy and asyncpg, libpq's `sslmode` in the driver's word."""
    parsed = make_url(url).set(drivername="postgresql+asyncpg")
    if "sslmode" in parsed.query:
        query = dict(parsed.query)
        query["ssl"] = query.pop("sslmode")
        parsed = parsed.set(query=query)
    return parsed
