"""Claims: a lease, its renewal, and the fence in front of the result (SPEC R18)."""

import asyncio
import shutil
from datetime import timedelta
from uuid import UUID

import pytest

from app.jobs import indexes as index_jobs
from app.jobs.claims import MOST_COUNTED, Claim, ClaimLostError, claim, due, pause, renewed
from app.jobs.worker import MOST_ATTEMPTS, Worker
from app.models import SearchIndex
from tests.knowledge_bases.indexes import (
    add_to,
    add_version,
    built_up_to_the_exchange,
    empty_base,
    index,
    request,
    rows,
    state,
    until,
    write,
)
from tests.world import World

CRANES = "Cranes are inspected every quarter."
LEASE = timedelta(seconds=30)


async def asked_for(world: World) -> str:
    """A knowledge base whose first build waits for a worker."""
    await world.add("Cranes", CRANES)
    base = await empty_base(world, "Cranes")
    await request(world, "rebuildIndex", base)
    return base


async def claimed(world: World, lease: timedelta = LEASE) -> Claim[SearchIndex] | None:
    condition = due(SearchIndex, index_jobs.NEEDS_WORK)
    return await claim(world.services.database, SearchIndex, condition, world.workspace_id, lease)


async def set_job(world: World, base: str, values: str) -> None:
    """Change the columns of the knowledge base's open job."""
    statement = f"UPDATE indexes SET {values} WHERE workspace_id = :w AND knowledge_base_id = :b AND work IS NOT NULL"  # noqa: S608
    await write(world, statement, b=UUID(base))


async def job(world: World, base: str, columns: str) -> tuple[object, ...]:
    """Columns of the knowledge base's open job."""
    statement = f"SELECT {columns} FROM indexes WHERE workspace_id = :w AND knowledge_base_id = :b AND work IS NOT NULL"  # noqa: S608
    (found,) = await rows(world, statement, b=UUID(base))
    return found


async def run_out(world: World) -> None:
    """The leases of the workspace run out, as those of processes that died."""
    await write(
        world, "UPDATE indexes SET lease_until = now() - interval '1 s' WHERE workspace_id = :w AND work IS NOT NULL"
    )


async def test_claimers_at_once_get_one_claim(world: World) -> None:
    await asked_for(world)
    found = [one for one in await asyncio.gather(*(claimed(world) for _ in range(8))) if one is not None]
    assert [one.attempt for one in found] == [1]


async def test_a_lease_that_ran_out_is_claimed_anew(world: World) -> None:
    await asked_for(world)
    assert await claimed(world) is not None
    assert await claimed(world) is None
    await run_out(world)
    second = await claimed(world)
    assert second is not None
    assert second.attempt == 2


async def test_the_work_of_a_lost_claim_is_rolled_back(world: World) -> None:
    base = await asked_for(world)
    services = world.services
    first = await claimed(world)
    await run_out(world)
    second = await claimed(world)
    assert first is not None
    assert second is not None
    with pytest.raises(ClaimLostError):
        await index_jobs.build_index(services.database, services.files, first)
    with pytest.raises(ClaimLostError):
        await index_jobs.fail_index(services.database, first, "gave up")
    assert await rows(world, "SELECT count(*) FROM index_members WHERE workspace_id = :w AND index_id <> :w") == [(0,)]
    assert await state(world, base) == ("BUILDING", 1)
    await index_jobs.build_index(services.database, services.files, second)
    assert await state(world, base) == ("READY", 1)


async def test_a_refresh_that_lost_its_claim_on_the_way_changes_nothing(world: World) -> None:
    """It has copied everything and waits for the knowledge base when the lease runs out and another one takes over."""
    await world.add("Cranes", CRANES)
    await world.add("Quays", "Quays are swept.")
    base = await world.knowledge_base("Cranes")
    await add_to(world, base, "Quays")
    async with built_up_to_the_exchange(world, base):
        await run_out(world)
        assert await claimed(world) is not None
    assert await rows(world, "SELECT count(*) FROM index_members WHERE workspace_id = :w AND index_id <> :w") == [(1,)]
    assert await state(world, base) == ("BUILDING", 1)
    await run_out(world)
    await world.work()
    assert await state(world, base) == ("READY", 2)


