"""The states of an index and what leads from one to another, over HTTP (SPEC R6, R17, R18)."""

import asyncio
from uuid import UUID, uuid4

import pytest

from app.knowledge_bases.repository import add_sources
from app.library.service import NewFile
from tests.knowledge_bases.indexes import (
    add_to,
    add_unreadable,
    add_version,
    built_up_to_the_exchange,
    empty_base,
    failures,
    index,
    let_go_of_the_old,
    postings,
    refused,
    remove_from,
    request,
    rows,
    state,
)
from tests.world import MANAGER, RefusedError, World

CRANES = "Cranes are inspected every quarter."
QUAYS = "Quays are swept on Mondays."
UNREADABLE_REASON = (
    "The file is not text, and of no kind that can be read. Save it as PDF, DOCX or plain text and add that."
)


async def test_what_was_never_built_is_refused_with_the_remedy(world: World) -> None:
    await world.add("Cranes", CRANES)
    base = await empty_base(world, "Cranes")
    assert await state(world, base) is None
    assert await refused(world, base) == ("INDEX_NOT_READY", None, "REBUILD")
    for work in ("refreshIndex", "repairIndex"):
        with pytest.raises(RefusedError) as refusal:
            await request(world, work, base)
        assert (refusal.value.code, refusal.value.extensions["remedy"]) == ("INDEX_NOT_READY", "REBUILD")
    assert await state(world, base) is None


async def test_a_first_build_is_waited_for_and_then_serves(world: World) -> None:
    await world.add("Cranes", CRANES)
    base = await empty_base(world, "Cranes")
    asked = await request(world, "rebuildIndex", base)
    assert (asked["state"], asked["generation"], asked["progress"]) == ("BUILDING", 1, 0.0)
    assert await refused(world, base) == ("INDEX_NOT_READY", "BUILDING", "WAIT")
    await world.work()
    built = await index(world, base)
    assert built is not None
    assert {name: built[name] for name in ("id", "state", "generation", "progress", "memberCount", "passageCount")} == {
        "id": asked["id"],
        "state": "READY",
        "generation": 1,
        "progress": 1.0,
        "memberCount": 1,
        "passageCount": 1,
    }
    assert built["builtAt"] is not None
    assert await world.reader.titles("cranes", base) == ["Cranes"]


async def test_an_empty_knowledge_base_is_ready_and_finds_nothing(world: World) -> None:
    base = await empty_base(world)
    await request(world, "rebuildIndex", base)
    await world.work()
    assert await state(world, base) == ("READY", 1)
    assert await world.reader.titles("cranes", base) == []


async def test_counts_and_failures_are_for_managers(world: World) -> None:
    await world.add("Cranes", CRANES)
    base = await world.knowledge_base("Cranes")
    seen = await index(world, base, by=world.reader)
    assert seen is not None
    assert (seen["state"], seen["generation"], seen["progress"]) == ("READY", 1, 1.0)
    hidden = ("memberCount", "passageCount", "done", "total", "failureReason", "failures")
    assert [seen[name] for name in hidden] == [None] * len(hidden)


@pytest.mark.parametrize("change", ["source added", "source removed", "newer version"])
async def test_a_change_makes_it_stale_and_a_refresh_ready_again(world: World, change: str) -> None:
    for title, text in (("Cranes", CRANES), ("Quays", QUAYS)):
        await world.add(title, text)
    base = await world.knowledge_base("Cranes", *(["Quays"] if change == "source removed" else []), auto_refresh=False)
    if change == "source added":
        await add_to(world, base, "Quays")
    elif change == "source removed":
        await remove_from(world, base, "Quays")
    else:
        await add_version(world, "Cranes", "Winches are inspected.")
    await world.work()
    assert await state(world, base) == ("STALE", 1)
    assert await refused(world, base, "cranes") == ("INDEX_NOT_READY", "STALE", "REFRESH")
    asked = await request(world, "refreshIndex", base)
    assert (asked["state"], asked["generation"]) == ("BUILDING", 1)
    assert await refused(world, base, "cranes") == ("INDEX_NOT_READY", "BUILDING", "WAIT")
    await world.work()
    assert await state(world, base) == ("READY", 2)
    found = await world.reader.titles("cranes", base), await world.reader.titles("quays", base)
    assert (
        found
        == {
            "source added": (["Cranes"], ["Quays"]),
            "source removed": (["Cranes"], []),
            "newer version": (["Cranes"], []),  # by its title
        }[change]
    )
    inspected = await world.reader.hits("winches", base)
    assert inspected == ([("Cranes", 0)] if change == "newer version" else [])


