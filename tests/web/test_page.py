"""The page at `/`, driven through in a browser: it shows what the API answers to its visitor, and runs nothing else."""

import json
import os
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from html import unescape
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, async_playwright, expect
from playwright.async_api import Page as Tab
from starlette.applications import Starlette
from starlette.routing import Route

from app.access.tokens import issue
from app.settings import Settings
from app.web.page import library_page
from graphql_schema.asgi import create
from graphql_schema.limits import Documents
from graphql_schema.schema import schema
from tests.serving import serving
from tests.web.axe import runner as axe
from tests.world import MANAGER, READER, World

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
RIGGING = "Harbor rigging"
HOSTILE = "<img src=x onerror=hacked()><script>hacked()</script>\u202e\"'&"

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed")


@pytest_asyncio.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        opened = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        await opened.close()


@dataclass
class Visit:
    """One visitor in a tab of its own, and what the tab asked for and complained of."""

    tab: Tab
    address: str
    hosts: set[str] = field(default_factory=set)
    complaints: list[str] = field(default_factory=list)

    def watch(self) -> None:
        self.tab.set_default_timeout(15_000)
        self.tab.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))
        self.tab.on("websocket", lambda socket: self.hosts.add(urlsplit(socket.url).netloc))
        self.tab.on("console", lambda message: self.complaints.append(message.text))
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))

    async def go(self, view: str) -> None:
        await self.tab.goto(f"{self.address}/#{view}")

    def button(self, name: str) -> Locator:
        return self.tab.get_by_role("button", name=name, exact=True)

    def label(self, name: str) -> Locator:
        return self.tab.get_by_label(name, exact=True)

    async def titles(self) -> list[str]:
        """The titles of the hits, in order."""
        return await self.tab.locator(".hit h3").all_inner_texts()

    async def settled(self) -> None:
        await expect(self.tab.locator("[aria-busy=true]")).to_have_count(0)


class Doorman:
    """Opens tabs for visitors, and shuts them all in the end."""

    def __init__(self, browser: Browser, world: World) -> None:
        self._browser, self._world = browser, world
        self.visits: list[Visit] = []

    def token(self, subject: str) -> str:
        return issue(self._world.services.settings, subject, self._world.workspace, (), timedelta(hours=1))

    async def visit(
        self, subject: str | None = None, view: str = "/retrieval", address: str | None = None, **looks: object
    ) -> Visit:
        """A tab with this view, signed in as `subject`; of another server if `address` says so."""
        context = await self._browser.new_context(**looks)  # type: ignore[arg-type]  # as Playwright names them
        if subject is not None:
            # as if it had been pasted before; once, so that signing out counts
            kept = f"if (!window.name) sessionStorage.setItem('gctl.token', '{self.token(subject)}'); window.name = 'x'"
            await context.add_init_script(kept)
        visit = Visit(await context.new_page(), address or self._world.address)
        visit.watch()
        self.visits.append(visit)
        await visit.go(view)
        await expect(visit.tab.locator("h1")).to_be_visible()
        return visit


@pytest_asyncio.fixture
async def door(browser: Browser, world: World) -> AsyncIterator[Doorman]:
    """Whatever is done in a test: only our own server is asked, and the browser has nothing to complain of."""
    doorman = Doorman(browser, world)
    yield doorman
    for visit in doorman.visits:
        await visit.tab.context.close()
        assert visit.hosts == {urlsplit(visit.address).netloc}
        # what the browser itself writes of an answer that is an error
        assert [text for text in visit.complaints if "Failed to load resource" not in text] == []


async def filled(world: World) -> str:
    """Two sources in a knowledge base: one says rigging, the other is called so."""
    await world.add("Crane book", "Rigging is checked in May.\n\nAll of it.", "Of cranes")
    await world.add(RIGGING, "Shackles and wires.")
    return await world.knowledge_base("Crane book", RIGGING)


# what the server gives


async def test_the_page_comes_with_a_policy_and_nothing_inline(server: str) -> None:
    async with httpx2.AsyncClient() as client:
        page = await client.get(server)
        script = await client.get(f"{server}/static/page/main.js")
    assert page.headers["content-security-policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
        "trusted-types 'none'"
    )
    assert (page.headers["referrer-policy"], page.headers["x-content-type-options"]) == ("no-referrer", "nosniff")
    assert re.findall(r"<script(?![^>]* src=)|<style| style=| on\w+=", page.text) == []
    addresses = re.findall(r'(?:src|href)="(?!data:)([^"]+)"', page.text)
    assert [address for address in addresses if not address.startswith(("/static/page/", "/graphql", "#main"))] == []
    assert (script.headers["cache-control"], script.headers["x-content-type-options"]) == ("no-cache", "nosniff")


@pytest.mark.parametrize(
    ("sample", "host", "offered"), [(True, "127.0.0.1", 5), (True, "pages.example", 0), (False, "127.0.0.1", 0)]
)
async def test_only_the_sample_on_this_very_machine_offers_people(
    settings: Settings, sample: bool, host: str, offered: int
) -> None:
    page = library_page(settings.model_copy(update={"sample": sample}))
    async with serving(Starlette(routes=[Route("/", page)])) as address, httpx2.AsyncClient() as client:
        html = (await client.get(address, headers={"host": host})).text
    people = re.search(r'data-people="([^"]*)"', html)
    assert people
    assert len(json.loads(unescape(people[1]))) == offered


