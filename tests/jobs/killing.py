"""Workers that are killed while they build, and people who search meanwhile."""

import asyncio
import hashlib
import random
import signal
from asyncio.subprocess import DEVNULL, Process
from dataclasses import dataclass, field
from uuid import UUID

from app.knowledge_bases.adding import ReadSource, add_read_sources
from app.knowledge_bases.indexing import searchable
from app.library.passages import cut
from app.library.splitting import Span
from app.library.versions import FileFacts
from app.models import new_id
from app.services import Services
from tests.cli.running import GCTL, Shell
from tests.knowledge_bases.indexes import rows, until
from tests.world import MANAGER, World

PASSAGE = 800  # characters
WORDS = [f"word{number}" for number in range(5_000)]
BATCH = 50


async def fill(world: World, sources: int, passages: int) -> list[UUID]:
    return await fill_workspace(world.services, world.workspace_id, sources, passages)


async def fill_workspace(services: Services, workspace_id: UUID, sources: int, passages: int) -> list[UUID]:
    """Sources of so many passages each, with one file for all; the first passage of each says `lighthouse`."""
    chance = random.Random(7)  # noqa: S311 a corpus that is the same each time
    stored = await services.files.put(workspace_id, b"one file for all")
    facts = FileFacts("file.md", "text/markdown", stored.size, stored.sha256)
    ids: list[UUID] = []
    while len(ids) < sources:
        batch = [_source(chance, passages, facts) for _ in range(min(BATCH, sources - len(ids)))]
        async with services.database.write(patient=True) as session:
            await add_read_sources(session, workspace_id, batch)
        ids += [source.source_id for source in batch]
    return ids


def _source(chance: random.Random, passages: int, file: FileFacts) -> ReadSource:
    source_id, version_id = new_id(), new_id()
    texts = [" ".join(chance.choices(WORDS, k=PASSAGE // 9)) for _ in range(passages)]
    texts[0] += " lighthouse"
    text = "\n\n".join(texts)
    spans: list[Span] = []
    for one in texts:
        start = spans[-1].end + 2 if spans else 0
        spans.append(Span(start, start + len(one)))
    return ReadSource(
        source_id=source_id,
        version_id=version_id,
        title=f"Source {source_id}",
        description=None,
        private=False,
        owner=MANAGER,
        external_id=hashlib.sha256(source_id.bytes).hexdigest(),
        file=file,
        notes=None,
        passages=searchable(cut(source_id, version_id, text, spans)),
    )


@dataclass
class Searching:
    """Asks again and again until it is stopped, and keeps what differed from the first answer."""

    world: World
    base: str
    asked: int = 0
    generations: list[int] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    _stopped: bool = False
    _task: "asyncio.Task[None] | None" = None

    async def __aenter__(self) -> "Searching":
        self._task = asyncio.create_task(self._ask())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stopped = True
        assert self._task is not None
        await self._task

    async def _ask(self) -> None:
        expected: set[str] | None = None
        while not self._stopped:
            try:
                answer = await self.world.reader.retrieve("lighthouse", self.base, limit=50)
            except Exception as error:  # whatever it is, it is what the test looks for
                self.wrong.append(repr(error))
                return
            self.asked += 1
            found = [hit["chunkId"] for hit in answer["hits"]]
            expected = expected or set(found)
            if set(found) != expected or len(found) != len(expected) or answer["index"]["state"] != "READY":
                self.wrong.append(f"{answer['index']}: {len(found)} hits")
            generation = answer["index"]["generation"]
            if not self.generations or generation != self.generations[-1]:
                self.generations.append(generation)
            await asyncio.sleep(0.01)


def shell(world: World, **variables: str) -> Shell:
    """The environment of this run's database and files."""
    settings = world.services.settings
    assert settings.database_url is not None
    assert settings.jwt_secret is not None
    return Shell(
        settings.data_dir,
        {
            "DATABASE_URL": settings.database_url.get_secret_value(),
            "GCTL_JWT_SECRET": settings.jwt_secret.get_secret_value(),
            "GCTL_LOG_LEVEL": "error",
            **variables,
        },
    )


async def start_worker(world: World, lease_seconds: int = 1) -> Process:
    """A worker of its own process."""
    variables = {"GCTL_JOB_LEASE_SECONDS": str(lease_seconds), "GCTL_JOB_POLL_SECONDS": "0.1"}
    environment = shell(world, **variables).environment()
    return await asyncio.create_subprocess_exec(GCTL, "worker", env=environment, stdout=DEVNULL, stderr=DEVNULL)


async def kill_after_it_claims(world: World, base: str, worker: Process, seconds: float) -> bool:
    """Kill the worker so long after it claimed the build. Whether it was still at it."""
    await until(lambda: is_claimed(world, base, worker), 60)
    await asyncio.sleep(seconds)
    open_before = await _is_open(world, base)
    worker.send_signal(signal.SIGKILL)
    await worker.wait()
    return open_before and await _is_open(world, base)


async def is_claimed(world: World, base: str, worker: Process) -> bool:
    """Whether this worker is at it."""
    statement = "SELECT leased_by FROM indexes WHERE workspace_id = :w AND knowledge_base_id = :b AND work IS NOT NULL"
    found = await rows(world, statement, b=UUID(base))
    return bool(found) and f":{worker.pid}:" in (found[0][0] or "")


async def _is_open(world: World, base: str) -> bool:
    statement = "SELECT 1 FROM indexes WHERE workspace_id = :w AND knowledge_base_id = :b AND work IS NOT NULL"
    return bool(await rows(world, statement, b=UUID(base)))


async def is_done(world: World, base: str, _: Process) -> bool:
    """Whether the knowledge base has no open job any more."""
    return not await _is_open(world, base)


async def what_it_holds(world: World, index_id: str) -> tuple[int, int, int, int]:
    """Members, different sources among them, postings, different passages among them."""
    ((members, sources),) = await rows(
        world,
        "SELECT count(*), count(DISTINCT source_id) FROM index_members WHERE workspace_id = :w AND index_id = :i",
        i=UUID(index_id),
    )
    ((postings, passages),) = await rows(
        world,
        "SELECT count(*), count(DISTINCT passage_id) FROM index_postings WHERE workspace_id = :w AND index_id = :i",
        i=UUID(index_id),
    )
    return members, sources, postings, passages
