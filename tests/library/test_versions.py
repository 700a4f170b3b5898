"""Versions of a source, and what becomes of their files (SPEC R5, R9, R16, R17, R19, R20)."""

import asyncio
import hashlib
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from app.library.service import Added, NewFile
from app.library.unused import delete_if_unused, delete_unused, keep_files
from app.library.versions import FileFacts, add_version
from tests.knowledge_bases import indexes
from tests.knowledge_bases.indexes import state
from tests.world import MANAGER, RefusedError, World

CRANES = "Cranes are inspected every quarter."
WINCHES = "Winches are oiled."
VERSION = "id number kept status statusReason passageCount sha256"


async def versions(world: World, title: str) -> list[dict[str, Any]]:
    """A source's versions, the newest first."""
    data = await world.manager.ask(
        f"query Q($id: ID!) {{ source(id: $id) {{ versions {{ nodes {{ {VERSION} }} }} }} }}", id=world.sources[title]
    )
    nodes: list[dict[str, Any]] = data["source"]["versions"]["nodes"]
    return nodes


async def add_unread(world: World, title: str, content: str) -> Added:
    """A new version that waits for a worker."""
    source_id = UUID(world.sources[title])
    added = await world.services.library.add_version(
        world.subject(MANAGER), source_id, NewFile("file.md", "text/markdown", content.encode())
    )
    await make_due(world)
    return added


async def make_due(world: World) -> None:
    await indexes.write(world, "UPDATE source_versions SET run_after = now() WHERE workspace_id = :w")


async def is_stored(world: World, content: str) -> bool:
    return await world.services.files.exists(world.workspace_id, hashlib.sha256(content.encode()).hexdigest())


async def test_the_same_file_again_is_no_new_version(world: World) -> None:
    await world.add("Cranes", CRANES)
    assert (await indexes.add_version(world, "Cranes", CRANES))["number"] == 1
    assert (await indexes.add_version(world, "Cranes", WINCHES))["number"] == 2
    assert (await indexes.add_version(world, "Cranes", CRANES))["number"] == 3
    assert [(v["number"], v["status"], v["passageCount"]) for v in await versions(world, "Cranes")] == [
        (3, "INDEXED", 1),
        (2, "INDEXED", 1),
        (1, "INDEXED", 1),
    ]


async def test_a_file_that_could_not_be_read_is_tried_again_as_a_new_version(world: World) -> None:
    await world.add("Cranes", CRANES)
    assert (await indexes.add_version(world, "Cranes", None))["number"] == 2
    assert (await indexes.add_version(world, "Cranes", None))["number"] == 3


async def test_the_old_version_serves_until_the_new_one_is_read(world: World) -> None:
    await world.add("Cranes", CRANES)
    base = await world.knowledge_base("Cranes")
    await add_unread(world, "Cranes", WINCHES)
    assert [v["status"] for v in await versions(world, "Cranes")] == ["PENDING", "INDEXED"]
    for scope in (None, base):
        assert await world.reader.hits("inspected", scope) == [("Cranes", 0)]
        assert await world.reader.hits("winches", scope) == []
    assert await state(world, base) == ("READY", 1)
    await world.work()
    for scope in (None, base):
        assert await world.reader.hits("inspected", scope) == []
        assert await world.reader.hits("winches", scope) == [("Cranes", 0)]
    assert await state(world, base) == ("READY", 2)


async def test_an_index_keeps_the_version_that_it_pins(world: World) -> None:
    await world.add("Cranes", CRANES)
    base = await world.knowledge_base("Cranes", auto_refresh=False)
    pinned = (await versions(world, "Cranes"))[0]["id"]
    newest = await indexes.add_version(world, "Cranes", WINCHES)
    members = "SELECT version_id FROM index_members WHERE workspace_id = :w AND index_id {} :w"
    assert await indexes.rows(world, members.format("<>")) == [(UUID(pinned),)]
    assert await indexes.rows(world, members.format("=")) == [(UUID(newest["id"]),)]
    await indexes.request(world, "refreshIndex", base)
    await world.work()
    hit = (await world.reader.retrieve("winches", base))["hits"][0]
    assert hit["resourceVersionId"] == newest["id"]


