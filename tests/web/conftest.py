"""A browser for all tests of the page, and its visitors."""

from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright

from tests.web.visits import Doorman
from tests.world import World

CHROMIUM = Path("/usr/bin/chromium")
HAS_CHROMIUM = CHROMIUM.exists()
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


@pytest_asyncio.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    if not HAS_CHROMIUM:
        pytest.skip(f"{CHROMIUM} is not installed")
    async with async_playwright() as playwright:
        opened = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        await opened.close()


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
