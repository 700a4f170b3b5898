"""Read replicas: streaming standbys of the primary, which searches may run on in its place (docs/operating.md).

A replica is used while it answers, is a standby of this very database, and has replayed what the caller counts on. How
far it has come is remembered, so a primary at rest costs no further statement: a standby only goes forward, unless it
is started again, and that takes new connections. Whoever is at the other end of a new one is asked before it is used.

What fails on a replica fails nobody: the caller goes on at the primary, and the replica is out until a probe got an
answer from it.
"""

import asyncio
import itertools
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from time import monotonic
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import asyncpg
import structlog
from sqlalchemy import BigInteger, ColumnElement, case, cast, column, event, func, literal_column, select, table
from sqlalchemy.engine import AdaptedConnection
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.database import Database, HotStatement
from app.settings import Settings

log = structlog.stdlib.get_logger(__name__)
T = TypeVar("T")

PROBE_SECONDS = 1.0
# A replica that hangs is given up after this. A search takes a second at the very worst (docs/performance.md), and of
# the ten that an operation may take the primary must still have its own five.
ANSWER_SECONDS = 2.0
CONNECT_SECONDS = 1.0
# Of the time that replicas may be behind, the primary's position is remembered at this many moments.
MOMENTS = 20


def _number(position: ColumnElement[Any]) -> ColumnElement[int]:
    """A position in the write-ahead log, in bytes."""
    return cast(func.pg_wal_lsn_diff(position, literal_column("'0/0'::pg_lsn")), BigInteger)


def written() -> ColumnElement[int]:
    """Asked of the primary: a position behind all that was committed before the statement began.

    A commit can be seen once it was flushed; where commits are asynchronous, once it was inserted.
    """
    asynchronous = func.current_setting("synchronous_commit") == "off"
    return _number(case((asynchronous, func.pg_current_wal_insert_lsn()), else_=func.pg_current_wal_flush_lsn()))


_databases = table("pg_database", column("oid"), column("datname"))
_STANDING = HotStatement(
    select(
        func.pg_is_in_recovery().label("standby"),
        select(column("system_identifier")).select_from(func.pg_control_system()).scalar_subquery().label("cluster"),
        select(_databases.c.oid)
        .where(_databases.c.datname == func.current_database())
        .scalar_subquery()
        .label("database"),
        func.pg_postmaster_start_time().label("started"),
        func.coalesce(_number(func.pg_last_wal_replay_lsn()), 0).label("replayed"),
    )
)


class _Identity(NamedTuple):
    """One database of one cluster: a standby's are those of its primary, and so are then all its migrations."""

    cluster: int
    database: int


class _WrongServerError(Exception):
    """What answers at the address is no standby of this database. The message says what it is."""


