"""An operation leaves nothing to the garbage collector: what it loaded is gone when it has been answered.

Freed in heaps of ten thousand objects, long out of the processor's caches, the garbage of a retrieval took a seventh
of its time.
"""

import asyncio
import gc

import pytest

from graphql_schema.context import Context
from graphql_schema.http import OperationRequest, Operations, connection
from graphql_schema.http.connection import Connected
from graphql_schema.schema import schema
from tests.world import RETRIEVE, World

TIMES = 100  # what else runs in this process leaves some objects too


async def _connected() -> dict[str, str]:
    """What `receive` gives as long as nothing happens."""
    await asyncio.Event().wait()
    return {}


@pytest.mark.parametrize("unwatched", [60.0, 0.0])
async def test_a_retrieval_leaves_no_circles(world: World, unwatched: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "UNWATCHED_SECONDS", unwatched)
    await world.add("Rigging", "Rigging and cranes.")
    operations = Operations(schema, world.services.settings)
    subject = world.subject("user:reader")

    async def retrieve() -> None:
        async with Connected(_connected):
            context = Context(world.services, subject, world.workspace)
            answer = await operations.run(OperationRequest(RETRIEVE, variables={"query": "cranes"}), context)
            assert "errors" not in answer.body

    await retrieve()
    gc.collect()
    gc.disable()
    try:
        for _ in range(TIMES):
            await retrieve()
        assert gc.collect() < TIMES
    finally:
        gc.enable()
