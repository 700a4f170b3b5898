"""python -m tests.benchmarks.ingest [--rounds 3] [--sources 10000]

Import and build, in passages a second, beside plain COPY of the same rows into tables with the same indexes, in one run
and by turns: read the ratios, the absolute figures move with the machine. Then a refresh after one source of many
changed, beside a rebuild. An embedded PostgreSQL of its own, on a temporary folder.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from uuid import UUID, uuid4

from sqlalchemy import text

from app.access.subject import Subject
from app.access.workspaces import ensure_workspace
from app.database import Database
from app.importing import import_documents, read_documents
from app.knowledge_bases.lifecycle import Work
from app.knowledge_bases.repository import add_sources, create_knowledge_base, remove_sources
from app.knowledge_bases.upkeep import settle
from app.knowledge_bases.work import request_work
from app.retrieval.request import RetrieveRequest
from app.services import Services, open_services
from app.settings import Settings
from tests.jobs.killing import fill_workspace

DOCUMENTS = Path(__file__).parents[4] / "shared" / "data" / "digitalgov" / "docs.jsonl.gz"


async def timed(work: Callable[[], Awaitable[object]]) -> float:
    begun = time.perf_counter()
    await work()
    return time.perf_counter() - begun


async def copy_rows(database: Database, workspace_id: UUID, tables: tuple[str, ...]) -> float:
    """The seconds that plain COPY takes for the workspace's rows, with the same indexes and no foreign keys."""
    async with database.engine.connect() as connection:
        driver = (await connection.get_raw_connection()).driver_connection
        assert driver is not None
        await driver.execute("SET statement_timeout = 0")
        with tempfile.TemporaryDirectory() as folder:
            for table in tables:
                query = f"SELECT * FROM {table} WHERE workspace_id = '{workspace_id}'"  # noqa: S608 an id
                if table == "index_postings":
                    query += f" AND index_id = '{workspace_id}'"
                await driver.copy_from_query(query, output=f"{folder}/{table}")
                await driver.execute(f"CREATE TABLE copied_{table} (LIKE {table} INCLUDING ALL)")
            begun = time.perf_counter()
            for table in tables:
                await driver.copy_to_table(f"copied_{table}", source=f"{folder}/{table}")
            seconds = time.perf_counter() - begun
        for table in tables:
            await driver.execute(f"DROP TABLE copied_{table}")
        await connection.invalidate()
        return seconds


async def scalar(database: Database, statement: str, **parameters: object) -> int:
    async with database.read(patient=True) as session:
        return int(await session.scalar(text(statement), parameters) or 0)


async def workspace(services: Services) -> UUID:
    async with services.database.write() as session:
        return await ensure_workspace(session, f"w{uuid4()}")


async def measure_import(services: Services, rounds: int) -> None:
    imports, copies, passages = [], [], 0
    for _ in range(rounds):
        workspace_id = await workspace(services)

        async def run(into: UUID = workspace_id) -> None:
            async for _ in import_documents(services, into, "user:owner", read_documents(DOCUMENTS, 10**8)):
                pass

        imports.append(await timed(run))
        passages = await scalar(
            services.database, "SELECT count(*) FROM passages WHERE workspace_id = :w", w=workspace_id
        )
        copies.append(await copy_rows(services.database, workspace_id, ("passages", "index_postings")))
    report(f"import, {passages:,} passages", passages, imports, copies)


async def measure_build(services: Services, rounds: int, sources: int) -> None:
    """Builds, the same rows by COPY, and refreshes after one of the sources changed."""
    workspace_id = await workspace(services)
    ids = await fill_workspace(services, workspace_id, sources, 5)
    await settle(services.database, workspace_id, sources * 5)
    await first_search(services, workspace_id, None, "the workspace, right after the import")
    async with services.database.write(patient=True) as session:
        base_id = await create_knowledge_base(
            session, workspace_id, name="Base", description=None, auto_refresh=True, source_ids=ids
        )
    builds, copies, refreshes = [], [], []
    for _ in range(rounds):
        async with services.database.write() as session:
            await request_work(session, workspace_id, base_id, Work.REBUILD)
        builds.append(await timed(services.worker.run_until_idle))
        copies.append(await copy_rows(services.database, workspace_id, ("index_postings",)))
        for change in (remove_sources, add_sources):
            async with services.database.write() as session:
                await change(session, workspace_id, base_id, [ids[len(ids) // 2]])
            refreshes.append(await timed(services.worker.run_until_idle))
    await first_search(services, workspace_id, base_id, "the knowledge base, right after its build")
    report(f"build, {sources * 5:,} passages", sources * 5, builds, copies)
    share = statistics.median(refreshes) / statistics.median(builds)
    print(f"refresh of 1 of {sources:,} sources: {statistics.median(refreshes):.3f} s, {share:.2%} of a rebuild")


async def first_search(services: Services, workspace_id: UUID, base_id: UUID | None, where: str) -> None:
    subject = Subject(workspace_id, "user:manager")
    request = RetrieveRequest(base_id, "lighthouse word17", 10, None)

    async def check(source_ids: Sequence[UUID]) -> Sequence[bool]:
        return await services.authorizer.check(subject, source_ids)

    seconds = []
    for _ in range(5):
        seconds.append(await timed(lambda: services.retrieval.answers(subject, [request], check)))
    later = statistics.median(seconds[1:])
    print(f"first search of {where}: {1_000 * seconds[0]:.1f} ms; those after it {1_000 * later:.1f} ms")


def report(name: str, passages: int, ours: list[float], plain: list[float]) -> None:
    own, copy = statistics.median(ours), statistics.median(plain)
    print(
        f"{name}: {passages / own:,.0f} passages/s; COPY {passages / copy:,.0f}; ratio of times {own / copy:.2f}"
        f" (medians of {len(ours)})"
    )


async def main(rounds: int, sources: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder), log_level="warning")
        async with open_services(settings) as services:
            if DOCUMENTS.exists():
                await measure_import(services, rounds)
            else:
                print(f"import is not measured: {DOCUMENTS} is not there")
            await measure_build(services, rounds, sources)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sources", type=int, default=10_000)
    options = parser.parse_args()
    asyncio.run(main(options.rounds, options.sources))
