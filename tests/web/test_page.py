"""The page at `/`, driven through in a browser: what the server gives, signing in, the whole way (SPEC R25)."""

import json
import re
from html import unescape

import httpx2
import pytest
from playwright.async_api import FilePayload, expect

from app.settings import Settings
from graphql_schema.asgi import create
from graphql_schema.limits import Documents
from graphql_schema.schema import schema
from tests.serving import serving
from tests.web.visits import RIGGING, Doorman
from tests.world import MANAGER, World

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
    ("sample", "host", "offered"),
    [
        (True, "127.0.0.1:8400", 5),
        (True, "[::1]:8400", 5),
        (True, "localhost", 5),
        (True, "pages.example", 0),
        (True, "no_such_name.example", 0),
        (True, "127.0.0.1.example", 0),
        (False, "127.0.0.1", 0),
    ],
)
async def test_only_the_sample_on_this_very_machine_offers_people(
    settings: Settings, sample: bool, host: str, offered: int
) -> None:
    app = create(settings.model_copy(update={"sample": sample}))
    async with serving(app) as address, httpx2.AsyncClient() as client:
        for path, attribute in (("/", "data-people"), ("/graphql", "data-tokens")):
            html = (await client.get(address + path, headers={"host": host, "accept": "text/html"})).text
            people = re.search(rf'{attribute}="([^"]*)"', html)
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
        FilePayload(name="cranes.md", mimeType="text/markdown", buffer=b"Rigging is checked in May."),
        FilePayload(name="rigging.html", mimeType="text/html", buffer=b"<p>Shackles, wires.<!--" + b"x" * 1_100_000),
    ]
    await tab.get_by_label("Choose files").set_input_files(files)
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
    await visit.shows("cranes", RIGGING)  # the text first, then the title
    assert await tab.locator(".hit mark").all_inner_texts() == ["Rigging"]
    await expect(tab.locator("#said")).to_have_text("2 hits.")


async def test_a_file_that_is_too_large_is_not_sent(door: Doorman, settings: Settings, world: World) -> None:
    async with serving(create(settings.model_copy(update={"max_file_bytes": 1_000}))) as address:
        visit = await door.visit(MANAGER, "/library", address)
        file = FilePayload(name="long.txt", mimeType="text/plain", buffer=b"x" * 1_001)
        await visit.tab.get_by_label("Choose files").set_input_files([file])
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
