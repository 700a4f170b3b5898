"""Bring a database to the tables that this code expects. Migrations only move forward."""

import asyncio
from importlib.resources import files
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, func, select
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from app.database import driver_url

# Any number that no other application on the same database is likely to use.
MIGRATION_LOCK = 7_236_428_001
LOCK_POLL_SECONDS = 0.1


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(str(files("migrations")))))
    config.attributes["connection"] = connection
    return config


def head() -> str:
    """The revision that this code expects."""
    revision = ScriptDirectory.from_config(_config()).get_current_head()
    assert revision is not None
    return revision


def current(connection: Connection) -> str | None:
    """The revision that the database has; None for an empty one."""
    return MigrationContext.configure(connection).get_current_revision()


async def migrate(url: str) -> tuple[str | None, str]:
    """Run what is missing. Returns the revision before and after. Any number of processes may call it at once.

    It uses connections without the server's statement timeout: an index may take long to build.
    """
    engine = create_async_engine(driver_url(url), connect_args={"server_settings": {"lock_timeout": "5s"}})
    try:
        async with engine.connect() as lock, engine.connect() as connection:
            await _wait_for_lock(lock)
            before = await connection.run_sync(current)
            await connection.rollback()
            await connection.run_sync(_upgrade)
            return before, head()
    finally:
        await engine.dispose()


async def _wait_for_lock(connection: AsyncConnection) -> None:
    """Ask again and again: a statement that waits would hold up index builds that run concurrently."""
    await connection.execution_options(isolation_level="AUTOCOMMIT")
    while not await connection.scalar(select(func.pg_try_advisory_lock(MIGRATION_LOCK))):  # noqa: ASYNC110 no event
        await asyncio.sleep(LOCK_POLL_SECONDS)


def _upgrade(connection: Connection) -> None:
    command.upgrade(_config(connection), "head")
    connection.commit()
