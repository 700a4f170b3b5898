"""What changes counts in the very next retrieval, by knowledge base and by workspace, with no index work (R1, R15)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio
from sqlalchemy import select

from app.library.sources import change_source
from app.models import VersionAccess
from app.services import Services
from tests.access.filling import Draft, fill
from tests.world import Caller, World

OWNER = "user:owner"
ADA = "user:ada"
SECOND = {"name": "second.md", "mediaType": "text/markdown", "text": "Still by the quayside."}


@dataclass
class Desk:
    """One source in one knowledge base. Its owner changes it; nobody does a job."""

    world: World
    base: str
    source_id: str
    version_id: str
    private: bool

    @property
    def owner(self) -> Caller:
        return self.world.caller(OWNER)

    async def change(self, mutation: str, **fields: Any) -> None:
        await self.owner.change(mutation, "__typename", **fields)

    async def found(self, caller: Caller, *queries: str) -> list[bool]:
        """For each query, by its text and by its title unless told otherwise: whether both scopes find the source."""
        answers = []
        for query in queries or ("quayside", "ledger"):
            by_base, by_workspace = [len(await caller.titles(query, scope)) for scope in (self.base, None)]
            assert by_base == by_workspace, query
            answers.append(by_base == 1)
        return answers

    async def index(self) -> dict[str, Any]:
        document = "query ($kb: ID!) { knowledgeBase(id: $kb) { index { id state generation builtAt } } }"
        data = await self.owner.ask(document, kb=self.base)
        index: dict[str, Any] = data["knowledgeBase"]["index"]
        return index


@pytest_asyncio.fixture(params=[False, True], ids=["open", "private"])
async def desk(world: World, services: Services, request: pytest.FixtureRequest) -> AsyncIterator[Desk]:
    draft = Draft("Ledger", "By the quayside.", OWNER, private=request.param)
    await fill(services, world.workspace_id, [draft])
    world.sources["Ledger"] = str(draft.id)
    await world.grant("user:manager", "source.read", str(draft.id))
    base = await world.knowledge_base("Ledger")
    made = Desk(world, base, str(draft.id), str(draft.version_id), draft.private)
    before = await made.index()
    yield made
    assert before["state"] == "READY"
    assert await made.index() == before


Step = Callable[[Desk], Awaitable[None]]


def granted(action: str, subject: str = ADA) -> Step:
    return lambda d: d.change("grantAccess", subject=subject, action=action, sourceId=d.source_id)


def revoked(action: str, subject: str = ADA) -> Step:
    return lambda d: d.change("revokeAccess", subject=subject, action=action, sourceId=d.source_id)


def set_private(private: bool) -> Step:
    return lambda d: d.change("updateSource", id=d.source_id, private=private)


def set_available(availability: str) -> Step:
    return lambda d: d.change("setSourceAvailability", id=d.source_id, availability=availability)


async def discarded(desk: Desk) -> None:
    await desk.change("discardStoredFile", sourceVersionId=desk.version_id)


async def deleted(desk: Desk) -> None:
    await desk.change("deleteSource", id=desk.source_id)


async def test_a_grant_and_its_revocation(desk: Desk) -> None:
    ada = desk.world.caller(ADA, "group:finance")
    assert await desk.found(ada) == [False, False]
    for subject in (ADA, "group:finance"):
        await granted("SOURCE_READ", subject)(desk)
        assert await desk.found(ada) == [True, True]
        await revoked("SOURCE_READ", subject)(desk)
        assert await desk.found(ada) == [False, False]


async def test_a_half_of_two_grants(desk: Desk) -> None:
    ada = desk.world.caller(ADA)
    await granted("SOURCE_DETAILS")(desk)
    assert await desk.found(ada) == [not desk.private] * 2
    await granted("SOURCE_CONTENT")(desk)
    assert await desk.found(ada) == [True, True]
    await revoked("SOURCE_DETAILS")(desk)
    assert await desk.found(ada) == [False, False]


async def test_a_grant_that_runs_out(desk: Desk) -> None:
    ada = desk.world.caller(ADA)
    ends = datetime.now(UTC) + timedelta(seconds=2)
    await desk.change(
        "grantAccess", subject=ADA, action="SOURCE_READ", sourceId=desk.source_id, expiresAt=ends.isoformat()
    )
    assert await desk.found(ada) == [True, True]
    await asyncio.sleep((ends - datetime.now(UTC)).total_seconds())
    assert await desk.found(ada) == [False, False]


async def test_a_grant_that_is_given_again_lasts_as_long_as_the_last_one_says(desk: Desk) -> None:
    ada = desk.world.caller(ADA)
    ends = datetime.now(UTC) + timedelta(seconds=1)
    fields = {"subject": ADA, "action": "SOURCE_READ", "sourceId": desk.source_id}
    await desk.change("grantAccess", **fields, expiresAt=ends.isoformat())
    await desk.change("grantAccess", **fields)
    await asyncio.sleep((ends - datetime.now(UTC)).total_seconds())
    assert await desk.found(ada) == [True, True]


async def test_the_private_flag_both_ways(desk: Desk) -> None:
    reader = desk.world.reader
    for private in (True, False, True, False):
        await set_private(private)(desk)
        assert await desk.found(reader) == [not private] * 2
        assert await desk.found(desk.owner) == [True, True]


async def test_workspace_wide_reading(desk: Desk) -> None:
    ada = desk.world.caller(ADA)
    for action in ("WORKSPACE_READ", "LIBRARY_READ"):
        await desk.world.manager.change("grantAccess", "subject", subject=ADA, action=action)
        assert await desk.found(ada) == [not desk.private] * 2
        await desk.world.manager.change("revokeAccess", "subject", subject=ADA, action=action)
        assert await desk.found(ada) == [False, False]


async def test_availability_both_ways(desk: Desk) -> None:
    await set_available("UNAVAILABLE")(desk)
    assert await desk.found(desk.owner) == [False, False]
    await set_available("AVAILABLE")(desk)
    assert await desk.found(desk.owner) == [True, True]


@pytest.mark.parametrize("step", [discarded, deleted], ids=["discard", "delete"])
async def test_what_ends_it(desk: Desk, step: Step) -> None:
    assert await desk.found(desk.owner) == [True, True]
    await step(desk)
    assert await desk.found(desk.owner) == [False, False]


async def test_a_new_name_and_description(desk: Desk) -> None:
    await desk.change("updateSource", id=desk.source_id, title="Logbook", description="Of the tugboats")
    assert await desk.found(desk.owner, "ledger", "logbook", "tugboats", "Logbook") == [False, True, True, True]
    await desk.change("updateSource", id=desk.source_id, description=None)
    assert await desk.found(desk.owner, "logbook", "tugboats") == [True, False]
    await desk.change("updateSource", id=desk.source_id, title="The Who")
    assert await desk.found(desk.owner, "logbook", "the who") == [False, True]


async def test_a_discard_beside_a_change_of_the_private_flag(world: World, services: Services) -> None:
    """What admission asks of the versions is written by one at a time: neither change is written over by the other."""
    draft = Draft("Ledger", "By the quayside.", OWNER)
    await fill(services, world.workspace_id, [draft])
    await world.caller(OWNER).change("addSourceVersion", "version { id }", sourceId=str(draft.id), file=SECOND)
    async with services.database.write() as session:
        await change_source(session, world.workspace_id, draft.id, title="Ledger", description=None, private=True)
        discard = asyncio.create_task(services.library.discard_stored_file(world.subject(OWNER), draft.version_id))
        await asyncio.sleep(0.2)
    await discard
    async with services.database.read() as reading:
        access = select(VersionAccess.private, VersionAccess.kept).where(
            VersionAccess.workspace_id == world.workspace_id, VersionAccess.source_id == draft.id
        )
        rows = (await reading.execute(access.order_by(VersionAccess.version_id))).all()
    assert [tuple(row) for row in rows] == [(True, False), (True, True)]
