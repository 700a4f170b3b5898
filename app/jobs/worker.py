"""The worker: finds rows that need work, claims them one at a time, and does them.

It runs inside of `gctl serve`, or alone as `gctl worker`; any number of them may run on one database. A notification
wakes it at once; if one is missed, it looks by itself every few seconds.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import asyncpg
import structlog
from sqlalchemy import ColumnElement, and_, select
from sqlalchemy.exc import SQLAlchemyError

from app.database import WORK_CHANNEL, Database
from app.jobs import indexes, purging, versions
from app.jobs.claims import Claim, ClaimLostError, claim, due, renewed
from app.library.files import FileStore
from app.models import SearchIndex, Source, SourceVersion
from app.settings import Settings

log = structlog.get_logger(__name__)

DATABASE_ERRORS = (OSError, asyncpg.PostgresError, SQLAlchemyError)
MOST_ATTEMPTS = 5
GAVE_UP = "It could not be done in {attempts} attempts. The server's log says why. Ask for it again."


@dataclass(frozen=True)
class Kind:
    """One kind of job: which rows are jobs, what is done with one, and what is written when it was tried in vain.

    Without a `give_up` it is tried for ever, with longer and longer pauses.
    """

    name: str
    table: Any
    needs_work: ColumnElement[bool]
    run: Callable[[Claim[Any]], Awaitable[None]]
    give_up: Callable[[Claim[Any], str], Awaitable[None]] | None


class Worker:
    """Does the jobs of one database. `files` is where the versions' files are."""

    def __init__(self, database: Database, files: FileStore, settings: Settings) -> None:
        self._database = database
        self._lease = timedelta(seconds=settings.job_lease_seconds)
        self._poll = settings.job_poll_seconds
        self._wake = asyncio.Event()
        self.kinds = (
            Kind(
                "version",
                SourceVersion,
                versions.NEEDS_WORK,
                lambda c: versions.read_version(database, files, settings, c),
                lambda c, reason: versions.fail_version(database, c, reason),
            ),
            Kind(
                "index",
                SearchIndex,
                indexes.NEEDS_WORK,
                lambda c: indexes.build_index(database, files, c),
                lambda c, reason: indexes.fail_index(database, c, reason),
            ),
            Kind("source", Source, purging.SOURCE_NEEDS_WORK, lambda c: purging.purge_source(database, files, c), None),
            Kind("retired", SearchIndex, purging.INDEX_NEEDS_WORK, lambda c: purging.drop_index(database, c), None),
        )

    async def run(self) -> None:
        """Work until cancelled. A job that is cut off is claimed again when its lease runs out."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._listen())
            for kind in self.kinds:
                tasks.create_task(self._serve(kind))

    async def run_until_idle(self) -> None:
        """Do all that is due now, one job after the other, and what becomes due meanwhile."""
        while any([await self._run_due(kind) for kind in self.kinds]):
            pass

    async def run_version(self, workspace_id: UUID, version_id: UUID) -> None:
        """Do the job of one version now, unless somebody else is at it."""
        await self._run_one(self.kinds[0], workspace_id, SourceVersion.id == version_id)

    async def _serve(self, kind: Kind) -> None:
        while True:
            try:
                busy = await self._run_due(kind)
            except DATABASE_ERRORS as error:
                log.warning("worker_waits_for_database", kind=kind.name, error=type(error).__name__)
                busy = False
            if not busy:
                await self._sleep()

    async def _sleep(self) -> None:
        try:
            async with asyncio.timeout(self._poll):
                await self._wake.wait()
        except TimeoutError:
            return

    async def _run_due(self, kind: Kind) -> bool:
        """Do one due job of each workspace that has any. Whether there was one."""
        async with self._database.read() as session:
            workspaces = (
                await session.scalars(
                    select(kind.table.workspace_id).where(due(kind.table, kind.needs_work)).distinct().limit(1_000)
                )
            ).all()
        return any([await self._run_one(kind, workspace_id) for workspace_id in workspaces])

    async def _run_one(self, kind: Kind, workspace_id: UUID, *only: ColumnElement[bool]) -> bool:
        """Claim and do one job. Whether there was one to claim."""
        condition = and_(due(kind.table, kind.needs_work), *only)
        claimed = await claim(self._database, kind.table, condition, workspace_id, self._lease)
        if claimed is None:
            return False
        with structlog.contextvars.bound_contextvars(job=kind.name, id=str(claimed.id), attempt=claimed.attempt):
            try:
                async with renewed(self._database, claimed, self._lease):
                    await kind.run(claimed)
                log.info("job_done")
            except ClaimLostError:
                log.warning("job_lost")
            except Exception:
                log.exception("job_failed")
                await self._put_back(kind, claimed)
        return True

    async def _put_back(self, kind: Kind, claimed: Claim[Any]) -> None:
        try:
            if claimed.attempt >= MOST_ATTEMPTS and kind.give_up is not None:
                await kind.give_up(claimed, GAVE_UP.format(attempts=claimed.attempt))
                return
            async with self._database.write() as session:
                await claimed.release(session)
        except ClaimLostError:
            log.warning("job_lost")

    async def _listen(self) -> None:
        """Wake the others when a job is announced. Without a connection they still look every few seconds."""
        while True:
            try:
                await self._listen_on_connection()
            except DATABASE_ERRORS:
                await asyncio.sleep(self._poll)

    async def _listen_on_connection(self) -> None:
        closed = asyncio.Event()
        async with self._database.engine.connect() as connection:
            driver = (await connection.get_raw_connection()).driver_connection
            assert driver is not None
            driver.add_termination_listener(lambda _: closed.set())
            try:
                await driver.add_listener(WORK_CHANNEL, lambda *_: self._announce())
                await closed.wait()
            finally:
                await connection.invalidate()  # a connection that listens is of no other use

    def _announce(self) -> None:
        self._wake.set()
        self._wake.clear()