async def test_a_version_that_fails_leaves_the_former_one_serving_and_both_say_so(world: World) -> None:
    await world.add("Cranes", CRANES)
    base = await world.knowledge_base("Cranes")
    before = await indexes.index(world, base)
    failed = await indexes.add_version(world, "Cranes", None)
    assert (failed["number"], failed["status"], failed["passageCount"]) == (2, "FAILED", 0)
    assert failed["statusReason"].startswith("The file is not text")
    await world.work()
    assert await indexes.index(world, base) == before
    assert await state(world, base) == ("READY", 1)
    for scope in (None, base):
        hit = (await world.reader.retrieve("cranes", scope))["hits"][0]
        assert hit["resourceVersionId"] == (await versions(world, "Cranes"))[1]["id"]


async def test_versions_read_out_of_order_leave_the_newest_on_top(world: World) -> None:
    await world.add("Cranes", CRANES)
    await world.work()
    older, newer = await add_unread(world, "Cranes", "Second text."), await add_unread(world, "Cranes", "Third text.")
    for added in (newer, older):
        await world.services.worker.run_version(world.workspace_id, added.version_id)
    assert [v["status"] for v in await versions(world, "Cranes")] == ["INDEXED"] * 3
    assert await world.reader.hits("third") == [("Cranes", 0)]
    assert await world.reader.hits("second") == []


async def test_a_discarded_file_is_found_by_neither_search_and_is_gone(world: World) -> None:
    await world.add("Cranes", CRANES)
    base = await world.knowledge_base("Cranes")
    before = await indexes.index(world, base)
    version = (await versions(world, "Cranes"))[0]
    for _ in range(2):  # safe to repeat
        payload = await world.manager.change(
            "discardStoredFile", f"version {{ {VERSION} }}", sourceVersionId=version["id"]
        )
        assert payload["version"] == version | {"kept": False}
        for scope in (None, base):
            assert await world.reader.hits("inspected", scope) == []
            assert await world.reader.hits("cranes", scope) == []
        assert not await is_stored(world, CRANES)
    await world.work()
    assert await indexes.index(world, base) == before


async def test_a_file_that_another_source_has_too_stays(world: World) -> None:
    await world.add("Cranes", CRANES)
    await world.add("Copy", CRANES)
    assert len({(await versions(world, title))[0]["sha256"] for title in ("Cranes", "Copy")}) == 1
    version = (await versions(world, "Cranes"))[0]
    await world.manager.change("discardStoredFile", "version { id }", sourceVersionId=version["id"])
    assert await is_stored(world, CRANES)
    assert await world.reader.hits("inspected") == [("Copy", 0)]
    await world.manager.change("deleteSource", "id", id=world.sources["Copy"])
    await world.work()
    assert not await is_stored(world, CRANES)


async def test_a_version_that_is_hidden_is_not_discarded(world: World) -> None:
    await world.grant("user:grace", "library.manage")
    await world.add("Secret", CRANES, private=True, by=world.caller("user:grace"))
    (version_id,) = (await indexes.rows(world, "SELECT id FROM source_versions WHERE workspace_id = :w"))[0]
    with pytest.raises(RefusedError) as refusal:
        await world.manager.change("discardStoredFile", "version { id }", sourceVersionId=str(version_id))
    assert refusal.value.code == "NOT_FOUND"
    assert await is_stored(world, CRANES)
    assert await world.caller("user:grace").hits("cranes") == [("Secret", 0)]


async def test_an_unavailable_source_is_found_again_when_it_is_available(world: World) -> None:
    await world.add("Cranes", CRANES)
    base = await world.knowledge_base("Cranes")
    before = await indexes.index(world, base)
    for availability, hits in (("UNAVAILABLE", []), ("UNAVAILABLE", []), ("AVAILABLE", [("Cranes", 0)])):
        await world.manager.change(
            "setSourceAvailability",
            "source { availability }",
            id=world.sources["Cranes"],
            availability=availability,
        )
        for scope in (None, base):
            assert await world.reader.hits("inspected", scope) == hits
            assert await world.reader.hits("cranes", scope) == hits
    assert await indexes.index(world, base) == before


