"""python -m tests.benchmarks.ingest.kills [--sources 2500] [--passages 20] [--kills 10]

kill -9 of a worker at random moments of builds of 50,000 passages, while somebody searches the index that is served:
tests/jobs/test_killed_workers.py at full size. It says what it found, and fails if anything is lost, doubled or seen.
"""

import argparse
import asyncio
import random
import signal
import tempfile
import time
from functools import partial
from pathlib import Path

from app.embedded import running
from app.knowledge_bases.repository import create_knowledge_base
from app.knowledge_bases.upkeep import settle
from app.services import open_services
from app.settings import Settings
from graphql_schema.asgi import create
from tests.jobs.killing import Searching, fill, is_done, kill_after_it_claims, start_worker, what_it_holds
from tests.knowledge_bases.indexes import index, request, until
from tests.serving import serving
from tests.world import World

LEASE_SECONDS = 2


async def main(sources: int, passages: int, kills: int) -> None:
    with tempfile.TemporaryDirectory() as folder, running(Path(folder) / "data") as url:
        settings = Settings.model_validate(
            {
                "database_url": url,
                "data_dir": folder,
                "jwt_secret": "a secret that only this benchmark knows, of 32 bytes",
                "worker_in_server": False,
                "log_level": "warning",
            }
        )
        async with (
            open_services(settings) as services,
            serving(create(settings)) as address,
            World.made(services, address) as world,
        ):
            await measure(world, sources, passages, kills)


async def measure(world: World, sources: int, passages: int, kills: int) -> None:
    ids = await fill(world, sources, passages)
    await settle(world.services.database, world.workspace_id, sources * passages)
    async with world.services.database.write(patient=True) as session:
        base = str(
            await create_knowledge_base(
                session, world.workspace_id, name="Base", description=None, auto_refresh=True, source_ids=ids
            )
        )
    await request(world, "rebuildIndex", base)
    begun = time.perf_counter()
    await world.work()
    alone = time.perf_counter() - begun
    print(f"a build of {sources * passages:,} passages that nobody disturbs: {alone:.1f} s")
    chance, hit = random.Random(3), 0  # noqa: S311 moments
    async with Searching(world, base) as searching:
        for number in range(kills):
            generation = (await request(world, "rebuildIndex", base))["generation"]
            worker = await start_worker(world, LEASE_SECONDS)
            moment = chance.uniform(0, alone / 2)
            killed = await kill_after_it_claims(world, base, worker, moment)
            hit += killed
            print(f"kill {number + 1}: {moment:.1f} s after the claim of generation {generation}, going on: {killed}")
        begun = time.perf_counter()
        worker = await start_worker(world, LEASE_SECONDS)
        await until(partial(is_done, world, base, worker), 300)
        print(f"finished {time.perf_counter() - begun:.1f} s after the last kill")
        worker.send_signal(signal.SIGTERM)
        assert await worker.wait() == 0
    found = await index(world, base)
    assert found is not None
    held = await what_it_holds(world, found["id"])
    print(f"{found['state']}, generation {found['generation']}: members, sources, postings, passages: {held}")
    print(f"{searching.asked:,} searches, generations {searching.generations}, wrong: {searching.wrong}")
    assert (found["state"], held) == ("READY", (sources, sources, sources * passages, sources * passages))
    assert searching.wrong == []
    assert hit > 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sources", type=int, default=2_500)
    parser.add_argument("--passages", type=int, default=20)
    parser.add_argument("--kills", type=int, default=10)
    options = parser.parse_args()
    asyncio.run(main(options.sources, options.passages, options.kills))
