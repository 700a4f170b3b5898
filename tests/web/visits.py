"""A browser's tabs, and who looks into them."""

from dataclasses import dataclass, field
from datetime import timedelta
from urllib.parse import urlsplit

from playwright.async_api import Browser, Locator, expect
from playwright.async_api import Page as Tab

from app.access.tokens import issue
from tests.world import World

RIGGING = "Harbor rigging"


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

    async def shows(self, *titles: str) -> None:
        """The hits are of these sources, in this order."""
        await expect(self.tab.locator(".hit h3")).to_have_text([*titles])

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
        context = await self._browser.new_context(reduced_motion="reduce", **looks)  # type: ignore[arg-type]  # as Playwright names them
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


async def filled(world: World) -> str:
    """Two sources in a knowledge base: one says rigging, the other is called so."""
    await world.add("Crane book", "Rigging is checked in May.\n\nAll of it.", "Of cranes")
    await world.add(RIGGING, "Shackles and wires.")
    return await world.knowledge_base("Crane book", RIGGING)
