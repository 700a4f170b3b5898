"""A primary and a standby that write down what they run, and replicas on them as the product has them."""

import re
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import asyncpg
from sqlalchemy import Integer, bindparam, func, select

from app.database import Database, HotStatement
from app.embedded import running
from app.replicas import Replicas, watched, written
from app.settings import Settings
from tests.knowledge_bases.indexes import until
from tests.standby import Standby, standby

T = TypeVar("T")
AT_ONCE = 1.5  # seconds, for a slow machine: less than a replica that hangs is waited for
SLEEP = HotStatement(select(func.pg_sleep(bindparam("seconds", type_=Integer()))))
WRITTEN = HotStatement(select(written().label("written")))
# A logged statement, to where the next thing is logged.
_STATEMENT = re.compile(
    r"^\d{4}-.*? \[\d+\] LOG:  (?:execute [^:]*|statement): (.*?)(?=^\d{4}-\d\d-\d\d |\Z)", re.MULTILINE | re.DOTALL
)


async def ask(url: str, sql: str) -> Any:
    """The first value of the first row."""
    connection = await asyncpg.connect(url, timeout=5)
    try:
        return await connection.fetchval(sql)
    finally:
        await connection.close()


async def timed(question: Awaitable[T]) -> tuple[T, float]:
    """What came of it, and the seconds that it took."""
    begin = time.monotonic()
    return await question, time.monotonic() - begin


def statements(log: Path, start: int = 0) -> list[str]:
    """What a server with `log_statement=all` ran since its log was `start` bytes long."""
    found: list[str] = _STATEMENT.findall(log.read_bytes()[start:].decode(errors="replace"))
    return found


@dataclass(frozen=True)
class Servers:
    """`url` and `log` are the primary's."""

    folder: Path
    url: str
    standby: Standby

    @property
    def log(self) -> Path:
        return self.folder / "data/postgres.log"

    async def until_equal(self) -> None:
        """Wait until the standby has all that the primary has."""

        async def equal() -> bool:
            position = await ask(self.url, "SELECT pg_current_wal_flush_lsn()::text")
            return bool(await ask(self.standby.url, f"SELECT pg_last_wal_replay_lsn() >= '{position}'"))

        await until(equal)

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """The standby has all, and replays nothing more until the end of the block."""
        await self.until_equal()
        await ask(self.standby.url, "SELECT pg_wal_replay_pause()")

        async def is_paused() -> bool:
            return bool(await ask(self.standby.url, "SELECT pg_get_wal_replay_pause_state() = 'paused'"))

        try:
            await until(is_paused)
            yield
        finally:
            await ask(self.standby.url, "SELECT pg_wal_replay_resume()")

    @contextmanager
    def killed(self) -> Iterator[None]:
        """The standby is dead, unless the block starts it. It runs again afterwards, whatever the test came to."""
        self.standby.kill()
        try:
            yield
        finally:
            self.standby.kill()
            self.standby.start()


@contextmanager
def two_servers() -> Iterator[Servers]:
    """The standby's searches are cut off as soon as they are in the way of its replay."""
    with tempfile.TemporaryDirectory(prefix="gctl-replicas-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # as root, the database runs as another user, who must get there
        with (
            running(folder / "data") as url,
            standby(url, log_statement="all", max_standby_streaming_delay="0") as second,
        ):
            yield Servers(folder, url, second)


@dataclass(frozen=True)
class Own:
    """Replicas without the rest of the product: what they are asked is up to the test."""

    primary: Database
    replicas: Replicas

    async def until_usable(self) -> None:
        async def usable() -> bool:
            return self.replicas.usable

        await until(usable)

    async def written(self) -> int:
        """The primary's position now."""
        (row,) = await self.primary.fetch(WRITTEN)
        position: int = row["written"]
        return position

    async def run(
        self, statement: HotStatement, position: int = 0, **parameters: object
    ) -> list[tuple[Any, ...]] | None:
        """Its rows on a replica; None if it is to be run on the primary."""

        async def on(database: Database) -> list[Any]:
            return [tuple(row) for row in await database.fetch(statement, **parameters)]

        return await self.replicas.search(position, on)


@asynccontextmanager
async def replicas_at(servers: Servers, *urls: str, **settings: object) -> AsyncIterator[Own]:
    """The replicas at these addresses; with none, the standby."""
    given = Settings.model_validate(settings)
    primary = Database(servers.url, given)
    async with watched(urls or (servers.standby.url,), primary, given) as replicas:
        yield Own(primary, replicas)
    await primary.close()
