"""The page, where somebody may not, or something is not ready: it says so, and what helps (SPEC R4, R6, R25, R27)."""

import pytest
from playwright.async_api import expect

from tests.web.visits import RIGGING, Doorman, filled
from tests.world import MANAGER, READER, World


async def test_an_outsider_sees_nothing(door: Doorman, world: World) -> None:
    base = await filled(world)
    visit = await door.visit("user:nobody", f"/retrieval?kb={base}&query=rigging")
    await expect(visit.tab.locator(".empty-title")).to_have_text("Nothing found")
    await visit.go("/library")
    await expect(visit.tab.get_by_text("No sources yet")).to_be_visible()
    await expect(visit.tab.get_by_text("Add sources")).to_have_count(0)
    await visit.go(f"/library/{world.sources[RIGGING]}")
    await expect(visit.tab.get_by_role("alert")).to_contain_text("no such source, or you may not see it")
    await visit.go(f"/bases/{base}")
    await expect(visit.tab.get_by_text("None that you may see, at least.")).to_be_visible()
    await expect(visit.tab.locator("main button")).to_have_count(0)


@pytest.mark.parametrize("by", ["a websocket", "asking again"])
async def test_a_stale_index_is_refreshed_where_it_is_missed(door: Doorman, world: World, by: str) -> None:
    await world.add("Crane book", "Rigging is checked in May.")
    base = await world.knowledge_base(auto_refresh=False)
    await world.manager.change(
        "addKnowledgeBaseSources", "knowledgeBase { id }", knowledgeBaseId=base, sourceIds=[*world.sources.values()]
    )
    question = f"/retrieval?kb={base}&query=rigging"
    reader = await door.visit(READER, question)
    await expect(reader.tab.get_by_role("alert")).to_contain_text("Someone who manages the Library can mend that.")
    await expect(reader.button("Refresh the index")).to_have_count(0)

    manager = await door.visit(MANAGER, question)
    if by == "asking again":
        await manager.tab.route_web_socket("**/graphql", lambda socket: socket.close())
    await manager.button("Refresh the index").click()
    await expect(manager.tab.get_by_role("progressbar")).to_be_visible()
    await world.work()
    await expect(manager.tab.get_by_role("heading", name="1 hit")).to_be_visible()


async def test_a_failed_index_names_the_source_and_why(door: Doorman, world: World) -> None:
    base = await filled(world)
    file = {"name": "broken.pdf", "mediaType": "application/pdf", "text": "%PDF-1.7 no more than that"}
    source_id = world.sources[RIGGING]
    await world.manager.change("addSourceVersion", "version { id }", sourceId=source_id, file=file)
    await world.work()
    added = await world.manager.change(
        "addSource", "source { id } version { status statusReason }", title="Broken", file=file
    )
    await world.manager.change(
        "addKnowledgeBaseSources", "knowledgeBase { id }", knowledgeBaseId=base, sourceIds=[added["source"]["id"]]
    )
    await world.work()
    visit = await door.visit(MANAGER, f"/bases/{base}")
    failures = visit.tab.get_by_role("list", name="Sources that could not be read")
    await expect(failures.get_by_role("link", name="Broken")).to_be_visible()
    await expect(failures.locator(".reason").first).not_to_be_empty()
    await expect(visit.button("Repair the index")).to_be_visible()


async def test_a_rebuild_shows_while_the_ready_index_serves(door: Doorman, world: World) -> None:
    base = await filled(world)
    visit = await door.visit(MANAGER, f"/bases/{base}")
    await visit.button("Rebuild the index").click()
    await expect(
        visit.tab.get_by_text("Generation 2 is being built. Until then this one goes on serving.")
    ).to_be_visible()
    await expect(visit.tab.locator(".facts")).to_contain_text("Generation 1")
    await world.work()
    await expect(visit.tab.locator(".facts")).to_contain_text("Generation 2")
    await expect(visit.button("Rebuild the index")).to_be_focused()


async def test_why_a_source_is_not_there(door: Doorman, world: World) -> None:
    base = await filled(world)
    visit = await door.visit(READER, f"/retrieval?kb={base}&query=rigging&limit=1")
    await expect(visit.tab.get_by_role("heading", name="1 hit")).to_be_visible()
    await visit.label("Why isn’t it here?").fill("harbor")
    await visit.tab.get_by_role("button", name=f"Explain {RIGGING}").click()
    gates = visit.tab.get_by_role("list", name="Gates, in the order in which they are asked").get_by_role("listitem")
    await expect(gates).to_have_count(12)
    await expect(gates.filter(has_text="Title or description matches: passed")).to_have_count(1)
    await expect(gates.filter(has_text="Within the limit: failed")).to_have_count(1)
    assert f"why={world.sources[RIGGING]}" in visit.tab.url


async def test_a_notice_and_a_refusal_are_shown(door: Doorman) -> None:
    visit = await door.visit(READER, "/retrieval?query=the+who")
    await expect(visit.tab.get_by_text("The query has nothing to search for")).to_be_visible()
    await visit.go("/retrieval?query=x&limit=51")
    await expect(visit.tab.get_by_role("alert")).to_contain_text("INVALID_INPUT")
    await visit.go("/retrieval?query=x&kb=nonsense")
    await expect(visit.tab.get_by_role("alert")).to_contain_text("INVALID_INPUT")
