"""The page, whoever looks at it and however, and whatever others wrote (SPEC R25)."""

import os
import re

import pytest
from playwright.async_api import Locator, expect

from tests.web.axe import runner as axe
from tests.web.visits import RIGGING, Doorman, filled
from tests.world import MANAGER, READER, World

HOSTILE = "<img src=x onerror=hacked()><script>hacked()</script>\u202e\"'&"


async def test_what_people_wrote_is_shown_and_never_run(door: Doorman, world: World) -> None:
    source_id = await world.add(HOSTILE, f"Rigging {HOSTILE}", HOSTILE, by=world.manager)
    await world.knowledge_base(HOSTILE)
    visit = await door.visit(MANAGER, "/retrieval?query=rigging&passage=none")
    await visit.shows(HOSTILE)
    await expect(visit.tab.locator(".snippet")).to_contain_text("<script>hacked()</script>")
    await visit.tab.get_by_role("button", name=re.compile("^Read passage 0 of <img")).click()
    await expect(visit.tab.locator("dialog")).to_contain_text("Rigging <img src=x onerror=hacked()>")
    await visit.tab.keyboard.press("Escape")
    for view in ("/library", "/bases"):
        await visit.go(view)
        await visit.settled()
    await visit.go(f"/library/{source_id}")
    await visit.tab.get_by_text("Read the text of version 1").click()
    await expect(visit.tab.get_by_role("list", name="Passages")).to_contain_text("<script>hacked()</script>")
    assert await visit.tab.locator("main img, main script").count() == 0
    await visit.go("/library?query=%3Cscript%3Ehacked()%3C/script%3E")
    await expect(visit.label("Words of title or description")).to_have_value("<script>hacked()</script>")
    assert await visit.tab.locator("main img, main script").count() == 0


async def test_highlights_are_counted_in_code_points(door: Doorman, world: World) -> None:
    await world.add("Emoji", "🚢🚢 the rigging of 🚢")
    visit = await door.visit(READER, "/retrieval?query=rigging")
    await expect(visit.tab.locator(".hit mark")).to_have_text("rigging")


# for everybody


async def test_the_address_is_the_state_and_back_works(door: Doorman, world: World) -> None:
    base = await filled(world)
    visit = await door.visit(READER, f"/retrieval?kb={base}&query=rigging&limit=1&match=ANY_WORD")
    await expect(visit.tab.get_by_role("heading", name="1 hit")).to_be_visible()
    assert [await visit.label(name).input_value() for name in ("Knowledge base ID", "Limit", "Match")] == [
        base,
        "1",
        "ANY_WORD",
    ]
    await visit.label("Limit").fill("10")
    await visit.button("Run retrieval").click()
    await expect(visit.tab.get_by_role("heading", name="2 hits")).to_be_visible()
    await visit.button(f"Read passage 0 of {RIGGING}").click()
    await expect(visit.tab.get_by_role("dialog")).to_contain_text("Shackles and wires.")
    await visit.tab.reload()
    await expect(visit.tab.get_by_role("dialog")).to_contain_text("Shackles and wires.")
    await visit.tab.go_back()
    await expect(visit.tab.get_by_role("dialog")).to_have_count(0)
    await expect(visit.tab.get_by_role("heading", name="2 hits")).to_be_visible()
    await visit.tab.go_back()
    await expect(visit.tab.get_by_role("heading", name="1 hit")).to_be_visible()


async def test_a_keyboard_is_enough(door: Doorman, world: World) -> None:
    await filled(world)
    visit = await door.visit()
    keys = visit.tab.keyboard

    async def reach(place: Locator) -> None:
        for _ in range(40):
            if await place.evaluate("(element) => element === document.activeElement"):
                return
            await keys.press("Tab")
        raise AssertionError(f"no Tab leads to {place}")

    await reach(visit.label("Token"))
    await keys.insert_text(door.token(READER))
    await keys.press("Enter")
    await expect(visit.label("Query")).to_be_visible()
    await reach(visit.label("Query"))
    await keys.type("rigging")
    await keys.press("Enter")
    await expect(visit.tab.get_by_role("heading", name="2 hits")).to_be_visible()
    read = visit.button(f"Read passage 0 of {RIGGING}")
    await reach(read)
    assert await read.evaluate("(element) => getComputedStyle(element).outlineStyle") == "solid"
    await keys.press("Enter")
    await expect(visit.button("Close")).to_be_focused()
    await keys.press("Escape")
    await expect(visit.tab.get_by_role("dialog")).to_have_count(0)
    await expect(read).to_be_focused()
    await reach(visit.label("Why isn’t it here?"))
    await keys.type("crane")
    explain = visit.tab.get_by_role("button", name="Explain Crane book")
    await expect(explain).to_be_visible()
    await reach(explain)
    await keys.press("Enter")
    await expect(visit.tab.get_by_role("list", name=re.compile("^Gates"))).to_be_visible()


async def test_no_view_shuts_anybody_out(door: Doorman, world: World) -> None:
    try:
        axe.install()
    except axe.UNREACHABLE as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"npm's registry is not reached: {error}")
    base = await filled(world)
    source_id = world.sources[RIGGING]
    stranger = await door.visit(color_scheme="light")
    assert await axe.serious(stranger.tab) == []
    phone = {"width": 360, "height": 740}
    visit = await door.visit(MANAGER, "/library", viewport=phone)
    question = f"/retrieval?kb={base}&query=rigging"
    views = ["/library", f"/library/{source_id}", "/bases", f"/bases/{base}", "/retrieval?query=x&limit=0"]
    for view in (*views, f"{question}&why={source_id}", f"{question}&why={source_id}&passage={await passage(world)}"):
        await visit.go(view)
        await expect(visit.tab.locator("main h1")).to_be_visible()
        await visit.settled()
        assert await axe.serious(visit.tab) == [], view
        assert await visit.tab.evaluate("document.documentElement.scrollWidth") == phone["width"], view
    await expect(visit.tab.get_by_role("dialog")).to_be_visible()


async def passage(world: World) -> str:
    """The id of the first hit."""
    hit = (await world.manager.retrieve("rigging"))["hits"][0]
    return str(hit["chunkId"])
