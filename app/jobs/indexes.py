"""The job of an index with work: bring it to what its knowledge base should hold (SPEC R6, R17, R18)."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import ColumnElement, update

from app.database import Database, ReadSession, WriteSession
from app.jobs.claims import Claim, end
from app.knowledge_bases.indexing import (
    Change,
    changes,
    copy_members,
    drop_members,
    replace_failures,
    unreadable,
)
from app.knowledge_bases.lifecycle import State, Work
from app.knowledge_bases.repository import lock_knowledge_bases, retire
from app.library.files import FileStore
from app.models import KnowledgeBase, SearchIndex

NEEDS_WORK: ColumnElement[bool] = SearchIndex.work.is_not(None)
# Members copied in one step: by their passages, so that a step takes about as long whatever the documents' size.
STEP_PASSAGES = 2_000
STEP_MEMBERS = 500
FILE_CHECKS = 32
MISSING = "Its stored file is missing. Put the file back, or add it again as a new version; then repair the index."


class _Build:
    """One claimed index on its way to READY or FAILED."""

    def __init__(self, database: Database, files: FileStore, claim: Claim[SearchIndex], base_id: UUID) -> None:
        self.database = database
        self.files = files
        self.claim = claim
        self.workspace_id = claim.workspace_id
        self.base_id = base_id
        self.failures: dict[UUID, str] = {}
        self.done = 0

    async def changes(self, session: ReadSession | WriteSession) -> list[Change]:
        """What is still to be changed, without the members that this build could not read."""
        found = await changes(session, self.workspace_id, self.base_id, self.claim.id)
        return [change for change in found if change.version_id is None or change.source_id not in self.failures]

    async def apply(self, session: WriteSession, step: Sequence[Change]) -> None:
        """Copy what can be read, drop what is gone, note what can't be read: that is dropped as well."""
        missing = await self._missing_files(step)
        self.failures.update(dict.fromkeys(missing, MISSING))
        copied = [c.source_id for c in step if c.version_id is not None and c.source_id not in missing]
        dropped = [c.source_id for c in step if c.version_id is None or c.source_id in missing]
        if copied:
            await copy_members(session, self.workspace_id, self.claim.id, copied)
        if dropped:
            await drop_members(session, self.workspace_id, self.claim.id, dropped)
        self.done += len(step)

    async def _missing_files(self, step: Sequence[Change]) -> set[UUID]:
        gate = asyncio.Semaphore(FILE_CHECKS)

        async def missing(change: Change, sha256: str) -> UUID | None:
            async with gate:
                return None if await self.files.exists(self.workspace_id, sha256) else change.source_id

        checks = [missing(change, change.sha256) for change in step if change.sha256 is not None]
        return {source_id for source_id in await asyncio.gather(*checks) if source_id is not None}

    async def report(self, total: int) -> None:
        """Let those who watch see how far it is."""
        async with self.database.write() as session:
            await session.execute(
                update(SearchIndex)
                .where(
                    SearchIndex.workspace_id == self.workspace_id,
                    SearchIndex.id == self.claim.id,
                    SearchIndex.leased_by == self.claim.token,
                )
                .values(done=self.done, total=total)
            )


async def build_index(database: Database, files: FileStore, claim: Claim[SearchIndex]) -> None:
    """Do the work of one index. Raises ClaimLostError; whatever else it raises leaves the job to be tried again."""
    async with database.write() as session:
        index = await claim.hold(session)
        assert index.knowledge_base_id is not None
        build = _Build(database, files, claim, index.knowledge_base_id)
        work = index.work
    if work == Work.REBUILD:
        await _fill(build)
    async with database.write(patient=True) as session:
        await lock_knowledge_bases(session, build.workspace_id, [build.base_id])
        await _apply_all(build, session)
        await _finish(build, session)


async def _fill(build: _Build) -> None:
    """Fill a generation that nobody searches, a step a transaction. A build that was interrupted goes on from there."""
    while True:
        async with build.database.read() as session:
            pending = await build.changes(session)
        if len(pending) <= STEP_MEMBERS and sum(c.passage_count for c in pending) <= STEP_PASSAGES:
            return  # small enough for the transaction that finishes
        total = build.done + len(pending)
        for step in _steps(pending):
            async with build.database.write(patient=True) as session:
                await build.claim.hold(session)
                await build.apply(session, step)
            await build.report(total)


async def _apply_all(build: _Build, session: WriteSession) -> None:
    """Apply what is left, in the transaction that finishes: the knowledge base is locked, so nothing more comes."""
    pending = await build.changes(session)
    total = build.done + len(pending)
    for step in _steps(pending):
        await build.apply(session, step)
        await build.report(total)


def _steps(pending: Sequence[Change]) -> list[list[Change]]:
    steps: list[list[Change]] = [[]]
    passages = 0
    for change in pending:
        if steps[-1] and (len(steps[-1]) >= STEP_MEMBERS or passages + change.passage_count > STEP_PASSAGES):
            steps.append([])
            passages = 0
        steps[-1].append(change)
        passages += change.passage_count
    return steps if pending else []


async def _finish(build: _Build, session: WriteSession) -> None:
    """READY, or FAILED with the members that can't be read; and the knowledge base's current index from now on."""
    base = await session.get_one(KnowledgeBase, (build.workspace_id, build.base_id), populate_existing=True)
    failures = await unreadable(session, build.workspace_id, build.base_id) | build.failures
    await replace_failures(session, build.workspace_id, build.claim.id, failures)
    index = await build.claim.hold(session)
    index.state = State.FAILED if failures else State.READY
    index.done = index.total = max(build.done, index.total)
    index.built_at = datetime.now(UTC)
    if base.current_index_id == index.id and index.work != Work.REBUILD:
        index.generation += 1
    elif base.current_index_id not in (None, index.id):
        retire(await session.get_one(SearchIndex, (build.workspace_id, base.current_index_id), populate_existing=True))
    index.work = None
    index.failure_reason = None
    end(index)
    base.current_index_id = index.id
    await session.flush()


async def fail_index(database: Database, claim: Claim[SearchIndex], reason: str) -> None:
    """The work was tried in vain. A current index says so; a successor goes, and what it was to replace stays."""
    async with database.write() as session:
        index = await claim.hold(session)
        base = await session.get_one(KnowledgeBase, (claim.workspace_id, index.knowledge_base_id))
        if base.current_index_id != index.id:
            retire(index)
            return
        index.state = State.FAILED
        index.failure_reason = reason
        index.work = None
        end(index)
