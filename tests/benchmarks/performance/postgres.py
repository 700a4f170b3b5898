"""The benchmark's own PostgreSQL: the embedded one, with pg_stat_statements loaded, which counts only when it is told.

What it counts is read by name: a statement of ours has an identifier, which EXPLAIN shows whoever ran it.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg

from app.access.authorizers import DatabaseAuthorizer
from app.database import HotStatement
from app.embedded import running
from app.retrieval.repository import statement
from app.retrieval.sizes import _COUNT
from app.retrieval.statements import Form, scopes

# Its figures cost a little, so they are taken in runs of their own.
SETTINGS = {
    "shared_preload_libraries": "pg_stat_statements",
    "pg_stat_statements.track": "none",
    "pg_stat_statements.track_planning": "on",
}
RELOAD_SECONDS = 0.3  # until every process of the server has read its settings again
SEARCHES = {True: "search, reads in general", False: "search, by grants"}
NAMED = {
    **{name: statement(Form(words=True, open_read=open_read, sources=True)) for open_read, name in SEARCHES.items()},
    "read check": DatabaseAuthorizer._READABLE,
    "scopes": HotStatement(scopes()),
    "index size": _COUNT,
}
OTHERS = "all others"
# What is summed up for a name, and its column.
SUMS = {
    "calls": "calls",
    "plans": "plans",
    "plan": "total_plan_time",
    "mean": "total_exec_time",
    "rows": "rows",
    "hit": "shared_blks_hit",
    "read": "shared_blks_read",
}
FIGURES = """
SELECT queryid, calls, plans, total_plan_time, total_exec_time, max_exec_time, rows, shared_blks_hit, shared_blks_read
FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


@contextlib.asynccontextmanager
async def postgres(data_dir: Path) -> AsyncIterator[str]:
    """The URL of a server of a new data folder. What is to be preloaded takes a second start."""
    with running(data_dir) as url:
        await _run(url, *(f"ALTER SYSTEM SET {name} = '{value}'" for name, value in SETTINGS.items()))
    with running(data_dir) as url:
        await _run(url, "CREATE EXTENSION pg_stat_statements")
        yield url


async def _run(url: str, *commands: str) -> None:
    connection = await asyncpg.connect(url)
    for command in commands:
        await connection.execute(command)
    await connection.close()


async def identifiers(connection: asyncpg.Connection) -> dict[str, int]:
    """What pg_stat_statements calls the statements of NAMED in this database."""
    found = {}
    for name, named in NAMED.items():
        nothing = [None] * len(named.parameters)
        (plan,) = json.loads(await connection.fetchval(f"EXPLAIN (VERBOSE, FORMAT JSON) {named.sql}", *nothing))
        found[name] = plan["Query Identifier"]
    return found


@contextlib.asynccontextmanager
async def counting(url: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection to a server, be it a standby, that counts what all others run until the block ends."""
    connection = await asyncpg.connect(url)
    await connection.execute("SET pg_stat_statements.track = 'none'")
    try:
        await _count(connection, "all")
        yield connection
    finally:
        await _count(connection, "none")
        await connection.close()


async def _count(connection: asyncpg.Connection, which: str) -> None:
    await connection.execute(f"ALTER SYSTEM SET pg_stat_statements.track = '{which}'")
    await connection.execute("SELECT pg_reload_conf()")
    await asyncio.sleep(RELOAD_SECONDS)


async def forget(connection: asyncpg.Connection) -> None:
    """Count from 0."""
    await connection.execute("SELECT pg_stat_statements_reset()")


async def figures(connection: asyncpg.Connection) -> dict[str, dict[str, Any]]:
    """By the names of NAMED, without those that were not called: `calls`, `plans`, and of each call the ms that it took
    to `plan` and to run (`mean`, `max`), its `rows`, and the blocks that were found in memory (`hit`) or `read`.
    """
    names = {identifier: name for name, identifier in (await identifiers(connection)).items()}
    found: dict[str, dict[str, Any]] = {}
    for row in await connection.fetch(FIGURES):
        each = found.setdefault(names.get(row["queryid"], OTHERS), dict.fromkeys(SUMS, 0) | {"max": 0.0})
        for name, column in SUMS.items():
            each[name] += row[column]
        each["max"] = max(each["max"], row["max_exec_time"])
    for each in found.values():
        each.update({name: each[name] / max(1, each["calls"]) for name in ("plan", "mean", "rows", "hit", "read")})
    return {name: found[name] for name in (*NAMED, OTHERS) if name in found}
