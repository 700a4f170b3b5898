"""Claiming a row as a job: a lease that is renewed while the work goes on, and a fence in front of its result.

A claim writes a token of its own into the row. Whoever finishes must still find that token there, under a lock: work
whose lease ran out and was claimed anew cannot overwrite what the new claim does.
"""

import asyncio
import os
import secrets
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, TypeVar
from uuid import UUID

import structlog
from sqlalchemy import ColumnElement, and_, func, or_, select, update
from sqlalchemy.exc import SQLAlchemyError

from app.database import Database, WriteSession
from app.models import SearchIndex, Source, SourceVersion

log = structlog.get_logger(__name__)

Row = TypeVar("Row", Source, SourceVersion, SearchIndex)
WORKER = f"{socket.gethostname()}:{os.getpid()}"
# The first retry waits this long, each further one four times as long as the one before: five attempts last longer
# than the restart of a database or a file store.
RETRY_SECONDS = 1
LONGEST_RETRY_SECONDS = 300
# Jobs that are never given up are counted no further than this.
MOST_COUNTED = 1_000


class ClaimLostError(Exception):
    """The lease ran out and the row was claimed anew, or its work was taken back. What was done is rolled back."""


@dataclass(frozen=True)
class Claim(Generic[Row]):
    """One row, claimed for the `attempt`-th time since its work was asked for (from 1)."""

    table: type[Row]
    workspace_id: UUID
    id: UUID
    token: str
    attempt: int

    async def hold(self, session: WriteSession) -> Row:
        """The row, locked, to be finished in this transaction. Raises ClaimLostError when it is no longer ours."""
        row = await session.get(
            self.table, (self.workspace_id, self.id), with_for_update={"key_share": True}, populate_existing=True
        )
        if row is None or row.leased_by != self.token:
            raise ClaimLostError
        return row

    async def release(self, session: WriteSession) -> None:
        """Give the row back after a failure, to be claimed again after a pause that grows with each attempt."""
        row = await self.hold(session)
        row.run_after = func.now() + pause(self.attempt)
        end(row)

    async def hand_back(self, session: WriteSession) -> None:
        """Give the row back unfinished, to be claimed at once: the attempt does not count."""
        row = await self.hold(session)
        row.run_after = func.now()
        row.attempt = max(row.attempt - 1, 0)
        end(row)


def pause(attempt: int) -> timedelta:
    """How long to wait after the `attempt`-th failure (from 1)."""
    return timedelta(seconds=min(RETRY_SECONDS << 2 * min(attempt - 1, 10), LONGEST_RETRY_SECONDS))


def end(row: Source | SourceVersion | SearchIndex) -> None:
    """Nobody holds the row any more."""
    row.lease_until = None
    row.leased_by = None


def unclaimed(table: type[Row]) -> ColumnElement[bool]:
    """Whether nobody holds the row, or whoever did let the lease run out."""
    return or_(table.lease_until.is_(None), table.lease_until < func.now())


def due(table: type[Row], needs_work: ColumnElement[bool]) -> ColumnElement[bool]:
    """Whether a row can be claimed now."""
    return and_(needs_work, table.run_after <= func.now(), unclaimed(table))


async def claim(
    database: Database, table: type[Row], condition: ColumnElement[bool], workspace_id: UUID, lease: timedelta
) -> Claim[Row] | None:
    """The row of the workspace that has been due for longest, or None. What others are claiming is passed over."""
    picked = (
        select(table.id)
        .where(table.workspace_id == workspace_id, condition)
        .order_by(table.run_after)
        .limit(1)
        .with_for_update(skip_locked=True, key_share=True)
        .cte("picked")
        .prefix_with("MATERIALIZED")
    )
    token = f"{WORKER}:{secrets.token_hex(8)}"
    async with database.write() as session:
        row = (
            await session.execute(
                update(table)
                .where(table.workspace_id == workspace_id, table.id == picked.c.id)
                .values(
                    attempt=func.least(table.attempt, MOST_COUNTED) + 1,
                    leased_by=token,
                    lease_until=func.now() + lease,
                )
                .returning(table.id, table.attempt)
            )
        ).one_or_none()
    return None if row is None else Claim(table, workspace_id, row.id, token, row.attempt)


@asynccontextmanager
async def renewed(database: Database, claimed: Claim[Any], lease: timedelta) -> AsyncIterator[None]:
    """Renew the lease while the block runs. If the claim is lost, the block is cancelled and ClaimLostError raised.

    As in asyncio.timeout, a cancellation that is ours is told from one that came from outside at the same time.
    """
    task = asyncio.current_task()
    assert task is not None
    cancelling = task.cancelling()
    lost = asyncio.Event()

    async def renew() -> None:
        while await _sleep_and_renew(database, claimed, lease):
            pass
        lost.set()
        task.cancel()

    renewal = asyncio.create_task(renew())
    try:
        yield
    except asyncio.CancelledError:
        if lost.is_set() and task.uncancel() <= cancelling:
            raise ClaimLostError from None
        raise
    finally:
        renewal.cancel()
        await asyncio.wait([renewal])  # it may have a connection


async def _sleep_and_renew(database: Database, claimed: Claim[Any], lease: timedelta) -> bool:
    """Whether the claim is still ours. While the database can't be asked, it is taken to be: the fence will tell."""
    await asyncio.sleep(lease.total_seconds() / 3)
    table = claimed.table
    try:
        async with database.write() as session:
            renewed_id = await session.scalar(
                update(table)
                .where(
                    table.workspace_id == claimed.workspace_id,
                    table.id == claimed.id,
                    table.leased_by == claimed.token,
                )
                .values(lease_until=func.now() + lease)
                .returning(table.id)
            )
    except (OSError, SQLAlchemyError):
        log.warning("lease_not_renewed", table=table.__tablename__, id=str(claimed.id))
        return True
    return renewed_id is not None
