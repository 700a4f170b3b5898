"""MCP by the SDK's own client, over streamable HTTP and over `gctl mcp` (SPEC R24)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # mcp brings it, without types
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult

from app.operations import find_operation, operations
from app.settings import Settings
from graphql_schema.asgi import create
from tests import world as worlds
from tests.cli.running import GCTL, Shell
from tests.serving import serving
from tests.world import World


@asynccontextmanager
async def over_http(caller: worlds.Caller, mode: Any = "auto") -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers={"authorization": f"Bearer {caller.token}"}, timeout=30) as client,
        Client(streamable_http_client(f"{caller.address}/mcp", http_client=client), mode=mode) as agent,
    ):
        yield agent


@asynccontextmanager
async def over_stdio(caller: worlds.Caller, folder: Path) -> AsyncIterator[Client]:
    shell = Shell(folder, {"GCTL_SERVER": caller.address, "GCTL_TOKEN": caller.token or ""})
    server = StdioServerParameters(command=str(GCTL), args=["mcp"], env=shell.environment())
    async with Client(stdio_client(server)) as agent:
        yield agent


def error_of(result: CallToolResult) -> dict[str, Any]:
    assert result.is_error
    error: dict[str, Any] = result.structured_content["error"]
    return error


async def invoke(agent: Client, name: str, /, **arguments: Any) -> CallToolResult:
    return await agent.call_tool("invoke_operation", {"name": name, "arguments": arguments})


async def test_the_three_tools_say_what_they_are(world: World) -> None:
    async with over_http(world.reader) as agent:
        assert agent.server_info is not None
        assert agent.server_info.name == "gctl"
        tools = {tool.name: tool for tool in (await agent.list_tools()).tools}
    assert list(tools) == ["search_operations", "describe_operation", "invoke_operation"]
    hints = {
        name: (t.annotations and (t.annotations.read_only_hint, t.annotations.destructive_hint))
        for name, t in tools.items()
    }
    assert hints == {
        "search_operations": (True, False),
        "describe_operation": (True, False),
        "invoke_operation": (False, True),
    }
    for tool in tools.values():
        assert tool.description
        assert tool.output_schema is not None
        Draft202012Validator.check_schema(tool.input_schema)
        Draft202012Validator.check_schema(tool.output_schema)
        assert tool.input_schema["additionalProperties"] is False


@pytest.mark.parametrize("way", ["auto", "legacy", "stdio"])
async def test_an_agent_finds_its_way_from_a_question_to_a_passage(world: World, tmp_path: Path, way: str) -> None:
    """Find, describe, invoke; on INDEX_NOT_READY do what the error says, and ask again."""
    await world.add("Rigging", "Harbor rigging needs care.")
    base = await world.knowledge_base("Rigging", auto_refresh=False)
    await world.add("Tides", "Rigging after the harbor's tides.")
    await world.manager.change(
        "addKnowledgeBaseSources", "knowledgeBase { id }", knowledgeBaseId=base, sourceIds=[world.sources["Tides"]]
    )
    connected = over_stdio(world.manager, tmp_path) if way == "stdio" else over_http(world.manager, way)
    async with connected as agent:
        found = await agent.call_tool("search_operations", {"query": "passages that match a query"})
        name = found.structured_content["operations"][0]["name"]
        assert name == "library.retrieve"
        described = (await agent.call_tool("describe_operation", {"name": name})).structured_content
        assert described["kind"] == "read"
        arguments = {"query": "harbor rigging", "knowledge_base_id": base}
        assert list(Draft202012Validator(described["input_schema"]).iter_errors(arguments)) == []

        error = error_of(await invoke(agent, name, **arguments))
        assert error == {
            "code": "INDEX_NOT_READY",
            "message": "The knowledge base's index is STALE. Remedy: REFRESH.",
            "retryable": False,
            "indexState": "STALE",
            "remedy": "REFRESH",
            "remedy_operation": {"name": "knowledge_base.refresh_index", "arguments": {"knowledge_base_id": base}},
        }
        remedy = error["remedy_operation"]
        refreshing = await invoke(agent, remedy["name"], **remedy["arguments"])
        assert refreshing.structured_content["result"]["index"]["state"] == "BUILDING"
        assert error_of(await invoke(agent, name, **arguments))["remedy"] == "WAIT"
        await world.work()
        answer = (await invoke(agent, name, **arguments)).structured_content["result"]
    assert list(Draft202012Validator(described["output_schema"]).iter_errors(answer)) == []
    assert {hit["source"]["title"] for hit in answer["hits"]} == {"Rigging", "Tides"}


@pytest.mark.parametrize("subject", ["user:nobody", "user:reader", "user:manager", "user:guest"])
async def test_a_caller_gets_the_hits_that_it_gets_over_graphql(world: World, subject: str) -> None:
    await world.add("Open", "The harbor map.")
    await world.add("Secret", "The harbor plan.", private=True)
    await world.grant("user:guest", "source.read", world.sources["Secret"])
    operation = find_operation("library.retrieve")
    caller = world.caller(subject)
    data = (await caller.post(operation.document, {"query": "harbor"})).json()["data"]
    async with over_http(caller) as agent:
        result = (await invoke(agent, "library.retrieve", query="harbor")).structured_content["result"]
        viewer = (await invoke(agent, "access.viewer")).structured_content["result"]
    assert result == operation.answer(data)
    titles = {"user:nobody": [], "user:reader": ["Open"], "user:manager": ["Open", "Secret"], "user:guest": ["Secret"]}
    assert sorted(hit["source"]["title"] for hit in result["hits"]) == titles[subject]
    assert viewer["subject"] == subject


async def test_a_write_needs_the_right_that_graphql_asks_for(world: World) -> None:
    async with over_http(world.reader) as agent:
        error = error_of(await invoke(agent, "knowledge_base.create_knowledge_base", name="Mine"))
    assert (error["code"], error["retryable"]) == ("FORBIDDEN", False)
    assert (await world.manager.ask("{ knowledgeBases { nodes { id } } }"))["knowledgeBases"]["nodes"] == []


@pytest.mark.parametrize(
    ("tool", "arguments", "argument", "part"),
    [
        (
            "invoke_operation",
            {"name": "library.retrieve", "arguments": {"query": "a", "limit": 51}},
            "limit",
            "1 to 50",
        ),
        ("invoke_operation", {"name": "library.retrieve", "arguments": {"query": "a", "limit": "b"}}, "limit", "Int"),
        (
            "invoke_operation",
            {"name": "library.retrieve", "arguments": {"query": "a", "kb_id": "b"}},
            "kb_id",
            "not a field",
        ),
        (
            "invoke_operation",
            {"name": "library.retrieve", "arguments": {"query": "a", "knowledge_base_id": "b"}},
            "knowledge_base_id",
            "is not an id",
        ),
        ("invoke_operation", {"name": "library.retrieve"}, "query", "is required"),
        ("invoke_operation", {"name": "library.retreive"}, "name", "Did you mean library.retrieve"),
        ("describe_operation", {}, "name", "required"),
        ("search_operations", {"limit": 0}, "limit", "greater"),
        ("search_operations", {"words": "a"}, "words", "not permitted"),
    ],
)
async def test_an_error_says_what_to_mend(
    world: World, tool: str, arguments: dict[str, Any], argument: str, part: str
) -> None:
    async with over_http(world.reader) as agent:
        error = error_of(await agent.call_tool(tool, arguments))
    assert (error["code"], error["retryable"], error["argument"]) == ("INVALID_INPUT", False, argument)
    assert part in error["message"]


async def test_a_tool_that_is_none_is_an_error_of_the_protocol(world: World) -> None:
    async with over_http(world.reader) as agent:
        with pytest.raises(MCPError, match="There is no tool 'drop_tables'"):
            await agent.call_tool("drop_tables", {})
        listed = (await agent.call_tool("search_operations", {"limit": 50})).structured_content
    assert [each["name"] for each in listed["operations"]] == list(operations())
    assert listed["total"] == len(operations())


async def test_stdio_says_when_the_server_is_gone(world: World, tmp_path: Path) -> None:
    gone = worlds.Caller(world.client, "http://127.0.0.1:1", world.reader.token)
    async with over_stdio(gone, tmp_path) as agent:
        error = error_of(await invoke(agent, "access.viewer"))
    assert (error["code"], error["retryable"]) == ("UNAVAILABLE", True)
    assert (await Shell(tmp_path, {}).gctl("mcp")).status == 2


LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = {"accept": "application/json, text/event-stream"}


async def test_without_a_good_token_the_way_to_one_is_told(world: World) -> None:
    metadata = f"{world.address}/.well-known/oauth-protected-resource/mcp"
    for token, error in (({}, ""), ({"authorization": "Bearer x.y.z"}, 'error="invalid_token", ')):
        response = await world.client.post(f"{world.address}/mcp", json=LIST, headers=ACCEPT | token)
        assert response.status_code == 401
        assert response.headers["www-authenticate"] == f'Bearer {error}resource_metadata="{metadata}"'
        assert "search_operations" not in response.text
    assert (await world.client.get(metadata)).json() == {
        "resource": f"{world.address}/mcp",
        "resource_name": "gctl",
        "bearer_methods_supported": ["header"],
    }


async def test_a_token_for_another_audience_is_refused_and_the_issuer_is_named(
    world: World, settings: Settings
) -> None:
    strict = {"jwt_audience": "https://here.example", "jwt_issuer": "https://issuer.example"}
    async with serving(create(settings.model_copy(update=strict))) as address:
        there = worlds.Caller(world.client, address, world.reader.token)
        response = await world.client.post(
            f"{address}/mcp", json=LIST, headers=ACCEPT | {"authorization": f"Bearer {there.token}"}
        )
        metadata = (await world.client.get(f"{address}/.well-known/oauth-protected-resource/mcp")).json()
    assert response.status_code == 401
    assert metadata["authorization_servers"] == ["https://issuer.example"]


@pytest.mark.parametrize(
    ("settings_", "headers", "status"),
    [
        ({}, {"host": "evil.example"}, 421),
        ({}, {"host": "127.0.0.1.evil.example:80"}, 421),
        ({}, {"origin": "https://evil.example"}, 403),
        ({}, {"origin": "null"}, 403),
        ({}, {"origin": "http://localhost:3000"}, 200),
        ({"public_url": "https://kb.example/"}, {"host": "kb.example", "origin": "https://kb.example"}, 200),
        ({"public_url": "https://kb.example/"}, {"host": "other.example"}, 421),
        ({"host": "0.0.0.0"}, {"host": "kb.example", "origin": "http://kb.example"}, 200),  # noqa: S104
        ({"host": "0.0.0.0"}, {"host": "kb.example", "origin": "http://evil.example"}, 403),  # noqa: S104
    ],
)
async def test_another_name_for_the_server_or_a_foreign_page_is_refused(
    world: World, settings: Settings, settings_: dict[str, Any], headers: dict[str, str], status: int
) -> None:
    checked = Settings.model_validate(settings.model_dump() | settings_)
    token = {"authorization": f"Bearer {world.reader.token}"}
    async with serving(create(checked)) as address:
        response = await world.client.post(f"{address}/mcp", json=LIST, headers=ACCEPT | token | headers)
        metadata = await world.client.get(f"{address}/.well-known/oauth-protected-resource/mcp", headers=headers)
    assert (response.status_code, metadata.status_code) == (status, status)
    if "public_url" in settings_ and status == 200:
        assert metadata.json()["resource"] == "https://kb.example/mcp"


async def test_nothing_is_kept_between_two_requests(world: World) -> None:
    """Any worker answers: no session is opened, so a call needs none before it."""
    token = {"authorization": f"Bearer {world.reader.token}"}
    call = {"name": "invoke_operation", "arguments": {"name": "access.viewer"}}
    body = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call}
    response = await world.client.post(f"{world.address}/mcp", json=body, headers=ACCEPT | token)
    assert response.status_code == 200
    assert "mcp-session-id" not in response.headers
    assert response.json()["result"]["structuredContent"]["result"]["subject"] == "user:reader"
    refused = await world.client.get(f"{world.address}/mcp", headers=ACCEPT | token)
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
    huge = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"a": "x" * 1_000_000}}
    too_large = await world.client.post(f"{world.address}/mcp", json=huge, headers=ACCEPT | token)
    assert too_large.status_code == 413