async def test_a_lease_is_renewed_while_the_work_goes_on(world: World) -> None:
    await asked_for(world)
    lease = timedelta(seconds=0.9)
    held = await claimed(world, lease)
    assert held is not None
    async with renewed(world.services.database, held, lease):
        await asyncio.sleep(2)
        assert await claimed(world) is None
    assert await rows(
        world, "SELECT lease_until > now() FROM indexes WHERE workspace_id = :w AND work IS NOT NULL"
    ) == [(True,)]


async def test_work_is_cancelled_when_its_claim_is_lost(world: World) -> None:
    await asked_for(world)
    lease = timedelta(seconds=0.3)
    held = await claimed(world, lease)
    assert held is not None

    async def work() -> None:
        async with asyncio.timeout(10), renewed(world.services.database, held, lease):
            await write(world, "UPDATE indexes SET leased_by = 'another' WHERE workspace_id = :w")
            await asyncio.sleep(60)

    with pytest.raises(ClaimLostError):
        await work()
    await asyncio.sleep(0)  # no cancellation is left over


async def test_work_that_is_cut_off_is_handed_back_at_once(world: World) -> None:
    base = await asked_for(world)
    async with built_up_to_the_exchange(world, base) as (working, _):
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        columns = "attempt, leased_by, lease_until, run_after <= now()"
        assert await job(world, base, columns) == (0, None, None, True)
    await world.work()
    assert await state(world, base) == ("READY", 1)


async def test_a_job_that_fails_is_tried_again_and_then_given_up(world: World) -> None:
    """A link to itself stands where the version's file should be: reading it is an error that nobody foresaw."""
    await world.add("Cranes", CRANES)
    await write(
        world, "UPDATE source_versions SET status = 'PENDING', attempt = 0, run_after = now() WHERE workspace_id = :w"
    )
    folder = world.services.settings.data_dir / "files" / str(world.workspace_id)
    (stored,) = (path for path in folder.rglob("*") if path.is_file())
    stored.unlink()
    stored.symlink_to(stored)
    version = "SELECT status, status_reason, attempt, leased_by, run_after > now() FROM source_versions {}"
    version = version.format("WHERE workspace_id = :w")
    for attempt in range(1, MOST_ATTEMPTS):
        await world.work()
        assert await rows(world, version) == [("PENDING", None, attempt, None, True)]
        await write(world, "UPDATE source_versions SET run_after = now() WHERE workspace_id = :w")
    await world.work()
    assert (await rows(world, version))[0][:2] == (
        "FAILED",
        "It could not be done in 5 attempts. The server's log says why. Ask for it again.",
    )
    stored.unlink()


@pytest.mark.parametrize("successor", [False, True])
async def test_a_job_of_which_every_worker_dies_is_given_up(world: World, successor: bool) -> None:
    base = await asked_for(world)
    if successor:
        await world.work()
        await request(world, "rebuildIndex", base)
    await set_job(world, base, f"attempt = {MOST_ATTEMPTS}, leased_by = 'dead', lease_until = now() - interval '1 s'")
    await world.work()
    found = await index(world, base)
    assert found is not None
    if successor:
        assert (found["state"], found["generation"], found["failureReason"]) == ("READY", 1, None)
        assert await world.reader.titles("cranes", base) == ["Cranes"]
        return
    assert (found["state"], found["failureReason"]) == (
        "FAILED",
        "It could not be done in 5 attempts. The server's log says why. Ask for it again.",
    )
    await request(world, "repairIndex", base)
    await world.work()
    found = await index(world, base)
    assert found is not None
    assert (found["state"], found["failureReason"]) == ("READY", None)


