"""GraphiQL: a page that works with no internet, under a policy that lets nothing else in (SPEC R21)."""

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hatchling.builders.wheel import WheelBuilder
from playwright.async_api import Locator, async_playwright, expect
from playwright.async_api import Page as Tab
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from app.settings import Settings
from app.web import build
from app.web.graphiql import STATIC_FOLDER, STATIC_URL, graphiql_page
from graphql_schema.limits import Documents
from graphql_schema.schema import schema
from tests.graphql_schema.door import Door
from tests.serving import serving

ROOT = Path(__file__).parents[2]
FILES = json.loads((ROOT / "app" / "web" / "graphiql.json").read_text())
CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def files() -> Path:
    """The folder of GraphiQL's files, fetched as a build does."""
    folder = STATIC_FOLDER / "graphiql"
    try:
        build.fetch(FILES, folder)
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"npm's registry is not reached: {error}")
    return folder


@pytest.mark.usefixtures("files")
def test_a_page_of_its_own_files_names_no_other_host() -> None:
    page = graphiql_page()
    addresses = re.findall(r'(?:src|href)="([^"]+)"', page.html)
    assert [address for address in addresses if not address.startswith("data:image/svg+xml,")] == [
        *(f"/static/graphiql/{name}" for name in FILES),
        "/static/graphiql.css",
        "/static/graphiql.js",
    ]
    assert page.headers["content-security-policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; font-src data:; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    assert "notice" not in page.html


def test_without_them_it_names_a_cdn_with_the_same_hashes_and_says_so(tmp_path: Path) -> None:
    page = graphiql_page(folder=tmp_path)
    for file in FILES.values():
        url = f"https://cdn.jsdelivr.net/npm/{file['package']}/{file['path']}"
        assert f'"{url}" integrity="{file["integrity"]}" crossorigin="anonymous"' in page.html
    assert 'id="notice"' in page.html
    assert "script-src 'self' https://cdn.jsdelivr.net/npm/;" in page.headers["content-security-policy"]


def test_nothing_given_to_the_page_can_leave_its_attribute() -> None:
    page = graphiql_page(endpoint='/g"><script>', tokens=[('Ada "<b>"', "t'&")])
    assert "<script>" not in page.html
    assert "<b>" not in page.html
    attribute = re.search(r'data-tokens="([^"]*)"', page.html)
    assert attribute
    assert json.loads(unescape(attribute[1])) == [{"label": 'Ada "<b>"', "token": "t'&"}]


@pytest.mark.parametrize("example", re.findall("`(#[^`]+)`", (STATIC_FOLDER / "graphiql.js").read_text()))
def test_the_examples_fit_the_schema(example: str) -> None:
    documents = Documents(schema._schema, Settings())
    assert documents.operation(example, None).cost.total({}) > 0


# the build


def test_a_second_build_fetches_nothing(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9")
    build.fetch(FILES, files)


@pytest.mark.usefixtures("files")
def test_a_file_that_is_not_the_pinned_one_is_refused(tmp_path: Path) -> None:
    other = {"react.js": {**FILES["react.production.min.js"], "integrity": "sha384-other"}}
    with pytest.raises(ValueError, match="not the file that was pinned"):
        build.fetch(other, tmp_path / "graphiql")
    assert not (tmp_path / "graphiql").exists()


def test_a_build_that_reaches_no_registry_goes_on_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    web = tmp_path / "app" / "web"
    web.mkdir(parents=True)
    (web / "graphiql.json").write_text(json.dumps(FILES))
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\nversion = "1"\n')
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9")
    builder = WheelBuilder(str(tmp_path))
    hook = build.GraphiQLFiles(str(tmp_path), {}, builder.config, builder.metadata, "", "wheel", builder.app)
    hook.initialize("standard", {})
    assert "loads them from a CDN" in capfd.readouterr().err
    assert not (web / "static").exists()


def test_the_wheel_holds_the_files(files: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path], cwd=ROOT, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {f"app/web/static/graphiql/{path.name}" for path in files.iterdir()} <= set(names)
    assert "app/web/static/graphiql.js" in names
    assert "app/web/build.py" not in names


# in a browser


needs_chromium = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed")


@pytest.fixture(scope="session")
async def tab() -> AsyncIterator[Tab]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield await browser.new_page()
        await browser.close()


async def ask(tab: Tab, operation: str, name: str) -> Locator:
    """Types an operation, runs it, and gives the place where the answer will be."""
    editor = ".graphiql-query-editor .CodeMirror"
    await tab.locator(editor).evaluate("(element, text) => element.CodeMirror.setValue(text)", operation)
    await expect(tab.get_by_role("tab", name=name, selected=True)).to_be_visible()  # GraphiQL has read it
    await tab.get_by_role("button", name="Execute query").click()
    return tab.locator(".graphiql-response .CodeMirror-code")


@dataclass
class Seen:
    """What a tab asked for, and what it complained of."""

    hosts: set[str] = field(default_factory=set)
    complaints: list[str] = field(default_factory=list)

    def watch(self, tab: Tab) -> None:
        tab.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))
        tab.on("websocket", lambda socket: self.hosts.add(urlsplit(socket.url).netloc))
        tab.on("console", lambda message: self.complaints.append(message.text))
        tab.on("pageerror", lambda error: self.complaints.append(str(error)))


def application(*tokens: tuple[str, str]) -> Starlette:
    door = Door(page=lambda _: graphiql_page(tokens=tokens))
    return Starlette(routes=[Mount(STATIC_URL, StaticFiles(directory=STATIC_FOLDER)), Mount("/", door.app)])


@pytest.mark.usefixtures("files")
@needs_chromium
async def test_in_a_browser_it_queries_and_subscribes_and_asks_no_other_host(tab: Tab) -> None:
    seen = Seen()
    seen.watch(tab)
    async with serving(application(("Ada", "ada"))) as address:
        await tab.goto(f"{address}/graphql")
        await expect(tab.get_by_role("tab", name="Search")).to_be_visible()
        await expect(await ask(tab, "query Me { viewer }", "Me")).to_contain_text("user:ada")
        await expect(await ask(tab, "subscription Count { count(to: 3) }", "Count")).to_contain_text('"count": 2')
        await tab.goto("about:blank")
        assert seen == Seen({urlsplit(address).netloc}, [])


@pytest.mark.usefixtures("files")
@needs_chromium
async def test_a_caller_that_is_picked_asks_in_every_tab(tab: Tab) -> None:
    async with serving(application(("Eve", "eve"), ("Ada", "ada"))) as address:
        await tab.goto(f"{address}/graphql")
        await expect(await ask(tab, "query Me { viewer }", "Me")).to_contain_text("The token is not valid.")
        await tab.get_by_label("Ask as").select_option("Ada")
        await expect(await ask(tab, "query Again { viewer }", "Again")).to_contain_text("user:ada")
        await tab.get_by_role("tab", name="Search").click()
        await expect(await ask(tab, "query There { viewer }", "There")).to_contain_text("user:ada")
        await tab.goto("about:blank")
