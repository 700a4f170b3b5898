"""Asking for work on an index: to be refreshed, rebuilt, repaired. What was asked for is a job (R17, R18)."""

from uuid import UUID

from sqlalchemy import func, select

from app.database import WriteSession, announce_work
from app.errors import IndexNotReady
from app.knowledge_bases.lifecycle import Remedy, State, Work
from app.knowledge_bases.repository import enqueue, lock_knowledge_bases, open_index, retire
from app.models import KnowledgeBase, SearchIndex, new_id


async def request_work(session: WriteSession, workspace_id: UUID, base_id: UUID, work: Work) -> UUID:
    """The id of the index that does, or is going to do, or has no need to do the work. The base exists.

    An open job is waited for, not doubled: it looks at the set again before it ends. Only a REBUILD takes the place of
    a refresh or a repair that is open: it does more. REFRESH and REPAIR of an index that is READY change nothing.
    Raises IndexNotReady when there is no index to refresh or repair yet.
    """
    await lock_knowledge_bases(session, workspace_id, [base_id])
    waiting = await open_index(session, workspace_id, base_id)
    if waiting is not None and (work is not Work.REBUILD or waiting.work == Work.REBUILD):
        return waiting.id
    await announce_work(session)
    base = await session.get_one(KnowledgeBase, (workspace_id, base_id), populate_existing=True)
    current = await _current(session, base)
    if work is Work.REBUILD:
        return await _new_generation(session, base, current)
    if current is None:
        raise IndexNotReady(None, Remedy.REBUILD)
    if current.state != State.READY:
        enqueue(current, work)
        await session.flush()
    return current.id


async def _current(session: WriteSession, base: KnowledgeBase) -> SearchIndex | None:
    if base.current_index_id is None:
        return None
    return await session.get_one(SearchIndex, (base.workspace_id, base.current_index_id), populate_existing=True)


async def _new_generation(session: WriteSession, base: KnowledgeBase, current: SearchIndex | None) -> UUID:
    """A successor to build. It replaces an index that is not READY at once, one that is READY when it is done."""
    replaces = current is None or current.state != State.READY
    if current is not None and replaces:
        retire(current)
        await session.flush()  # its work ends before the successor's begins: there is one open job at most
    newest = await session.scalar(
        select(func.max(SearchIndex.generation)).where(
            SearchIndex.workspace_id == base.workspace_id, SearchIndex.knowledge_base_id == base.id
        )
    )
    successor = SearchIndex(
        workspace_id=base.workspace_id,
        id=new_id(),
        knowledge_base_id=base.id,
        generation=(newest or 0) + 1,
        state=State.BUILDING,
    )
    enqueue(successor, Work.REBUILD)
    session.add(successor)
    await session.flush()
    if replaces:
        base.current_index_id = successor.id
        await session.flush()
    return successor.id
