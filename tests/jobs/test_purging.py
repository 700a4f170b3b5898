"""Deleting a source: hidden at once, gone after a job (SPEC R19)."""

import asyncio
from uuid import UUID

import pytest

from app.jobs import purging
from app.jobs.claims import claim, due
from app.knowledge_bases.indexing import copy_members
from app.models import Source
from tests.knowledge_bases.indexes import add_unreadable, empty_base, index, let_go_of_the_old, request, rows, write
from tests.world import RefusedError, World

CRANES = "Cranes are inspected every quarter."
TABLES = (
    "sources",
    "source_versions",
    "source_grants",
    "version_access",
    "passages",
    "index_members",
    "index_postings",
    "index_failures",
    "knowledge_base_sources",
)


async def counts(world: World, source_id: str) -> dict[str, int]:
    """The tables that have rows of the source, and how many."""
    found = {}
    for table in TABLES:
        column = "id" if table == "sources" else "source_id"
        statement = f"SELECT count(*) FROM {table} WHERE workspace_id = :w AND {column} = :s"  # noqa: S608 our own
        ((found[table],),) = await rows(world, statement, s=UUID(source_id))
    return {table: count for table, count in found.items() if count}


async def delete(world: World, title: str) -> None:
    await world.manager.change("deleteSource", "id", id=world.sources[title])


async def test_a_deleted_source_is_hidden_at_once_and_purged_by_a_job(world: World) -> None:
    await world.add("Cranes", CRANES)
    await world.add("Quays", "Quays are swept.")
    base = await world.knowledge_base("Cranes", "Quays")
    await world.grant("user:ada", "source.read", world.sources["Cranes"])
    kept = await counts(world, world.sources["Quays"])
    assert await counts(world, world.sources["Cranes"]) == kept | {"source_grants": 2}
    await delete(world, "Cranes")
    for scope in (None, base):
        assert await world.reader.hits("cranes", scope) == []
        assert await world.reader.hits("inspected", scope) == []
    for again in (
        lambda: delete(world, "Cranes"),
        lambda: world.manager.ask("query Q($id: ID!) { source(id: $id) { id } }", id=world.sources["Cranes"]),
    ):
        with pytest.raises(RefusedError) as refusal:
            await again()
        assert refusal.value.code == "NOT_FOUND"
    state = await index(world, base)
    assert state is not None
    assert (state["state"], state["generation"]) == ("READY", 1)  # R15
    await world.work()
    assert await counts(world, world.sources["Cranes"]) == {}
    assert await counts(world, world.sources["Quays"]) == kept
    state = await index(world, base)
    assert state is not None
    assert (state["state"], state["generation"], state["memberCount"]) == ("READY", 1, 1)
    assert await world.reader.hits("swept", base) == [("Quays", 0)]


async def test_a_source_that_an_index_failed_for_leaves_no_trace(world: World) -> None:
    await add_unreadable(world, "Broken")
    base = await empty_base(world, "Broken")
    await request(world, "rebuildIndex", base)
    await world.work()
    assert (await counts(world, world.sources["Broken"]))["index_failures"] == 1
    await delete(world, "Broken")
    await world.work()
    assert await counts(world, world.sources["Broken"]) == {}


async def test_a_purge_that_was_cut_off_goes_on_from_there(world: World) -> None:
    await world.add("Cranes", CRANES)
    await world.knowledge_base("Cranes")
    await delete(world, "Cranes")
    for statement in (
        "DELETE FROM index_postings WHERE workspace_id = :w AND index_id = :w",
        "DELETE FROM index_members WHERE workspace_id = :w AND index_id = :w",
        "UPDATE sources SET attempt = 1, leased_by = 'dead', lease_until = now() - interval '1 second'"
        " WHERE workspace_id = :w",
    ):
        await write(world, statement)
    await world.work()
    assert await counts(world, world.sources["Cranes"]) == {}


async def test_a_purge_waits_for_a_build_that_is_copying_the_source(world: World) -> None:
    """Else rows would be copied behind its back, and stay in the index for ever."""
    await world.add("Cranes", CRANES)
    base = await empty_base(world, "Cranes")
    asked = await request(world, "rebuildIndex", base)
    source_id = UUID(world.sources["Cranes"])
    services = world.services
    async with services.database.write() as building:
        await copy_members(building, world.workspace_id, UUID(asked["id"]), [source_id])
        await delete(world, "Cranes")
        claimed = await claim(
            services.database,
            Source,
            due(Source, purging.SOURCE_NEEDS_WORK),
            world.workspace_id,
            services.worker._lease,
        )
        assert claimed is not None
        purge = asyncio.create_task(purging.purge_source(services.database, services.files, claimed))
        await asyncio.sleep(0.3)
        assert not purge.done()
    await purge
    assert await counts(world, world.sources["Cranes"]) == {}
    async with services.database.write() as building:
        await copy_members(building, world.workspace_id, UUID(asked["id"]), [source_id])
    assert await counts(world, world.sources["Cranes"]) == {}


async def test_a_generation_goes_in_batches(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purging, "BATCH", 3)
    await world.add("Cranes", "\n\n".join(f"# Part {n}\n\n" + f"word{n} and harbor. " * 100 for n in range(8)))
    base = await world.knowledge_base("Cranes")
    first = await index(world, base)
    assert first is not None
    assert first["passageCount"] > 2 * purging.BATCH
    await world.manager.change("deleteKnowledgeBase", "id", id=base)
    await let_go_of_the_old(world)
    await world.work()
    left = "SELECT count(*) FROM index_postings WHERE workspace_id = :w AND index_id <> :w"
    assert await rows(world, left) == [(0,)]
    assert await rows(world, "SELECT count(*) FROM indexes WHERE workspace_id = :w") == [(1,)]
    assert len(await world.reader.hits("harbor", limit=50)) == first["passageCount"]