async def test_with_auto_refresh_it_refreshes_itself(world: World) -> None:
    await world.add("Cranes", CRANES)
    await world.add("Quays", QUAYS)
    base = await world.knowledge_base("Cranes")
    await add_to(world, base, "Quays")
    assert await state(world, base) == ("BUILDING", 1)
    await world.work()
    assert await state(world, base) == ("READY", 2)
    assert await world.reader.titles("quays", base) == ["Quays"]


async def test_what_changes_nothing_leaves_it_ready(world: World) -> None:
    await world.add("Cranes", CRANES)
    await world.add("Quays", QUAYS)
    base = await world.knowledge_base("Cranes", auto_refresh=False)
    before = await index(world, base)
    await add_to(world, base, "Cranes")
    await remove_from(world, base, "Quays")
    await add_version(world, "Cranes", CRANES)
    await add_version(world, "Quays", "Quays are painted.")
    await world.manager.change("updateSource", "source { id }", id=world.sources["Cranes"], title="Hoists")
    await world.grant("user:ada", "source.read", world.sources["Cranes"])
    await world.manager.change(
        "setSourceAvailability", "source { id }", id=world.sources["Cranes"], availability="UNAVAILABLE"
    )
    for work in ("refreshIndex", "repairIndex"):
        assert (await request(world, work, base))["id"] == (before or {})["id"]
    await world.work()
    assert await index(world, base) == before


async def test_a_refresh_writes_only_the_members_that_changed(world: World) -> None:
    for title, text in (("Cranes", CRANES), ("Quays", QUAYS), ("Ropes", "Ropes are oiled."), ("Buoys", "Buoys float.")):
        await world.add(title, text)
    base = await world.knowledge_base("Cranes", "Quays", "Ropes")
    built = await index(world, base)
    assert built is not None
    before = await postings(world, built["id"])
    await add_version(world, "Quays", "Quays are painted.")
    await remove_from(world, base, "Ropes")
    await add_to(world, base, "Buoys")
    await world.work()
    refreshed = await index(world, base)
    assert refreshed is not None
    assert (refreshed["id"], refreshed["generation"], refreshed["state"]) == (built["id"], 2, "READY")
    after = await postings(world, built["id"])
    assert after["Cranes"] == before["Cranes"]
    assert [len(after[title]) for title in ("Cranes", "Quays", "Ropes", "Buoys")] == [1, 1, 0, 1]
    assert after["Quays"].isdisjoint(before["Quays"])


async def test_a_rebuild_is_a_new_generation_and_the_old_one_goes(world: World) -> None:
    await world.add("Cranes", CRANES)
    base = await world.knowledge_base("Cranes")
    first = await index(world, base)
    assert first is not None
    second = await request(world, "rebuildIndex", base)
    assert (second["state"], second["generation"]) == ("BUILDING", 2)
    assert second["id"] != first["id"]
    await world.work()
    assert await state(world, base) == ("READY", 2)
    generations = "SELECT id, state FROM indexes WHERE workspace_id = :w AND knowledge_base_id = :b ORDER BY generation"
    assert await rows(world, generations, b=UUID(base)) == [
        (UUID(first["id"]), "RETIRED"),
        (UUID(second["id"]), "READY"),
    ]
    assert len((await postings(world, first["id"]))["Cranes"]) == 1  # whoever reads it still can
    await let_go_of_the_old(world)
    await world.work()
    assert await rows(world, generations, b=UUID(base)) == [(UUID(second["id"]), "READY")]
    for table in ("index_postings", "index_members"):
        count = f"SELECT count(*) FROM {table} WHERE workspace_id = :w AND index_id = :i"  # noqa: S608 our own names
        assert await rows(world, count, i=UUID(first["id"])) == [(0,)]
    assert await world.reader.titles("cranes", base) == ["Cranes"]


async def test_a_ready_index_serves_until_its_successor_takes_its_place(world: World) -> None:
    await world.add("Cranes", CRANES)
    base = await world.knowledge_base("Cranes")
    await request(world, "rebuildIndex", base)
    async with built_up_to_the_exchange(world, base):
        answer = await world.reader.retrieve("cranes", base)
        assert answer["index"] == {"state": "READY", "generation": 1}
        assert [hit["source"]["title"] for hit in answer["hits"]] == ["Cranes"]
    answer = await world.reader.retrieve("cranes", base)
    assert answer["index"] == {"state": "READY", "generation": 2}
    assert [hit["source"]["title"] for hit in answer["hits"]] == ["Cranes"]


