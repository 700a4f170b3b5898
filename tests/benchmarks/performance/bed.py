"""What is measured on: an embedded database of its own, the corpus in it, and those who ask."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import asyncpg

from app.access.tokens import issue
from app.database import ANY_SIZE, KEPT_PLANS, PLANNER
from app.settings import Settings
from tests.benchmarks.performance import corpus
from tests.benchmarks.performance.corpus import Tenant
from tests.benchmarks.performance.rivals.plain import Plans

SECRET = "a secret for benchmarks, of 32 bytes and more"
GROUPS = tuple(f"group:g{number}" for number in range(5))
SIZES = (1_000, 10_000, 100_000, 200_000)


@dataclass(frozen=True)
class Caller:
    """Who asks: one subject and its groups."""

    name: str
    subject: str
    groups: tuple[str, ...] = ()

    @property
    def subjects(self) -> list[str]:
        return [self.subject, *self.groups]


OPEN = Caller("open", "user:open")
HUNDRED = Caller("100 grants", "user:hundred")
THOUSANDS = Caller("10,000 grants", "user:thousands")
GROUPED = Caller("100 grants of 5 groups", "user:grouped", GROUPS)
CALLERS = (OPEN, HUNDRED, THOUSANDS, GROUPED)


@dataclass
class Bed:
    """`small` has one knowledge base of 1,000 passages, beside which the data of others grows; `main` has `bases`."""

    url: str
    folder: Path
    main: Tenant
    small: Tenant = field(default_factory=lambda: Tenant(1, SIZES[0]))
    bases: dict[int, UUID] = field(default_factory=dict)

    @property
    def settings(self) -> Settings:
        return Settings.model_validate({"data_dir": self.folder, "jwt_secret": SECRET, "database_url": self.url})

    def token(self, caller: Caller) -> str:
        return issue(self.settings, caller.subject, self.main.name, caller.groups, timedelta(hours=10))

    async def connect(self) -> asyncpg.Connection:
        """A connection with the product's settings of the planner."""
        return await asyncpg.connect(self.url, server_settings=PLANNER)

    @contextlib.asynccontextmanager
    async def plans(self, url: str | None = None) -> AsyncIterator[Plans]:
        """Two connections with the product's settings, to this database or to one at another URL."""
        made, kept = [
            await asyncpg.connect(url or self.url, server_settings=settings, max_cacheable_statement_size=ANY_SIZE)
            for settings in (PLANNER, KEPT_PLANS)
        ]
        try:
            yield Plans(made, kept)
        finally:
            await made.close()
            await kept.close()

    async def fill_small(self, others: int) -> None:
        """The small knowledge base, and as many passages of other tenants."""
        connection = await self.connect()
        await corpus.fill(connection, [self.small, *[Tenant(2 + n, SIZES[0]) for n in range(others // SIZES[0])]])
        await corpus.knowledge_base(connection, self.small, 0, self.small.passages)
        await _open(connection, self.small)
        await corpus.settle(connection)
        await connection.close()

    async def fill_others(self, number: int, passages: int) -> None:
        """One more tenant, of that number, with so many passages."""
        connection = await self.connect()
        await corpus.fill(connection, [Tenant(number, passages)])
        await corpus.settle(connection)
        await connection.close()

    async def copied(self, name: str) -> str:
        """The URL of a new database of that name, which is as this one is now."""
        connection = await asyncpg.connect(self._of("postgres"))
        await connection.execute(f"CREATE DATABASE {name} TEMPLATE gctl STRATEGY FILE_COPY")
        await connection.close()
        return self._of(name)

    def _of(self, database: str) -> str:
        return self.url.replace("/gctl?", f"/{database}?")

    async def fill_main(self) -> None:
        connection = await self.connect()
        await corpus.fill(connection, [self.main])
        sizes = sorted({min(size, self.main.passages) for size in SIZES})
        for number, size in enumerate(sizes):
            self.bases[size] = await corpus.knowledge_base(connection, self.main, number, size)
        await _open(connection, self.main)
        await corpus.allow(connection, self.main, HUNDRED.subject, range(100))
        await corpus.allow(connection, self.main, THOUSANDS.subject, range(min(10_000, self.main.sources)))
        for number, group in enumerate(GROUPS):
            await corpus.allow(connection, self.main, group, range(number * 20, number * 20 + 20))
        await corpus.settle(connection)
        await connection.close()


async def _open(connection: asyncpg.Connection, tenant: Tenant) -> None:
    await connection.execute(
        "INSERT INTO workspace_grants (workspace_id, subject, workspace_read_until) VALUES ($1, $2, 'infinity')",
        *(tenant.id, OPEN.subject),
    )
