"""An operation ends in time, or when its client does, and no more run at once than there is room for."""

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from graphql_schema.http.connection import Connected
from tests.graphql_schema.door import Door
from tests.serving import serving


async def test_an_operation_that_takes_too_long_is_stopped() -> None:
    door = Door(operation_seconds=0.05)
    response = await door.post("{ wait viewer }")
    assert response.status_code == 504
    message = "The operation took too long and was stopped. Try again, or ask for less."
    assert response.json() == {"errors": [{"message": message, "extensions": {"code": "TIMEOUT", "retryable": True}}]}
    assert door.events.cancelled.is_set()


async def test_more_operations_than_there_is_room_for_are_turned_away_and_room_comes_back() -> None:
    door = Door(max_concurrent_operations=1)
    waiting = asyncio.create_task(door.post("{ wait }"))
    await door.events.started.wait()
    refused = await door.post("{ viewer }")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert refused.json() == {
        "errors": [
            {"message": "The server is busy. Try again.", "extensions": {"code": "UNAVAILABLE", "retryable": True}}
        ]
    }
    door.events.release.set()
    assert (await waiting).json() == {"data": {"wait": "waited"}}
    assert (await door.post("{ viewer }")).json() == {"data": {"viewer": "user:ada"}}


async def test_a_client_that_hangs_up_cancels_its_operation() -> None:
    door = Door(max_concurrent_operations=1)
    body = b'{"query": "{ wait }"}'
    head = (
        "POST /graphql HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer ada\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with capture_logs() as logs:
        async with serving(door.app) as address:
            _, writer = await asyncio.open_connection("127.0.0.1", int(address.rpartition(":")[2]))
            writer.write(head.encode() + body)
            await asyncio.wait_for(door.events.started.wait(), 5)
            writer.close()
            await asyncio.wait_for(door.events.cancelled.wait(), 5)
        assert (await door.post("{ viewer }")).status_code == 200
    assert [entry["event"] for entry in logs] == ["client_gone"]


async def test_a_client_that_hangs_up_within_its_body_is_forgotten() -> None:
    door = Door()
    messages = [{"type": "http.request", "body": b'{"query', "more_body": True}, {"type": "http.disconnect"}]
    sent: list[Any] = []

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/graphql", "query_string": b"", "headers": headers}
    await door.endpoint(scope, receive, send)
    assert sent == []


async def test_a_shutdown_is_not_taken_for_a_client_that_left() -> None:
    door = Door()
    waiting = asyncio.create_task(door.post("{ wait }"))
    await door.events.started.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert door.events.cancelled.is_set()


async def test_a_shutdown_wins_over_a_client_that_leaves_in_the_same_moment() -> None:
    async def receive() -> dict[str, str]:
        task.cancel()
        return {"type": "http.disconnect"}

    async def work() -> None:
        async with Connected(receive):
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    with pytest.raises(asyncio.CancelledError):
        await task