async def test_an_attempt_that_got_on_is_the_first_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten restarts of a long build are no reason to give it up, as long as each of them copies something."""
    monkeypatch.setattr(index_jobs, "STEP_MEMBERS", 1)
    for title in ("Cranes", "Quays", "Ropes"):
        await world.add(title, f"{title} are looked at.")
    base = await empty_base(world, "Cranes", "Quays", "Ropes")
    await request(world, "rebuildIndex", base)
    await set_job(world, base, f"attempt = {MOST_ATTEMPTS - 1}")
    async with built_up_to_the_exchange(world, base):
        assert await job(world, base, "attempt, done, total") == (1, 3, 3)
    assert await state(world, base) == ("READY", 1)


def test_pauses_grow_up_to_five_minutes() -> None:
    seconds = [pause(attempt).total_seconds() for attempt in (1, 2, 3, 4, 5, 6, MOST_COUNTED + 1)]
    assert seconds == [1, 4, 16, 64, 256, 300, 300]


async def test_a_missing_file_makes_it_failed_and_repair_mends_it_once_it_is_back(world: World) -> None:
    await world.add("Cranes", CRANES)
    await world.add("Quays", "Quays are swept.")
    base = await world.knowledge_base("Cranes", "Quays", auto_refresh=False)
    (sha256,) = (await rows(world, "SELECT sha256 FROM source_versions WHERE workspace_id = :w ORDER BY id LIMIT 1"))[0]
    stored = world.services.settings.data_dir / "files" / str(world.workspace_id) / sha256[:2] / sha256
    aside = stored.with_suffix(".aside")
    shutil.move(stored, aside)
    await request(world, "rebuildIndex", base)
    await world.work()
    failed = await index(world, base)
    assert failed is not None
    assert (failed["state"], failed["generation"], failed["memberCount"]) == ("FAILED", 2, 1)
    assert [(node["source"]["title"], node["reason"]) for node in failed["failures"]["nodes"]] == [
        ("Cranes", index_jobs.MISSING)
    ]
    await request(world, "repairIndex", base)
    await world.work()
    assert await state(world, base) == ("FAILED", 3)
    shutil.move(aside, stored)
    await request(world, "repairIndex", base)
    await world.work()
    assert await state(world, base) == ("READY", 4)
    assert await world.reader.titles("cranes", base) == ["Cranes"]


async def _running(world: World, **settings: object) -> "asyncio.Task[None]":
    services = world.services
    worker = Worker(services.database, services.files, services.settings.model_copy(update=settings))
    return asyncio.create_task(worker.run())


async def test_an_announcement_wakes_a_worker_that_would_sleep_for_long(world: World) -> None:
    await world.work()
    running = await _running(world, job_poll_seconds=120.0)
    try:
        await until(lambda: _listens(world))
        base = await asked_for(world)

        async def is_ready() -> bool:
            return await state(world, base) == ("READY", 1)

        await until(is_ready)
        await add_version(world, "Cranes", "Winches are oiled.")

        async def is_refreshed() -> bool:
            return await state(world, base) == ("READY", 2)

        await until(is_refreshed)
    finally:
        running.cancel()
        await asyncio.wait([running])


async def _listens(world: World) -> bool:
    return bool(await rows(world, "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"))


async def test_a_worker_that_hears_nothing_looks_by_itself(world: World) -> None:
    """Its connection for announcements is cut off; a job that nobody announced is done, and it listens again."""
    base = await asked_for(world)
    await set_job(world, base, "run_after = now() + interval '1 hour'")
    running = await _running(world, job_poll_seconds=0.2)
    try:
        await until(lambda: _listens(world))
        cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
        await write(world, cut)
        await set_job(world, base, "run_after = now()")

        async def is_ready() -> bool:
            return await state(world, base) == ("READY", 1)

        await until(is_ready)
        await until(lambda: _listens(world))
    finally:
        running.cancel()
        await asyncio.wait([running])
