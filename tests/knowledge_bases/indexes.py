"""An index as a manager sees it, and its rows as they are."""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from sqlalchemy import text

from app.database import WriteSession
from app.knowledge_bases.repository import lock_knowledge_bases
from tests.world import Caller, RefusedError, World

FIELDS = (
    "id state generation progress builtAt memberCount passageCount done total failureReason"
    " failures { nodes { source { id title } reason } }"
)
# Bytes that are no text, and of no kind that can be read.
UNREADABLE = base64.b64encode(b"\x00\x01\x02\x03" * 256).decode()
WAITING = 10.0


async def index(world: World, base: str, by: Caller | None = None) -> dict[str, Any] | None:
    """The current index; None if there is none."""
    data = await (by or world.manager).ask(
        f"query Q($id: ID!) {{ knowledgeBase(id: $id) {{ index {{ {FIELDS} }} }} }}", id=base
    )
    found: dict[str, Any] | None = data["knowledgeBase"]["index"]
    return found


async def state(world: World, base: str) -> tuple[str, int] | None:
    """The current index's state and generation."""
    found = await index(world, base)
    return None if found is None else (found["state"], found["generation"])


async def failures(world: World, base: str, by: Caller | None = None) -> dict[str, str]:
    """The members that could not be read, by their titles, with the reasons."""
    found = await index(world, base, by)
    assert found is not None
    return {node["source"]["title"]: node["reason"] for node in found["failures"]["nodes"]}


async def request(world: World, work: str, base: str, by: Caller | None = None) -> dict[str, Any]:
    """`work`: refreshIndex, rebuildIndex or repairIndex; the index that they answer with."""
    payload = await (by or world.manager).change(work, f"index {{ {FIELDS} }}", knowledgeBaseId=base)
    answered: dict[str, Any] = payload["index"]
    return answered


async def refused(world: World, base: str, query: str = "anything") -> tuple[str, str | None, str | None]:
    """The code of a retrieval's refusal, the index's state and the remedy."""
    try:
        answer = await world.reader.retrieve(query, base)
    except RefusedError as error:
        return error.code, error.extensions.get("indexState"), error.extensions.get("remedy")
    raise AssertionError(f"not refused: {answer}")


async def empty_base(world: World, *titles: str, auto_refresh: bool = True) -> str:
    """A knowledge base of these sources that was never built."""
    ids = [world.sources[title] for title in titles]
    payload = await world.manager.change(
        "createKnowledgeBase", "knowledgeBase { id }", name="Base", sourceIds=ids, autoRefresh=auto_refresh
    )
    base_id: str = payload["knowledgeBase"]["id"]
    return base_id


async def add_to(world: World, base: str, *titles: str) -> None:
    ids = [world.sources[title] for title in titles]
    await world.manager.change("addKnowledgeBaseSources", "knowledgeBase { id }", knowledgeBaseId=base, sourceIds=ids)


async def remove_from(world: World, base: str, *titles: str) -> None:
    ids = [world.sources[title] for title in titles]
    await world.manager.change(
        "removeKnowledgeBaseSources", "knowledgeBase { id }", knowledgeBaseId=base, sourceIds=ids
    )


async def add_unreadable(world: World, title: str, *, private: bool = False, by: Caller | None = None) -> str:
    """A source whose only version cannot be read; its id."""
    payload = await (by or world.manager).change(
        "addSource",
        "source { id } version { status statusReason }",
        title=title,
        private=private,
        file={"name": "file.bin", "mediaType": "text/plain", "base64": UNREADABLE},
    )
    assert payload["version"]["status"] == "FAILED"
    world.sources[title] = payload["source"]["id"]
    return world.sources[title]


async def add_version(world: World, title: str, content: str | None) -> dict[str, Any]:
    """A new version of a source, `content` None: one that cannot be read."""
    file = {"text": content} if content is not None else {"base64": UNREADABLE}
    payload = await world.manager.change(
        "addSourceVersion",
        "version { id number status statusReason passageCount }",
        sourceId=world.sources[title],
        file={"name": "file.md", "mediaType": "text/markdown", **file},
    )
    version: dict[str, Any] = payload["version"]
    return version


async def rows(world: World, statement: str, **parameters: object) -> list[tuple[Any, ...]]:
    """Rows of a statement of the test's own, on what is committed; `:w` is the workspace's id."""
    async with world.services.database.read() as session:
        found = await session.execute(text(statement), {"w": world.workspace_id, **parameters})
        return [tuple(row) for row in found]


async def postings(world: World, index_id: str) -> dict[str, set[tuple[str, int]]]:
    """The rows of an index by their source's title: (passage id, the transaction that wrote the row)."""
    found: dict[str, set[tuple[str, int]]] = {title: set() for title in world.sources}
    titles = {UUID(source_id): title for title, source_id in world.sources.items()}
    for source_id, passage_id, xmin in await rows(
        world,
        "SELECT source_id, passage_id, xmin::text::bigint FROM index_postings"
        " WHERE workspace_id = :w AND index_id = :i",
        i=UUID(index_id),
    ):
        found[titles[source_id]].add((str(passage_id), xmin))
    return found


async def write(world: World, statement: str, **parameters: object) -> None:
    """Run a statement of the test's own, and commit; `:w` is the workspace's id."""
    async with world.services.database.write() as session:
        await session.execute(text(statement), {"w": world.workspace_id, **parameters})


async def let_go_of_the_old(world: World) -> None:
    """The time is over in which somebody could still be reading a generation that was replaced."""
    await write(world, "UPDATE indexes SET run_after = now() WHERE workspace_id = :w AND state = 'RETIRED'")


async def until(condition: Callable[[], Awaitable[bool]], seconds: float = WAITING) -> None:
    """Wait for it. Raises TimeoutError."""
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110 what happens in other processes sets no event
            await asyncio.sleep(0.02)


@asynccontextmanager
async def built_up_to_the_exchange(world: World, base: str) -> AsyncIterator[tuple["asyncio.Task[None]", WriteSession]]:
    """The worker does what is due and stops before an index of this knowledge base is exchanged, until the block ends.

    The test holds the lock that the exchange needs, in the transaction that it gets beside the worker's task.
    """
    async with world.services.database.write() as session:
        await lock_knowledge_bases(session, world.workspace_id, [UUID(base)])
        working = asyncio.create_task(world.work())
        await until(lambda: _waits_for_lock(world))
        yield working, session
    await asyncio.wait([working])
    if not working.cancelled():
        working.result()


async def _waits_for_lock(world: World) -> bool:
    """Whether some statement waits for a knowledge base."""
    waiting = await rows(
        world,
        "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%knowledge_bases%FOR NO KEY%'",
    )
    return bool(waiting)