async def test_what_changes_while_a_successor_is_built_is_in_it(world: World) -> None:
    for title, text in (("Cranes", CRANES), ("Quays", QUAYS), ("Ropes", "Ropes are oiled.")):
        await world.add(title, text)
    base = await world.knowledge_base("Cranes", "Ropes")
    await request(world, "rebuildIndex", base)
    await add_to(world, base, "Quays")
    await remove_from(world, base, "Ropes")
    await add_version(world, "Cranes", "Winches are inspected.")
    # What was READY is out of date, and what is being built will be right.
    assert await state(world, base) == ("BUILDING", 2)
    assert await refused(world, base) == ("INDEX_NOT_READY", "BUILDING", "WAIT")
    await world.work()
    assert await state(world, base) == ("READY", 2)
    found = [await world.reader.hits(query, base) for query in ("winches", "quays", "ropes")]
    assert found == [[("Cranes", 0)], [("Quays", 0)], []]


async def test_what_changes_after_the_work_and_before_the_exchange_is_in_it(world: World) -> None:
    """The transaction that adds the source has the knowledge base before the exchange gets it."""
    await world.add("Cranes", CRANES)
    await world.add("Quays", QUAYS)
    base = await world.knowledge_base("Cranes", auto_refresh=False)
    await request(world, "rebuildIndex", base)
    async with built_up_to_the_exchange(world, base) as (_, session):
        await add_sources(session, world.workspace_id, UUID(base), [UUID(world.sources["Quays"])])
    assert await state(world, base) == ("READY", 2)
    assert await world.reader.titles("quays", base) == ["Quays"]


async def test_what_changes_in_the_last_moment_waits_and_makes_it_stale(world: World) -> None:
    await world.add("Cranes", CRANES)
    await world.add("Quays", QUAYS)
    base = await world.knowledge_base("Cranes")
    await request(world, "rebuildIndex", base)
    async with built_up_to_the_exchange(world, base):
        adding = asyncio.create_task(add_to(world, base, "Quays"))
        await asyncio.sleep(0.1)
        assert not adding.done()
    await adding
    await world.work()
    assert (await state(world, base) or ("",))[0] == "READY"
    assert await world.reader.titles("quays", base) == ["Quays"]


async def test_requests_at_once_make_one_job(world: World) -> None:
    await world.add("Cranes", CRANES)
    base = await empty_base(world, "Cranes")
    answers = await asyncio.gather(*(request(world, "rebuildIndex", base) for _ in range(8)))
    assert len({answer["id"] for answer in answers}) == 1
    jobs = "SELECT count(*) FROM indexes WHERE workspace_id = :w AND knowledge_base_id = :b"
    assert await rows(world, jobs, b=UUID(base)) == [(1,)]
    for work in ("refreshIndex", "repairIndex", "rebuildIndex"):
        assert (await request(world, work, base))["id"] == answers[0]["id"]
    await world.work()
    assert await state(world, base) == ("READY", 1)


async def test_a_rebuild_takes_the_place_of_a_refresh_that_is_open(world: World) -> None:
    await world.add("Cranes", CRANES)
    await world.add("Quays", QUAYS)
    base = await world.knowledge_base("Cranes")
    await add_to(world, base, "Quays")
    asked = await request(world, "rebuildIndex", base)
    assert (asked["state"], asked["generation"]) == ("BUILDING", 2)
    assert await state(world, base) == ("BUILDING", 2)
    await world.work()
    assert await state(world, base) == ("READY", 2)
    assert await world.reader.titles("quays", base) == ["Quays"]


async def test_a_member_that_cannot_be_read_is_named_and_repair_mends_it(world: World) -> None:
    await world.add("Cranes", CRANES)
    await add_unreadable(world, "Broken")
    base = await empty_base(world, "Cranes", "Broken", auto_refresh=False)
    await request(world, "rebuildIndex", base)
    await world.work()
    assert await state(world, base) == ("FAILED", 1)
    assert await failures(world, base) == {"Broken": UNREADABLE_REASON}
    assert await refused(world, base, "cranes") == ("INDEX_NOT_READY", "FAILED", "REPAIR")
    built = await index(world, base)
    assert built is not None
    before = await postings(world, built["id"])
    await request(world, "repairIndex", base)
    await world.work()
    assert (await state(world, base) or ("",))[0] == "FAILED"
    await add_version(world, "Broken", QUAYS)
    assert (await state(world, base) or ("",))[0] == "FAILED"
    assert (await request(world, "repairIndex", base))["state"] == "BUILDING"
    await world.work()
    assert (await state(world, base) or ("",))[0] == "READY"
    assert await failures(world, base) == {}
    assert (await postings(world, built["id"]))["Cranes"] == before["Cranes"]
    assert await world.reader.titles("quays", base) == ["Broken"]


