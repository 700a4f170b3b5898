"""What a worker of its own holds in memory while it does many jobs."""

import asyncio
import contextlib
import json
import time
from pathlib import Path
from typing import Any
from uuid import UUID

from app.access.grants import Action, grant
from app.access.subject import Subject
from app.access.workspaces import ensure_workspace
from app.knowledge_bases.lifecycle import Work
from app.library.service import NewFile
from app.services import Services, open_services
from tests.benchmarks.performance.bed import Bed
from tests.benchmarks.performance.corpus import Tenant
from tests.benchmarks.performance.processes import started
from tests.benchmarks.performance.servers import BIN, environment

SAMPLES = 10
TEXTS = Tenant(4_000, 0)  # of no workspace: only its words are used
MANAGER = "user:manager"
LONGEST_SECONDS = 1_800.0


async def memory(bed: Bed, jobs: int) -> dict[str, Any]:
    """`samples`: (jobs so far, resident bytes of `gctl worker`), ten times while it does so many jobs: it reads sources
    that are added meanwhile, and refreshes the knowledge base that holds them. `kinds`: the jobs of each kind.
    """
    log = bed.folder / "worker.log"
    found: list[tuple[int, int]] = []
    async with open_services(bed.settings) as services:
        subject, base = await _knowledge_base(services)
        with started([str(BIN / "gctl"), "worker"], environment(bed), log) as process:
            adding = asyncio.create_task(_add(services, subject, base, jobs))
            for step in range(1, SAMPLES + 1):
                await _until_done(log, step * jobs // SAMPLES, adding)
                found.append((sum(_done(log).values()), process.memory))
        adding.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await adding
    return {"samples": found, "kinds": _done(log)}


async def _knowledge_base(services: Services) -> tuple[Subject, UUID]:
    async with services.database.write() as session:
        workspace_id = await ensure_workspace(session, "jobs")
        for action in (Action.LIBRARY_MANAGE, Action.LIBRARY_READ):
            await grant(session, workspace_id, MANAGER, action)
    subject = Subject(workspace_id, MANAGER, frozenset())
    base = await services.knowledge_bases.create(
        subject, name="Jobs", description=None, auto_refresh=True, source_ids=[]
    )
    await services.knowledge_bases.request_work(subject, base, Work.REBUILD)  # what was never built is not refreshed
    return subject, base


async def _add(services: Services, subject: Subject, base: UUID, most: int) -> None:
    for number in range(most):
        title, description = TEXTS.title(number)
        file = NewFile("a.txt", "text/plain", "\n\n".join(TEXTS.texts(number)).encode())
        added = await services.library.add_source(
            subject, title=title, description=description, private=False, file=file
        )
        await services.knowledge_bases.add_sources(subject, base, [added.source_id])


def _done(log: Path) -> dict[str, int]:
    """The jobs of each kind that the worker has written down as done."""
    kinds: dict[str, int] = {}
    for line in log.read_text().splitlines():
        said = json.loads(line) if line.startswith("{") and line.endswith("}") else {}
        if said.get("event") == "job_done":
            kinds[said["job"]] = kinds.get(said["job"], 0) + 1
    return kinds


async def _until_done(log: Path, jobs: int, adding: "asyncio.Task[None]") -> None:
    """Raises what adding raises, and TimeoutError."""
    ends = time.monotonic() + LONGEST_SECONDS
    while sum(_done(log).values()) < jobs:
        if adding.done():
            adding.result()
        if time.monotonic() > ends:
            raise TimeoutError("The worker does no more jobs.")
        await asyncio.sleep(0.2)