async def test_every_operation_of_the_page_fits_the_schema(door: Doorman) -> None:
    visit = await door.visit()
    operations = await visit.tab.evaluate("async () => ({ ...(await import('/static/page/documents.js')) })")
    documents = Documents(schema._schema, Settings())
    assert len(operations) > 20
    for document in operations.values():
        assert documents.operation(document, None).cost.total({"limit": 50}) < 3_000


# signing in


async def test_one_signs_in_with_a_token_that_stays_in_the_tab(door: Doorman) -> None:
    visit = await door.visit()
    await visit.label("Token").fill("no.such.token")
    await visit.button("Sign in").click()
    await expect(visit.tab.get_by_role("alert")).to_contain_text("UNAUTHENTICATED")
    await visit.label("Token").fill(f" Bearer {door.token(MANAGER)} ")
    await visit.button("Sign in").click()
    await visit.button(MANAGER).click()
    await expect(visit.tab.locator("#who")).to_contain_text("manages the Library")
    assert "eyJ" not in visit.tab.url
    assert await visit.tab.evaluate("[localStorage.length, document.cookie, sessionStorage.length]") == [0, "", 1]
    await visit.button("Sign out").click()
    await expect(visit.tab.get_by_role("heading", name="Sign in")).to_be_visible()
    assert await visit.tab.evaluate("sessionStorage.length") == 0


async def test_a_person_of_the_sample_is_a_click_away(door: Doorman, settings: Settings) -> None:
    async with serving(create(settings.model_copy(update={"sample": True}))) as address:
        visit = await door.visit(address=address)
        await visit.tab.get_by_role("button", name="user:mallory").click()
        # the tests' database has no workspace for the sample: the API says so, and the page shows it
        await expect(visit.tab.get_by_role("alert")).to_contain_text("names a workspace that does not exist")
        await visit.tab.goto("about:blank")


async def test_a_token_that_is_not_good_any_more_ends_the_session(door: Doorman) -> None:
    visit = await door.visit(MANAGER)
    # as when it expires: from now on the server does not take it
    await visit.tab.evaluate("import('/static/page/session.js').then(({ session }) => (session.token = 'x.y.z'))")
    await visit.tab.get_by_role("link", name="Library", exact=True).click()
    await expect(visit.tab.get_by_role("heading", name="Sign in")).to_be_visible()
    await expect(visit.tab.get_by_role("alert")).to_contain_text("UNAUTHENTICATED")
    assert await visit.tab.evaluate("sessionStorage.length") == 0


# the whole way


async def test_add_build_retrieve(door: Doorman, world: World) -> None:
    visit = await door.visit(MANAGER, "/library")
    tab = visit.tab
    files = [
        {"name": "cranes.md", "mimeType": "text/markdown", "buffer": b"Rigging is checked in May."},
        {"name": "rigging.html", "mimeType": "text/html", "buffer": b"<p>Shackles, wires.<!--" + b"x" * 1_100_000},
    ]
    await tab.get_by_label("Choose files").set_input_files(files)  # type: ignore[arg-type]
    await tab.get_by_role("group", name="rigging.html").get_by_label("Title").fill(RIGGING)
    await tab.get_by_role("group", name="rigging.html").get_by_label("Description").fill("For the yard")
    await visit.button("Add 2 sources").click()
    drafts = tab.get_by_role("list", name="Files to add")
    await expect(drafts.get_by_role("link")).to_have_text(["cranes", RIGGING])
    await world.work()  # the second file is larger than a request without an upload, and may be read by a job
    await expect(drafts.get_by_text("Indexed")).to_have_count(2)

    await tab.get_by_role("link", name="Knowledge bases").click()
    await visit.label("Name").fill("Yard")
    for words in ("cranes", "yard"):
        await visit.label("Find sources").fill(words)
        await tab.get_by_role("button", name=re.compile("^Choose")).click()
    await expect(tab.get_by_role("list", name="Chosen sources").get_by_role("listitem")).to_have_count(2)
    await visit.button("Make the knowledge base").click()
    await visit.button("Build the index").click()
    await expect(tab.get_by_role("progressbar")).to_be_visible()
    await world.work()
    await expect(tab.locator(".facts .badge")).to_have_text("Ready")

    await tab.get_by_role("link", name="Retrieve from it").click()
    await expect(visit.label("Knowledge base")).to_have_value(re.compile("-"))
    await visit.label("Query").fill("rigging")
    await visit.button("Run retrieval").click()
    await expect(tab.get_by_role("heading", name="2 hits")).to_be_visible()
    assert await visit.titles() == ["cranes", RIGGING]  # the text first, then the title
    assert await tab.locator(".hit mark").all_inner_texts() == ["Rigging"]
    await expect(tab.locator("#said")).to_have_text("2 hits.")


