"""Where a question is searched is remembered, and nothing is served by what is remembered (R1, R5, R6, R15)."""

from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import update

from app.access.subject import Subject
from app.knowledge_bases.facts import IndexState
from app.models import SearchIndex
from app.query import parse
from app.retrieval.repository import ScopeChanged, search_index
from app.retrieval.request import RetrieveRequest
from app.retrieval.scopes import REMEMBERED, RememberedScopes, Scope, load_scopes
from app.retrieval.service import Answer
from tests.retrieval.listening import Statements
from tests.world import READER, RefusedError, World

ONE_HIT = [("Log", 0)]


async def _scope(world: World, base: str) -> tuple[Subject, IndexState]:
    subject = world.subject(READER)
    scopes = await load_scopes(world.services.database, subject, [UUID(base)])
    index = scopes.indexes[UUID(base)]
    assert index is not None
    assert scopes.open_read
    return subject, index


async def _search(world: World, subject: Subject, scope: Scope) -> int:
    found = await search_index(
        world.services.database, subject, scope, query=parse("rigging"), limit=10, source_ids=None
    )
    return len(found)


@pytest.mark.parametrize(
    "change",
    [
        {"id": uuid4()},
        {"knowledge_base_id": uuid4()},
        {"state": "STALE"},
        {"generation": 2},
        {"work": "REFRESH"},
        {"done": 7},
        {"total": 7},
        {"built_at": None},
    ],
    ids=lambda change: next(iter(change)),
)
async def test_a_search_that_is_told_anything_else_of_the_index_finds_nothing(
    world: World, change: dict[str, Any]
) -> None:
    await world.add("Log", "Rigging was checked.")
    subject, index = await _scope(world, await world.knowledge_base("Log"))
    assert await _search(world, subject, Scope(True, index)) == 1
    with pytest.raises(ScopeChanged):
        await _search(world, subject, Scope(True, replace(index, **change)))


@pytest.mark.parametrize("whole_workspace", [True, False])
async def test_a_search_that_is_told_of_other_rights_finds_nothing(world: World, whole_workspace: bool) -> None:
    await world.add("Log", "Rigging was checked.")
    subject, index = await _scope(world, await world.knowledge_base("Log"))
    told = None if whole_workspace else index
    with pytest.raises(ScopeChanged):
        await _search(world, subject, Scope(False, told))
    with pytest.raises(ScopeChanged):
        await _search(world, world.subject("user:nobody"), Scope(True, told))
    assert await _search(world, world.subject("user:nobody"), Scope(False, told)) == 0


async def test_a_new_generation_is_searched_at_once(world: World, heard: Statements) -> None:
    await world.add("Log", "Rigging was checked.")
    base = await world.knowledge_base("Log")
    assert await world.reader.hits("rigging", base) == ONE_HIT
    await world.manager.change("rebuildIndex", "__typename", knowledgeBaseId=base)
    await world.work()
    heard.clear()
    assert await world.reader.hits("rigging", base) == ONE_HIT
    # the search of what was remembered; where to search, and how large it is; the search; the read checks
    assert len(heard) == 5, heard
    heard.clear()
    assert await world.reader.hits("rigging", base) == ONE_HIT
    assert len(heard) == 2, heard


async def test_general_reading_counts_from_when_it_is_given_until_it_is_taken(world: World) -> None:
    await world.add("Log", "Rigging was checked.")
    base = await world.knowledge_base("Log")
    caller = world.caller("user:new")
    for scope in (base, None):
        assert await caller.hits("rigging", scope) == []
    await world.grant("user:new", "library.read")
    for scope in (base, None):
        assert await caller.hits("rigging", scope) == ONE_HIT
    await world.revoke("user:new", "library.read")
    for scope in (base, None):
        assert await caller.hits("rigging", scope) == []


async def test_an_index_that_is_ready_no_more_is_refused(world: World) -> None:
    await world.add("Log", "Rigging was checked.")
    base = await world.knowledge_base("Log", auto_refresh=False)
    assert await world.reader.hits("rigging", base) == ONE_HIT
    await _set_state(world, base, "STALE")
    with pytest.raises(RefusedError) as refused:
        await world.reader.hits("rigging", base)
    assert refused.value.extensions == {
        "code": "INDEX_NOT_READY",
        "retryable": False,
        "indexState": "STALE",
        "remedy": "REFRESH",
    }
    await _set_state(world, base, "READY")
    assert await world.reader.hits("rigging", base) == ONE_HIT
    await world.manager.change("deleteKnowledgeBase", "__typename", id=base)
    with pytest.raises(RefusedError) as refused:
        await world.reader.hits("rigging", base)
    assert refused.value.code == "NOT_FOUND"


async def _set_state(world: World, base: str, state: str) -> None:
    async with world.services.database.write() as session:
        await session.execute(
            update(SearchIndex)
            .where(SearchIndex.workspace_id == world.workspace_id, SearchIndex.knowledge_base_id == UUID(base))
            .values(state=state)
        )


async def test_one_refused_knowledge_base_leaves_the_others_their_answers(world: World) -> None:
    """The first operation remembers both; then one of them goes."""
    await world.add("Log", "Rigging was checked.")
    bases = [await world.knowledge_base("Log", auto_refresh=False) for _ in range(2)]
    subject, retrieval = world.subject(READER), world.services.retrieval
    requests = [RetrieveRequest(UUID(base), "rigging", 10, None) for base in bases]

    async def check(source_ids: Any) -> list[bool]:
        return await world.services.authorizer.check(subject, source_ids)

    for stale in (False, True):
        if stale:
            await _set_state(world, bases[0], "STALE")
        first, second = await retrieval.answers(subject, requests, check)
        assert isinstance(first, Answer) is not stale
        assert isinstance(second, Answer)
        assert len(second.hits) == 1


def test_the_newest_scopes_are_remembered() -> None:
    remembered = RememberedScopes()
    subjects = [Subject(UUID(int=1), f"user:{number}") for number in range(REMEMBERED + 1)]
    for subject in subjects[:-1]:
        remembered.keep(subject, None, Scope(True, None))
    assert remembered.find(subjects[0], None) == Scope(True, None)  # and so it is not the oldest any more
    remembered.keep(subjects[-1], None, Scope(False, None))
    assert remembered.find(subjects[1], None) is None
    assert remembered.find(subjects[0], None) == Scope(True, None)
    assert remembered.find(subjects[-1], None) == Scope(False, None)
    remembered.forget(subjects[-1], None)
    assert remembered.find(subjects[-1], None) is None