async def test_a_source_on_its_way_out_takes_no_version(world: World) -> None:
    await world.add("Cranes", CRANES)
    await indexes.write(world, "UPDATE sources SET lifecycle = 'DELETING' WHERE workspace_id = :w")
    facts = FileFacts("file.md", "text/markdown", 1, "0" * 64)
    with pytest.raises(Exception, match="There is no such source"):
        async with world.services.database.write() as session:
            await add_version(session, world.workspace_id, UUID(world.sources["Cranes"]), facts)
    assert await indexes.rows(world, "SELECT number FROM source_versions WHERE workspace_id = :w") == [(1,)]


async def test_a_file_is_not_deleted_while_a_row_that_names_it_is_written(world: World) -> None:
    await world.add("Cranes", CRANES)
    services, source_id = world.services, UUID(world.sources["Cranes"])
    stored = await services.files.put(world.workspace_id, WINCHES.encode())
    async with services.database.write() as session:
        await keep_files(session, world.workspace_id)
        deleting = asyncio.create_task(
            delete_if_unused(services.database, services.files, world.workspace_id, stored.sha256)
        )
        await asyncio.sleep(0.2)
        assert not deleting.done()
        facts = FileFacts("file.md", "text/markdown", stored.size, stored.sha256)
        await add_version(session, world.workspace_id, source_id, facts)
    assert await deleting is False
    assert await is_stored(world, WINCHES)


async def test_a_file_that_was_deleted_before_its_row_is_stored_again(world: World) -> None:
    """The upload of a content whose last other version goes at the same moment."""
    await world.add("Cranes", CRANES)
    services, source_id = world.services, UUID(world.sources["Cranes"])
    async with services.database.write() as session:
        # Whoever deletes a file has this row alone: the upload has stored its file when it comes to wait here.
        await session.execute(
            text("SELECT 1 FROM indexes WHERE workspace_id = :w AND id = :w FOR NO KEY UPDATE"),
            {"w": world.workspace_id},
        )
        adding = asyncio.create_task(
            services.library.add_version(
                world.subject(MANAGER), source_id, NewFile("file.md", "text/markdown", WINCHES.encode())
            )
        )
        await indexes.until(lambda: is_stored(world, WINCHES))
        await services.files.delete(world.workspace_id, hashlib.sha256(WINCHES.encode()).hexdigest())
    added = await adding
    assert await is_stored(world, WINCHES)
    assert (await versions(world, "Cranes"))[0]["id"] == str(added.version_id)


async def test_files_that_nothing_names_are_collected_when_they_are_old(world: World) -> None:
    await world.add("Cranes", CRANES)
    services = world.services
    await services.files.put(world.workspace_id, WINCHES.encode())
    folder = services.settings.data_dir / "files" / str(world.workspace_id)
    torn = next(folder.iterdir()) / f"{'0' * 64}#1"
    torn.write_bytes(b"half of a file")
    now = (await indexes.rows(world, "SELECT now(), now() + interval '1 minute'"))[0]
    await delete_unused(services.database, services.files, world.workspace_id, now[0].replace(year=2000))
    assert await is_stored(world, WINCHES)
    assert torn.exists()
    assert await delete_unused(services.database, services.files, world.workspace_id, now[1]) == 1
    assert not await is_stored(world, WINCHES)
    assert not torn.exists()
    assert await is_stored(world, CRANES)


async def test_the_worker_collects_once_a_day(world: World) -> None:
    await world.work()
    next_time = "SELECT run_after - now() > interval '23 hours' FROM indexes WHERE workspace_id = :w AND id = :w"
    assert await indexes.rows(world, next_time) == [(True,)]
