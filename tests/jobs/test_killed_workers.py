"""kill -9 of a worker at any moment of a build: nothing is lost, nothing twice, and nobody who searches notices.

tests/benchmarks/ingest/kills.py does the same with 50,000 passages and ten kills.
"""

import random
import signal
import time
from collections.abc import AsyncIterator
from functools import partial

import pytest_asyncio

from app.services import Services
from tests.jobs.killing import (
    Searching,
    fill,
    is_claimed,
    is_done,
    kill_after_it_claims,
    start_worker,
    what_it_holds,
)
from tests.knowledge_bases.indexes import index, request, rows, until
from tests.world import World

SOURCES, PASSAGES, KILLS = 150, 20, 4


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def filled(services: Services, server: str) -> AsyncIterator[World]:
    """A world with so many passages; its knowledge bases are the tests'."""
    async with World.made(services, server) as made:
        await fill(made, SOURCES, PASSAGES)
        yield made


async def base_of_all(world: World) -> str:
    ids = [str(id_) for (id_,) in await rows(world, "SELECT id FROM sources WHERE workspace_id = :w")]
    payload = await world.manager.change("createKnowledgeBase", "knowledgeBase { id }", name="Base", sourceIds=ids)
    base: str = payload["knowledgeBase"]["id"]
    return base


async def test_kills_lose_nothing_and_nobody_notices(filled: World) -> None:
    world = filled
    base = await base_of_all(world)
    await request(world, "rebuildIndex", base)
    started = time.perf_counter()
    await world.work()
    build_seconds = time.perf_counter() - started
    chance, kills, generation = random.Random(5), 0, 1  # noqa: S311 moments
    async with Searching(world, base) as searching:
        # The first kill comes with the claim, the others at any moment of a build, however fast the machine is.
        for moment in (0.0, *(chance.uniform(0, build_seconds) for _ in range(KILLS - 1))):
            generation = (await request(world, "rebuildIndex", base))["generation"]
            worker = await start_worker(world)
            kills += await kill_after_it_claims(world, base, worker, moment)
        # One that is told to stop hands its work back: the next one need not wait for a long lease to run out.
        generation = (await request(world, "rebuildIndex", base))["generation"]
        for awaited in (is_claimed, is_done):
            worker = await start_worker(world, lease_seconds=300)
            await until(partial(awaited, world, base, worker), 30)
            worker.send_signal(signal.SIGTERM)
            assert await worker.wait() == 0
    found = await index(world, base)
    assert found is not None
    assert (found["state"], found["generation"]) == ("READY", generation)
    total = SOURCES * PASSAGES
    assert await what_it_holds(world, found["id"]) == (SOURCES, SOURCES, total, total)
    assert (found["memberCount"], found["passageCount"], found["progress"]) == (SOURCES, total, 1.0)
    assert searching.wrong == []
    assert searching.asked > 20
    assert searching.generations == sorted(searching.generations)
    assert kills >= 1  # that hit a build that was going on
