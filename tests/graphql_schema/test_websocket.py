"""graphql-transport-ws: the same rules as over HTTP, on a real socket (SPEC R21, R26)."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import websockets
from websockets.asyncio.client import ClientConnection, connect

from tests.graphql_schema.door import Door
from tests.serving import serving

PROTOCOL = websockets.Subprotocol("graphql-transport-ws")
SIGNED_IN = {"Authorization": "Bearer ada"}


@asynccontextmanager
async def socket(door: Door, payload: Any = None, **options: Any) -> AsyncIterator[ClientConnection]:
    """A connection that has sent connection_init with `payload`."""
    async with serving(door.app) as address:
        url = address.replace("http", "ws", 1) + "/graphql"
        async with connect(url, subprotocols=[PROTOCOL], **options) as connection:
            await connection.send(json.dumps({"type": "connection_init", "payload": payload or {}}))
            yield connection


async def replies(connection: ClientConnection, query: Any, **payload: Any) -> list[dict[str, Any]]:
    """What comes back for one operation, up to its last message; the first message is the acknowledgement."""
    assert json.loads(await connection.recv()) == {"type": "connection_ack"}
    await connection.send(json.dumps({"type": "subscribe", "id": "1", "payload": {"query": query, **payload}}))
    messages: list[dict[str, Any]] = []
    while not messages or messages[-1]["type"] == "next":
        messages.append(json.loads(await connection.recv()))
    return messages


async def test_a_subscription_sends_its_events_and_ends() -> None:
    async with socket(Door(), SIGNED_IN) as connection:
        messages = await replies(connection, "subscription ($n: Int!) { count(to: $n) }", variables={"n": 2})
    assert messages == [
        {"type": "next", "id": "1", "payload": {"data": {"count": 0}}},
        {"type": "next", "id": "1", "payload": {"data": {"count": 1}}},
        {"type": "complete", "id": "1"},
    ]


async def test_a_query_runs_too_and_each_operation_has_its_own_context() -> None:
    door = Door()
    async with socket(door, SIGNED_IN) as connection:
        messages = await replies(connection, "{ viewer }")
    assert messages[0]["payload"] == {"data": {"viewer": "user:ada"}}
    assert len(door.contexts) == 2  # one to check the token of connection_init, one for the operation


async def test_the_token_may_come_with_the_handshake() -> None:
    async with socket(Door(), additional_headers=SIGNED_IN) as connection:
        assert (await replies(connection, "{ viewer }"))[0]["payload"] == {"data": {"viewer": "user:ada"}}


async def test_a_bad_token_closes_the_socket() -> None:
    async with socket(Door(), {"authorization": "Bearer eve"}) as connection:
        with pytest.raises(websockets.ConnectionClosedError):
            await connection.recv()
        assert (connection.close_code, connection.close_reason) == (4403, "Forbidden")


@pytest.mark.parametrize("query", ["subscription { count(to: 1) }", "{ viewer }"])
async def test_without_a_token_only_introspection_is_answered(query: str) -> None:
    async with socket(Door()) as connection:
        (message,) = await replies(connection, query)
    assert (message["type"], message["payload"][0]["extensions"]["code"]) == ("error", "UNAUTHENTICATED")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("{ nope }", "Cannot query field 'nope' on type 'Query'."),
        ("{", "Syntax Error: Expected Name, found <EOF>."),
        (7, "query must be a string."),
    ],
)
async def test_a_document_that_is_not_executed_is_an_error_message(query: Any, message: str) -> None:
    async with socket(Door(), SIGNED_IN) as connection:
        (reply,) = await replies(connection, query)
    assert reply["type"] == "error"
    assert [(e["message"], e["extensions"]["code"]) for e in reply["payload"]] == [(message, "INVALID_INPUT")]


async def test_a_subscription_that_fails_is_masked() -> None:
    async with socket(Door(), SIGNED_IN) as connection:
        messages = await replies(connection, "subscription { fails }")
    error = {
        "message": "Something went wrong on our side.",
        "extensions": {"code": "INTERNAL", "retryable": False, "requestId": None},
    }
    assert [message.get("payload") for message in messages] == [
        {"data": {"fails": 1}},
        {"data": None, "errors": [error]},
        None,
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '"x"',
        "{}",
        "[" * 100_000,
        '{"type": "subscribe", "id": "1"}',
        '{"type": "subscribe", "id": "1", "payload": "x"}',
        '{"type": "subscribe", "id": [], "payload": {"query": "{ viewer }"}}',
        '{"type": "launch"}',
    ],
)
async def test_what_is_no_message_of_the_protocol_closes_the_socket(text: str) -> None:
    async with socket(Door(), SIGNED_IN) as connection:
        await connection.recv()
        await connection.send(text)
        with pytest.raises(websockets.ConnectionClosedError):
            await connection.recv()
        assert connection.close_code == 4400


async def test_only_graphql_transport_ws_is_spoken() -> None:
    async with serving(Door().app) as address:
        url = address.replace("http", "ws", 1) + "/graphql"
        async with connect(url, subprotocols=[websockets.Subprotocol("graphql-ws")]) as connection:
            with pytest.raises(websockets.ConnectionClosedError):
                await connection.recv()
            assert connection.close_code == 4406


async def test_another_sites_page_is_refused() -> None:
    async with serving(Door().app) as address:
        url = address.replace("http", "ws", 1) + "/graphql"
        with pytest.raises(websockets.InvalidStatus) as refused:
            async with connect(url, subprotocols=[PROTOCOL], origin=websockets.Origin("https://evil.example")):
                pass
        assert refused.value.response.status_code == 403
