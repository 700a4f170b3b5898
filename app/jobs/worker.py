"""The worker: finds rows that need work, claims them one at a time, and does them.

It runs inside of `gctl serve`, or alone as `gctl worker`; any number of them may run on one database. A notification
wakes it at once; if one is missed, it looks by itself every few seconds. Nothing that goes wrong ends it: a job that
fails is tried again, and without a database it waits for one.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

import structlog
from sqlalchemy import ColumnElement, and_, select
from sqlalchemy.exc import SQLAlchemyError

from app.database import WORK_CHANNEL, Database
from app.jobs import files as kept_files
from app.jobs import indexes, purging, versions
from app.jobs.claims import Claim, ClaimLostError, claim, due, renewed, unclaimed
from app.knowledge_bases.preparing import Preparer
from app.knowledge_bases.upkeep import clean_pending_postings
from app.library.files import FileStore
from app.models import SearchIndex, Source, SourceVersion
from app.settings import Settings

log = structlog.get_logger(__name__)

DATABASE_ERRORS = (OSError, SQLAlchemyError)
MOST_ATTEMPTS = 5
GAVE_UP = "It could not be done in {attempts} attempts. The server's log says why. Ask for it again."
# What is cut off by the end of the process is given back to the other workers, if the database takes it that fast.
HAND_BACK_SECONDS = 5.0
# A search reads what waits to enter the index row by row: rows that trickle in are put in order this often.
UPKEEP_SECONDS = 60.0


@dataclass(frozen=True)
class Kind:
    """One kind of job: which rows are jobs, what is done with one, and what is written when it was tried in vain.

    Without a `give_up` it is tried for ever, with longer and longer pauses.
    """

    name: str
    table: Any
    needs_work: ColumnElement[bool]
    run: Callable[[Claim[Any]], Awaitable[None]]
    give_up: Callable[[Claim[Any], str], Awaitable[None]] | None = None
    wake: asyncio.Event = field(default_factory=asyncio.Event)


class Worker:
    """Does the jobs of one database. `files` is where the versions' files are."""

    def __init__(self, database: Database, files: FileStore, settings: Settings) -> None:
        self._database = database
        self._lease = timedelta(seconds=settings.job_lease_seconds)
        self._poll = settings.job_poll_seconds
        self._preparer = Preparer()
        self.kinds = (
            Kind(
                "version",
                SourceVersion,
                versions.NEEDS_WORK,
                lambda c: versions.read_version(database, files, settings, self._preparer, c),
                lambda c, reason: versions.fail_version(database, c, reason),
            ),
            Kind(
                "index",
                SearchIndex,
                indexes.NEEDS_WORK,
                lambda c: indexes.build_index(database, files, c),
                lambda c, reason: indexes.fail_index(database, c, reason),
            ),
            Kind("source", Source, purging.SOURCE_NEEDS_WORK, lambda c: purging.purge_source(database, files, c)),
            Kind("retired", SearchIndex, purging.INDEX_NEEDS_WORK, lambda c: purging.drop_index(database, c)),
            Kind("files", SearchIndex, kept_files.NEEDS_WORK, lambda c: kept_files.collect(database, files, c)),
        )

    def close(self) -> None:
        """End what the worker started. It runs no more."""
        self._preparer.close()

    async def run(self) -> None:
        """Work until cancelled. A job that is cut off is given back; that of a process that dies waits its lease."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._listen())
            tasks.create_task(self._keep_up())
            for kind in self.kinds:
                tasks.create_task(self._serve(kind))

    async def run_until_idle(self) -> None:
        """Do all that is due now, one job after the other, and what becomes due meanwhile."""
        while any([await self._run_due(kind) for kind in self.kinds]):
            pass

    async def run_version(self, workspace_id: UUID, version_id: UUID) -> None:
        """Do the job of one version now, due or not, unless somebody else is at it."""
        kind = self.kinds[0]
        condition = and_(kind.needs_work, unclaimed(SourceVersion), SourceVersion.id == version_id)
        await self._run_one(kind, workspace_id, condition)

    async def _serve(self, kind: Kind) -> None:
        while True:
            kind.wake.clear()  # before looking: what is announced while we look makes us look again
            try:
                busy = await self._run_due(kind)
            except DATABASE_ERRORS as error:
                log.warning("worker_waits_for_database", kind=kind.name, error=type(error).__name__)
                busy = False
            except Exception:
                log.exception("worker_failed", kind=kind.name)
                busy = False
            if not busy:
                await self._sleep(kind)

    async def _sleep(self, kind: Kind) -> None:
        try:
            async with asyncio.timeout(self._poll):
                await kind.wake.wait()
        except TimeoutError:
            return

    async def _run_due(self, kind: Kind) -> bool:
        """Do one due job of each workspace that has any. Whether there was one."""
        condition = due(kind.table, kind.needs_work)
        async with self._database.read() as session:
            workspaces = (
                await session.scalars(select(kind.table.workspace_id).where(condition).distinct().limit(1_000))
            ).all()
        return any([await self._run_one(kind, workspace_id, condition) for workspace_id in workspaces])

    async def _run_one(self, kind: Kind, workspace_id: UUID, condition: ColumnElement[bool]) -> bool:
        """Claim and do one job. Whether there was one to claim."""
        claimed = await claim(self._database, kind.table, condition, workspace_id, self._lease)
        if claimed is None:
            return False
        with structlog.contextvars.bound_contextvars(job=kind.name, id=str(claimed.id), attempt=claimed.attempt):
            try:
                await self._do(kind, claimed)
            except ClaimLostError:
                log.warning("job_lost")
            except asyncio.CancelledError:
                await self._hand_back(claimed)
                raise
            except Exception:
                log.exception("job_failed")
                await self._put_back(kind, claimed)
        return True

    async def _do(self, kind: Kind, claimed: Claim[Any]) -> None:
        if claimed.attempt > MOST_ATTEMPTS and kind.give_up is not None:
            # Those before could not even say that they failed: the process died of it each time, or hung.
            await kind.give_up(claimed, GAVE_UP.format(attempts=MOST_ATTEMPTS))
            log.error("job_given_up")
            return
        async with renewed(self._database, claimed, self._lease):
            await kind.run(claimed)
        log.info("job_done")

    async def _put_back(self, kind: Kind, claimed: Claim[Any]) -> None:
        try:
            if claimed.attempt >= MOST_ATTEMPTS and kind.give_up is not None:
                await kind.give_up(claimed, GAVE_UP.format(attempts=claimed.attempt))
                log.error("job_given_up")
                return
            async with self._database.write() as session:
                await claimed.release(session)
        except ClaimLostError:
            log.warning("job_lost")

    async def _hand_back(self, claimed: Claim[Any]) -> None:
        try:
            async with asyncio.timeout(HAND_BACK_SECONDS), self._database.write() as session:
                await claimed.hand_back(session)
            log.info("job_handed_back")
        except ClaimLostError:
            log.info("job_lost")  # it was done just then: there is nothing to hand back
        except DATABASE_ERRORS:
            log.warning("job_left_to_its_lease")

    async def _listen(self) -> None:
        """Wake the others when a job is announced. Without a connection they still look every few seconds."""
        while True:
            try:
                await self._listen_on_connection()
            except Exception as error:
                log.warning("worker_does_not_listen", error=type(error).__name__)
            await asyncio.sleep(self._poll)

    async def _listen_on_connection(self) -> None:
        closed = asyncio.Event()
        async with self._database.engine.connect() as connection:
            driver = (await connection.get_raw_connection()).driver_connection
            assert driver is not None
            driver.add_termination_listener(lambda _: closed.set())
            try:
                await driver.add_listener(WORK_CHANNEL, lambda *_: self._announce())
                self._announce()  # what was announced before we listened
                await closed.wait()
            finally:
                await connection.invalidate()  # a connection that listens is of no other use

    def _announce(self) -> None:
        for kind in self.kinds:
            kind.wake.set()

    async def _keep_up(self) -> None:
        while True:
            await asyncio.sleep(UPKEEP_SECONDS)
            try:
                await clean_pending_postings(self._database)
            except Exception as error:
                log.warning("upkeep_failed", error=type(error).__name__)
