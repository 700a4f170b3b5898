"""A client that goes away takes its statements with it (SPEC R22)."""

import asyncio

import httpx2
import pytest
from sqlalchemy import text

from app.services import Services
from tests.world import World

# One passage, so that a lock on its table holds the search up for as long as the test likes.
QUESTION = {"query": '{ retrieve(query: "rigging") { hits { chunkId } } }'}
RUNNING = text(
    "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'WITH content%' "
    "AND datname = current_database()"
)


async def _running(services: Services) -> int:
    async with services.database.read() as session:
        found: int = await session.scalar(RUNNING)
        return found


async def _becomes(services: Services, expected: int) -> None:
    async with asyncio.timeout(3):  # well within the time limit of a statement
        while await _running(services) != expected:  # noqa: ASYNC110 PostgreSQL has no event for it
            await asyncio.sleep(0.05)


async def test_a_search_stops_when_its_client_hangs_up(world: World, services: Services) -> None:
    await world.add("Log", "Rigging was checked.")
    token = {"authorization": f"Bearer {world.reader.token}"}
    async with services.database.write(patient=True) as session:
        await session.execute(text("LOCK TABLE passages IN ACCESS EXCLUSIVE MODE"))
        async with httpx2.AsyncClient() as client:
            asking = asyncio.create_task(client.post(f"{world.address}/graphql", json=QUESTION, headers=token))
            await _becomes(services, 1)
            tasks = asyncio.all_tasks()  # held, so that it is not the garbage collector that ends one
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
        await _becomes(services, 0)
        assert any(task.cancelled() for task in tasks)
    assert await world.reader.hits("rigging") == [("Log", 0)]
