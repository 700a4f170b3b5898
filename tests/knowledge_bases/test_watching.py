"""Watching an index being built: indexProgress over graphql-transport-ws, and polling (SPEC R18)."""

import asyncio
import json
from typing import Any
from uuid import uuid4

import pytest
import websockets
from websockets.asyncio.client import connect

from app.jobs import indexes as index_jobs
from tests.knowledge_bases.indexes import built_up_to_the_exchange, empty_base, index, request, until
from tests.world import Caller, World

WATCH = "subscription S($id: ID!) { indexProgress(knowledgeBaseId: $id) { state generation progress done total } }"


async def watched(world: World, base: str, by: Caller, seen: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """Watch to the end; the last message. What is seen on the way goes into `seen`."""
    url = world.address.replace("http", "ws", 1) + "/graphql"
    async with asyncio.timeout(20), connect(url, subprotocols=[websockets.Subprotocol("graphql-transport-ws")]) as ws:
        token = {} if by.token is None else {"authorization": f"Bearer {by.token}"}
        await ws.send(json.dumps({"type": "connection_init", "payload": token}))
        assert json.loads(await ws.recv()) == {"type": "connection_ack"}
        subscribe = {"query": WATCH, "variables": {"id": base}}
        await ws.send(json.dumps({"type": "subscribe", "id": "1", "payload": subscribe}))
        while True:
            message: dict[str, Any] = json.loads(await ws.recv())
            if message["type"] != "next":
                return message
            if seen is not None:
                seen.append(message["payload"]["data"]["indexProgress"])


def refusal(message: dict[str, Any]) -> dict[str, Any]:
    assert message["type"] in ("error", "next"), message
    errors = message["payload"] if message["type"] == "error" else message["payload"]["errors"]
    extensions: dict[str, Any] = errors[0]["extensions"]
    return extensions


async def with_sources(world: World, *titles: str) -> str:
    for title in titles:
        await world.add(title, f"{title} are looked at.")
    return await empty_base(world, *titles)


async def test_a_build_is_watched_from_its_beginning_to_its_end(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_jobs, "STEP_MEMBERS", 1)
    base = await with_sources(world, "Cranes", "Quays", "Ropes")
    await request(world, "rebuildIndex", base)
    seen: list[dict[str, Any]] = []
    watching = asyncio.create_task(watched(world, base, world.manager, seen))

    async def has_begun() -> bool:
        return bool(seen)

    await until(has_begun)
    async with built_up_to_the_exchange(world, base):

        async def is_at_the_exchange() -> bool:
            return bool(seen[-1]["done"] == 3)

        await until(is_at_the_exchange)
        polled = await index(world, base)
        assert polled is not None
        assert (polled["state"], polled["progress"], polled["done"], polled["total"]) == ("BUILDING", 1.0, 3, 3)
    assert await watching == {"type": "complete", "id": "1"}
    assert seen[0] == {"state": "BUILDING", "generation": 1, "progress": 0.0, "done": 0, "total": 0}
    assert seen[-1] == {"state": "READY", "generation": 1, "progress": 1.0, "done": 3, "total": 3}
    assert [one["progress"] for one in seen] == sorted(one["progress"] for one in seen)


async def test_the_successor_of_a_ready_index_is_watched(world: World) -> None:
    base = await with_sources(world, "Cranes")
    await request(world, "rebuildIndex", base)
    await world.work()
    await request(world, "rebuildIndex", base)
    seen: list[dict[str, Any]] = []
    watching = asyncio.create_task(watched(world, base, world.reader, seen))

    async def has_begun() -> bool:
        return bool(seen)

    await until(has_begun)
    assert (await index(world, base) or {})["state"] == "READY"
    await world.work()
    assert (await watching)["type"] == "complete"
    unseen = {"done": None, "total": None}  # for managers
    assert seen[0] == {"state": "BUILDING", "generation": 2, "progress": 0.0} | unseen
    assert seen[-1] == {"state": "READY", "generation": 2, "progress": 1.0} | unseen


async def test_an_index_at_rest_is_told_once(world: World) -> None:
    base = await with_sources(world, "Cranes")
    await request(world, "rebuildIndex", base)
    await world.work()
    seen: list[dict[str, Any]] = []
    assert (await watched(world, base, world.reader, seen))["type"] == "complete"
    assert [(one["state"], one["generation"]) for one in seen] == [("READY", 1)]


async def test_what_cannot_be_watched_says_why(world: World) -> None:
    base = await with_sources(world, "Cranes")
    never_built = await watched(world, base, world.reader)
    assert refusal(never_built) == {
        "code": "INDEX_NOT_READY",
        "retryable": False,
        "indexState": None,
        "remedy": "REBUILD",
    }
    unknown = await watched(world, str(uuid4()), world.reader)
    assert refusal(unknown)["code"] == "NOT_FOUND"