async def test_with_auto_refresh_a_failed_index_mends_itself_when_its_cause_is_gone(world: World) -> None:
    await world.add("Cranes", CRANES)
    await add_unreadable(world, "Broken")
    base = await world.knowledge_base("Cranes", "Broken")
    assert await failures(world, base) == {"Broken": UNREADABLE_REASON}
    await remove_from(world, base, "Broken")
    await world.work()
    assert await state(world, base) == ("READY", 2)
    await add_to(world, base, "Broken")
    await world.work()
    assert await state(world, base) == ("FAILED", 3)
    await add_version(world, "Broken", QUAYS)
    await world.work()
    assert await state(world, base) == ("READY", 4)
    assert await world.reader.titles("quays", base) == ["Broken"]


async def test_a_first_version_that_fails_later_makes_the_index_say_so(world: World) -> None:
    await world.add("Cranes", CRANES)
    added = await world.services.library.add_source(
        world.subject(MANAGER),
        title="Scan",
        description=None,
        private=False,
        file=NewFile("scan.bin", "text/plain", b"\x00\x01\x02\x03" * 300_000),
    )
    world.sources["Scan"] = str(added.source_id)
    base = await empty_base(world, "Cranes", "Scan")
    await request(world, "rebuildIndex", base)
    await world.services.worker._run_due(world.services.worker.kinds[1])  # the index first
    assert await state(world, base) == ("READY", 1)
    await world.work()
    assert await state(world, base) == ("FAILED", 2)
    assert await failures(world, base) == {"Scan": UNREADABLE_REASON}


async def test_failures_name_only_what_the_caller_may_see(world: World) -> None:
    await world.grant("user:grace", "library.manage")
    await add_unreadable(world, "Open")
    grace = world.caller("user:grace")
    await add_unreadable(world, "Secret", private=True, by=grace)
    base = await empty_base(world, "Open")
    await grace.change(
        "addKnowledgeBaseSources",
        "knowledgeBase { id }",
        knowledgeBaseId=base,
        sourceIds=[world.sources["Secret"]],
    )
    await request(world, "rebuildIndex", base)
    await world.work()
    assert set(await failures(world, base)) == {"Open"}
    await world.grant("user:grace", "library.read")
    assert set(await failures(world, base, by=grace)) == {"Open", "Secret"}


@pytest.mark.parametrize("work", ["refreshIndex", "rebuildIndex", "repairIndex"])
async def test_who_does_not_manage_asks_for_nothing(world: World, work: str) -> None:
    await world.add("Cranes", CRANES)
    base = await world.knowledge_base("Cranes", auto_refresh=False)
    await add_version(world, "Cranes", QUAYS)
    before = await index(world, base)
    with pytest.raises(RefusedError) as refusal:
        await request(world, work, base, by=world.reader)
    assert refusal.value.code == "FORBIDDEN"
    assert await index(world, base) == before


async def test_an_id_that_is_unknown_or_of_another_workspace_is_not_found(world: World) -> None:
    async with World.made(world.services, world.address) as other:
        await other.add("Cranes", CRANES)
        foreign = await other.knowledge_base("Cranes")
        before = await index(other, foreign)
        messages = set()
        for base in (foreign, str(uuid4())):
            for work in ("refreshIndex", "rebuildIndex", "repairIndex"):
                with pytest.raises(RefusedError) as refusal:
                    await request(world, work, base)
                assert refusal.value.code == "NOT_FOUND"
                messages.add(refusal.value.errors[0]["message"])
        assert len(messages) == 1
        assert await index(other, foreign) == before


async def test_a_knowledge_base_deleted_while_it_is_built_leaves_nothing(world: World) -> None:
    await world.add("Cranes", CRANES)
    base = await world.knowledge_base("Cranes")
    await request(world, "rebuildIndex", base)
    async with built_up_to_the_exchange(world, base):
        deleting = asyncio.create_task(world.manager.change("deleteKnowledgeBase", "id", id=base))
        await asyncio.sleep(0.1)
    await deleting
    with pytest.raises(RefusedError) as refusal:
        await index(world, base)
    assert refusal.value.code == "NOT_FOUND"
    await let_go_of_the_old(world)
    await world.work()
    left = "SELECT id FROM indexes WHERE workspace_id = :w AND id <> :w"
    assert await rows(world, left) == []
    for table in ("index_postings", "index_members"):
        counted = f"SELECT count(*) FROM {table} WHERE workspace_id = :w AND index_id <> :w"  # noqa: S608
        assert await rows(world, counted) == [(0,)]
    assert await world.reader.titles("cranes") == ["Cranes"]