async def test_a_file_that_is_too_large_is_not_sent(door: Doorman, settings: Settings, world: World) -> None:
    async with serving(create(settings.model_copy(update={"max_file_bytes": 1_000}))) as address:
        visit = await door.visit(MANAGER, "/library", address)
        file = {"name": "long.txt", "mimeType": "text/plain", "buffer": b"x" * 1_001}
        await visit.tab.get_by_label("Choose files").set_input_files([file])  # type: ignore[list-item]
        await visit.button("Add to the Library").click()
        await expect(visit.tab.get_by_role("alert")).to_contain_text("long.txt has 1 kB, and a file may have 1 kB.")
        await visit.tab.goto("about:blank")
    assert await world.manager.ask("{ sources { nodes { id } } }") == {"sources": {"nodes": []}}


async def test_a_file_is_dropped(door: Doorman) -> None:
    visit = await door.visit(MANAGER, "/library")
    dropped = await visit.tab.evaluate_handle(
        "() => { const given = new DataTransfer(); given.items.add(new File(['Tides.'], 'tides.txt')); return given; }"
    )
    await visit.tab.locator(".drop").dispatch_event("drop", {"dataTransfer": dropped})
    await expect(visit.label("Title")).to_have_value("tides")
    await expect(visit.label("Title")).to_be_focused()


async def test_a_source_is_edited_shared_and_deleted(door: Doorman, world: World) -> None:
    source_id = await world.add("Memo", "Northquay buys Southquay.", private=True)
    visit = await door.visit(MANAGER, f"/library/{source_id}")
    await visit.label("Title").fill("Merger memo")
    await visit.label("Private: reading the workspace does not open it").uncheck()
    await visit.button("Save").click()
    await expect(visit.tab.get_by_role("heading", level=1)).to_have_text("Merger memo")
    assert await world.reader.titles("merger") == ["Merger memo"]

    await visit.label("Subject").fill("user:grace")
    await visit.button("Grant").click()
    await visit.button("Revoke Read it, private or not from user:grace").click()
    await expect(visit.tab.get_by_text("No grants")).to_be_visible()
    await visit.label("Subject").fill("nonsense")
    await visit.button("Grant").click()
    await expect(visit.tab.get_by_role("alert")).to_contain_text("INVALID_INPUT")

    await visit.button("Take out of search").click()
    await expect(visit.button("Let searches find it")).to_be_visible()
    assert await world.reader.titles("merger") == []

    await visit.button("Delete the source").click()
    await visit.button("Cancel").click()
    await visit.button("Delete the source").click()
    await visit.button("Delete").click()
    await expect(visit.tab.get_by_text("No sources yet")).to_be_visible()
    assert await world.manager.ask("{ sources { nodes { id } } }") == {"sources": {"nodes": []}}


# who may not, and what is not ready


async def test_an_outsider_sees_nothing(door: Doorman, world: World) -> None:
    base = await filled(world)
    visit = await door.visit("user:nobody", f"/retrieval?kb={base}&query=rigging")
    await expect(visit.tab.get_by_text("Nothing found")).to_be_visible()
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
    await expect(gates).to_have_count(11)
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


# what others wrote


async def test_what_people_wrote_is_shown_and_never_run(door: Doorman, world: World) -> None:
    source_id = await world.add(HOSTILE, f"Rigging {HOSTILE}", HOSTILE, by=world.manager)
    await world.knowledge_base(HOSTILE)
    visit = await door.visit(MANAGER, "/retrieval?query=rigging&passage=none")
    assert await visit.titles() == [HOSTILE]
    await expect(visit.tab.locator(".snippet")).to_contain_text("<script>hacked()</script>")
    await visit.tab.get_by_role("button", name=re.compile("^Read passage 0 of <img")).click()
    await expect(visit.tab.locator("dialog")).to_contain_text("Rigging <img src=x onerror=hacked()>")
    await visit.tab.keyboard.press("Escape")
    for view in ("/library", f"/library/{source_id}", "/bases"):
        await visit.go(view)
        await visit.settled()
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_no_view_shuts_anybody_out(door: Doorman, world: World, scheme: str) -> None:
    try:
        axe.install()
    except axe.Unreachable as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"npm's registry is not reached: {error}")
    base = await filled(world)
    source_id = world.sources[RIGGING]
    stranger = await door.visit(color_scheme=scheme)
    assert await axe.serious(stranger.tab) == []
    phone = {"width": 360, "height": 740}
    visit = await door.visit(MANAGER, "/library", color_scheme=scheme, viewport=phone)
    question = f"/retrieval?kb={base}&query=rigging"
    for view in (
        "/library",
        f"/library/{source_id}",
        "/bases",
        f"/bases/{base}",
        f"{question}&why={source_id}",
        "/retrieval?query=x&limit=0",
    ):
        await visit.go(view)
        await expect(visit.tab.locator("main h1")).to_be_visible()
        await visit.settled()
        assert await axe.serious(visit.tab) == [], view
        assert await visit.tab.evaluate("document.documentElement.scrollWidth") == phone["width"], view
    await visit.go(question)
    await visit.button(f"Read passage 0 of {RIGGING}").click()
    assert await axe.serious(visit.tab) == []