class Replica:
    """One standby, with its own connections."""

    def __init__(self, number: int, url: str, settings: Settings, identity: _Identity) -> None:
        self._number = number
        self._identity = identity
        longest = min(settings.statement_timeout_ms, int(ANSWER_SECONDS * 1_000))
        self._database = Database(
            url,
            settings.model_copy(update={"statement_timeout_ms": longest}),
            connect_seconds=CONNECT_SECONDS,
            pool_seconds=0,
        )
        for engine in self._database.engines:
            event.listen(engine.sync_engine, "connect", self._greet, insert=True)
        # Those of the driver, and when the server that answers there was started, once that is known.
        self._connections: WeakKeyDictionary[Any, datetime | None] = WeakKeyDictionary()
        self._greeted = 0
        self._replayed = 0
        # None: it is in use. Else what was logged last.
        self._out_because: str | None = "It was not asked yet."

    @property
    def usable(self) -> bool:
        return self._out_because is None

    def has_replayed(self, position: int) -> bool:
        """As far as is known."""
        return self._replayed >= position

    async def asked_has_replayed(self, position: int) -> bool:
        """Asks it, if that is not known. False also if it fails, or has no connection to spare."""
        if not self.has_replayed(position):
            with self._guarded():
                await self._ask()
        return self.has_replayed(position)

    async def search(self, position: int, run: Callable[[Database], Awaitable[T | None]]) -> T | None:
        """What `run` finds here; None if that fails, cannot be said to hold all up to `position`, or would have to wait
        for a connection.
        """
        found = None
        with self._guarded():
            found = await run(self._database)
        # Less is known now if `run` made a connection, and met a server that was started again.
        return found if self.has_replayed(position) else None

    async def watch(self) -> None:
        """Ask it every second, for good. Where all connections are in use, their users notice if it fails."""
        while True:
            with self._guarded():
                await self._ask()
                self._come_in()
            await asyncio.sleep(PROBE_SECONDS)

    async def close(self) -> None:
        self.hang_up()
        await self._database.close()

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """What fails in the block, or takes too long, puts the replica out and goes no further. A cancellation does
        neither.
        """
        timer = asyncio.get_running_loop().call_later(ANSWER_SECONDS, self._give_up)
        try:
            yield
        except PoolTimeout:
            pass  # all connections are in use: it is busy and well
        except Exception as error:
            self._go_out(error)
        finally:
            timer.cancel()

    async def _ask(self) -> None:
        greeted = self._greeted
        (row,) = await self._database.fetch(_STANDING)
        self._judge(row)
        if self._greeted == greeted:  # else it may be of the time before a restart
            self._replayed = max(self._replayed, row["replayed"])

    def _judge(self, row: Any) -> None:
        if not row["standby"]:
            raise _WrongServerError("It is no standby.")
        if _Identity(row["cluster"], row["database"]) != self._identity:
            raise _WrongServerError("It is a standby of another database.")

    def _greet(self, connection: AdaptedConnection, *_: object) -> None:
        """Of a new connection: what it leads to, and how far that is, which may be less than was known.

        All connections lead to one server, in one life of it, or what one of them says would not hold for the others.
        """
        driver = connection.driver_connection
        assert driver is not None
        self._connections[driver] = None
        try:
            row = connection.run_async(lambda to: to.fetchrow(_STANDING.sql, *_STANDING.arguments({})))
            self._judge(row)
        except BaseException:
            driver.terminate()  # the pool does not know it yet
            raise
        for other, started in list(self._connections.items()):
            if started not in (None, row["started"]):
                other.terminate()
        self._connections[driver] = row["started"]
        self._greeted += 1
        self._replayed = row["replayed"]

    def _come_in(self) -> None:
        if self._out_because is not None:
            self._out_because = None
            log.info("replica_in", replica=self._number)

    def _give_up(self) -> None:
        self._go_out(TimeoutError(f"No answer within {ANSWER_SECONDS:g} s."))

    def _go_out(self, error: Exception) -> None:
        """Out until the next probe that succeeds. Said once; by its number, as the address may hold a password."""
        wrong = isinstance(error, _WrongServerError)
        because = str(error) if wrong else "It does not answer."
        if because != self._out_because:
            detail = None if wrong else f"{type(error).__name__}: {error}"
            log.warning("replica_out", replica=self._number, because=because, detail=detail)
        self._out_because = because
        if not isinstance(error, asyncpg.PostgresError):
            self.hang_up()

    def hang_up(self) -> None:
        """End all connections: whoever waits for an answer goes on at once, and none is used that leads nowhere."""
        for driver in list(self._connections):
            driver.terminate()


class Replicas:
    """The replicas of one process. With none, or none that is usable, searches run on the primary."""

    def __init__(self, replicas: Sequence[Replica], lag_seconds: float) -> None:
        self._replicas = replicas
        self._turns = itertools.count()
        self._lag = lag_seconds
        self._positions: deque[tuple[float, int]] = deque()

    @property
    def usable(self) -> bool:
        return any(replica.usable for replica in self._replicas)

    @property
    def may_lag(self) -> bool:
        """Whether what they say may be older than what the primary says."""
        return self._lag > 0

    async def search(self, position: int, run: Callable[[Database], Awaitable[T | None]]) -> T | None:
        """What `run` finds on one of them, in turn, that has replayed enough; None if there is none, or it fails.

        `position`: the primary's now (see `written`). After a failure no other is tried: a request waits once.
        """
        position = self._required(position)
        for replica in self._in_turn(position):
            reached = await replica.asked_has_replayed(position)
            if not replica.usable:
                return None
            if reached:
                return await replica.search(position, run)
        return None

    def _in_turn(self, position: int) -> list[Replica]:
        """Those that need not be asked come first."""
        usable = [replica for replica in self._replicas if replica.usable]
        first = next(self._turns) % max(1, len(usable))
        return sorted(usable[first:] + usable[:first], key=lambda replica: not replica.has_replayed(position))

    def _required(self, position: int) -> int:
        """The earliest position of the primary that was its last one at some moment of the time they may be behind."""
        if not self.may_lag:
            return position
        now, known = monotonic(), self._positions
        if not known or known[-1][0] <= now - self._lag / MOMENTS:
            known.append((now, position))
        while known[0][0] < now - self._lag:
            known.popleft()
        return known[0][1]


@asynccontextmanager
async def watched(urls: Sequence[str], primary: Database, settings: Settings) -> AsyncIterator[Replicas]:
    """The replicas at these addresses, probed as long as the block runs. None is waited for: they come in by and by."""
    if not urls:
        yield Replicas((), 0)
        return
    (row,) = await primary.fetch(_STANDING)
    identity = _Identity(row["cluster"], row["database"])
    replicas = [Replica(number, url, settings, identity) for number, url in enumerate(urls, 1)]
    probes = [asyncio.create_task(replica.watch()) for replica in replicas]
    try:
        yield Replicas(replicas, settings.replica_lag_seconds)
    finally:
        for replica, probe in zip(replicas, probes, strict=True):
            replica.hang_up()  # or the end of a probe would wait for a replica that hangs
            probe.cancel()
        await asyncio.gather(*probes, return_exceptions=True)
        for replica in replicas:
            await replica.close()
