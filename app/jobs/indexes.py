"""The job of an index with work: bring it to what its knowledge base should hold (SPEC R6, R17, R18)."""

import asyncio
from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import ColumnElement, func, select, update

from app.database import Database, ReadSession, WriteSession
from app.jobs.claims import Claim, ClaimLostError, end
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
from app.knowledge_bases.upkeep import settle
from app.library.files import FileStore
from app.models import IndexMember, KnowledgeBase, SearchIndex

NEEDS_WORK: ColumnElement[bool] = SearchIndex.work.is_not(None)
# Members copied in one step: by their passages, so that a step takes about as long whatever the documents' size.
STEP_PASSAGES = 2_000
STEP_MEMBERS = 500
FILE_CHECKS = 32
MISSING = "Its stored file is missing. Put the file back, or add it again as a new version; then repair the index."


class _Build:
    """One claimed index on its way to READY or FAILED. `done` counts the members that are as they should be."""

    def __init__(self, database: Database, files: FileStore, claim: Claim[SearchIndex], base_id: UUID) -> None:
        self.database = database
        self.files = files
        self.claim = claim
        self.workspace_id = claim.workspace_id
        self.base_id = base_id
        self.failures: dict[UUID, str] = {}
        self.done = 0
        self.copied_passages = 0

    async def changes(self, session: ReadSession | WriteSession) -> list[Change]:
        """What is still to be changed, without the members that this build could not read."""
        found = await changes(session, self.workspace_id, self.base_id, self.claim.id)
        return [change for change in found if change.version_id is None or change.source_id not in self.failures]

    async def note_missing_files(self, step: Sequence[Change]) -> None:
        """Note which of these can't be read. It asks the file store: not in a transaction that others wait for."""
        gate = asyncio.Semaphore(FILE_CHECKS)

        async def is_missing(sha256: str) -> bool:
            async with gate:
                return not await self.files.exists(self.workspace_id, sha256)

        checked = [(change.source_id, change.sha256) for change in step if change.sha256 is not None]
        missing = await asyncio.gather(*(is_missing(sha256) for _, sha256 in checked))
        self.failures |= {source_id: MISSING for (source_id, _), gone in zip(checked, missing, strict=True) if gone}

    async def apply(self, session: WriteSession, step: Sequence[Change]) -> None:
        """Copy what can be read, drop what is gone or can't be read."""
        copied = [change for change in step if change.version_id is not None and change.source_id not in self.failures]
        source_ids = {change.source_id for change in copied}
        dropped = [change.source_id for change in step if change.source_id not in source_ids]
        if copied:
            await copy_members(session, self.workspace_id, self.claim.id, [change.source_id for change in copied])
        if dropped:
            await drop_members(session, self.workspace_id, self.claim.id, dropped)
        self.done += len(step)
        self.copied_passages += sum(change.passage_count for change in copied)

    async def report(self, total: int, *, committed: bool) -> None:
        """Let those who watch see how far it is. What is committed is not done again: attempts count from there."""
        values = {"done": self.done, "total": total} | ({"attempt": 1} if committed else {})
        async with self.database.write() as session:
            await session.execute(
                update(SearchIndex)
                .where(
                    SearchIndex.workspace_id == self.workspace_id,
                    SearchIndex.id == self.claim.id,
                    SearchIndex.leased_by == self.claim.token,
                )
                .values(values)
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
        await settle(database, build.workspace_id, build.copied_passages)
    await _exchange(build)
    if work != Work.REBUILD:
        await settle(database, build.workspace_id, build.copied_passages)


async def _fill(build: _Build) -> None:
    """Fill a generation that nobody searches, a step a transaction. A build that was interrupted goes on from there."""
    async with build.database.read(patient=True) as session:
        members = IndexMember.workspace_id == build.workspace_id, IndexMember.index_id == build.claim.id
        build.done = await session.scalar(select(func.count()).where(*members)) or 0
    while True:
        async with build.database.read(patient=True) as session:
            pending = await build.changes(session)
        if not pending:
            return
        total = build.done + len(pending)
        for step in steps(pending):
            await build.note_missing_files(step)
            async with build.database.write(patient=True) as session:
                await build.claim.hold(session)
                await build.apply(session, step)
            await build.report(total, committed=True)


async def _exchange(build: _Build) -> None:
    """Apply what is left and finish, in one transaction. The knowledge base is locked for the end of it only.

    What changes before the lock is seen in the second look; what would change after it waits, and finds an index that
    is READY, to be made stale.
    """
    async with build.database.read(patient=True) as session:
        pending = await build.changes(session)
    await build.note_missing_files(pending)
    async with build.database.write(patient=True) as session:
        for step in steps(pending):
            await build.apply(session, step)
            await build.report(len(pending), committed=False)
        await lock_knowledge_bases(session, build.workspace_id, [build.base_id])
        index = await build.claim.hold(session)
        late = await build.changes(session)
        await build.note_missing_files(late)
        for step in steps(late):
            await build.apply(session, step)
        await _finish(build, session, index)


def steps(pending: Sequence[Change]) -> list[list[Change]]:
    """The changes in their order, in steps of at most STEP_MEMBERS, and of STEP_PASSAGES unless one alone has more."""
    found: list[list[Change]] = []
    passages = 0
    for change in pending:
        if not found or len(found[-1]) >= STEP_MEMBERS or passages + change.passage_count > STEP_PASSAGES:
            found.append([])
            passages = 0
        found[-1].append(change)
        passages += change.passage_count
    return found


async def _finish(build: _Build, session: WriteSession, index: SearchIndex) -> None:
    """READY, or FAILED with the members that can't be read; and the knowledge base's current index from now on."""
    base = await session.get_one(KnowledgeBase, (build.workspace_id, build.base_id), populate_existing=True)
    failures = await unreadable(session, build.workspace_id, build.base_id) | build.failures
    await replace_failures(session, build.workspace_id, build.claim.id, failures)
    index.state = State.FAILED if failures else State.READY
    index.done = index.total = build.done
    index.built_at = await session.scalar(select(func.now()))
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
        found = await session.get(SearchIndex, (claim.workspace_id, claim.id))
        if found is None or found.knowledge_base_id is None:
            raise ClaimLostError
        await lock_knowledge_bases(session, claim.workspace_id, [found.knowledge_base_id])
        index = await claim.hold(session)
        base = await session.get_one(KnowledgeBase, (claim.workspace_id, index.knowledge_base_id))
        if base.current_index_id != index.id:
            retire(index)
            return
        index.state = State.FAILED
        index.failure_reason = reason
        index.work = None
        end(index)
