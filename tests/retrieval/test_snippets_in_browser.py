"""Inserted as HTML, a snippet shows what was written and runs nothing, as a real browser has it (SPEC R14)."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from playwright.async_api import Page, async_playwright

from app.query import parse
from app.retrieval.snippets import highlights, snippet
from tests.retrieval import hostile

CHROMIUM = Path("/usr/bin/chromium")
pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]

# A snippet goes where a front end puts it: into an element, and between quotes of an attribute of another.
INSERT = """
snippets => {
  const place = document.body.appendChild(document.createElement('div'));
  return snippets.map(html => {
    place.innerHTML = html;
    const text = [...place.childNodes].every(node => node.nodeType === Node.TEXT_NODE) ? place.textContent : null;
    place.innerHTML = `<p title="${html}" data-x='${html}'>${html}</p>`;
    const [p] = place.children;
    const alone = place.childNodes.length === 1 && p.attributes.length === 2 && p.children.length === 0;
    return [text, alone && p.title, alone && p.dataset.x, alone && p.textContent];
  });
}
"""


@pytest.fixture(scope="module")
async def page() -> AsyncIterator[Page]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield await browser.new_page()
        await browser.close()


def hostile_snippets(count: int) -> list[tuple[str, str]]:
    """(text, HTML) of as many snippets of hostile texts; the same ones in every run."""
    made: dict[str, str] = {}

    @settings(
        max_examples=count, derandomize=True, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(hostile.texts(), hostile.queries)
    def make(text: str, query: str) -> None:
        found = snippet(text, highlights(text, parse(query)))
        made[found.text] = found.html

    make()
    for text in (*hostile.MARKUP, *(f"{a}{b}" for a in hostile.MARKUP for b in hostile.MARKUP)):
        found = snippet(text, ())
        made[found.text] = found.html
    return list(made.items())


async def test_every_snippet_is_shown_as_it_was_written_and_runs_nothing(page: Page) -> None:
    happened: list[str] = []
    page.on("dialog", lambda dialog: happened.append(f"dialog: {dialog.message}"))
    page.on("request", lambda request: happened.append(f"request: {request.url}"))
    page.on("console", lambda message: happened.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: happened.append(f"error: {error}"))
    snippets = hostile_snippets(700)
    shown = await page.evaluate(INSERT, [html for _, html in snippets])
    await page.wait_for_timeout(200)  # an image that is missing takes a moment to say so
    wrong = [(text, html) for (text, html), seen in zip(snippets, shown, strict=True) if seen != [text] * 4]
    assert wrong == []
    assert happened == []
    assert len(snippets) > 900
    assert json.dumps(snippets).count("onerror=") > 100


async def test_the_same_texts_unescaped_would_run(page: Page) -> None:
    """The test above can fail."""
    happened: list[str] = []

    async def dismissed(dialog: object) -> None:
        happened.append("dialog")
        await dialog.dismiss()  # type: ignore[attr-defined] # playwright's Dialog

    page.on("dialog", dismissed)
    shown = await page.evaluate(INSERT, ["<img src=x onerror=alert(1)>"])
    await page.wait_for_timeout(300)
    assert shown[0][0] is None
    assert "dialog" in happened
