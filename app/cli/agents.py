"""`gctl mcp`: the tools for agents over standard input and output, run by the server that the client's commands ask."""

from collections.abc import Mapping
from typing import Any

import anyio
import anyio.to_thread
import click
from mcp.server.stdio import stdio_server

from app.cli.asking import Refused, run
from app.cli.profile import Given, connected, find_connection
from app.operations import Operation
from app.tools import Context, agent_server


@click.command()
@connected
def mcp(**given: Any) -> None:
    """Serve agents over standard input and output (MCP, stdio), by way of the server.

    The tools are those that the server has at /mcp, and the rights those of the token.
    """
    asked = Given(**given)
    find_connection(asked)  # now, so that a wrong call ends the command
    anyio.run(_serve, asked)


async def _serve(asked: Given) -> None:
    async def invoke(operation: Operation, variables: dict[str, Any], _: Context) -> Mapping[str, Any]:
        return await anyio.to_thread.run_sync(_answer, asked, operation, variables)

    server = agent_server(invoke)
    async with stdio_server() as (received, sent):
        await server.run(received, sent, server.create_initialization_options())


def _answer(asked: Given, operation: Operation, variables: dict[str, Any]) -> Mapping[str, Any]:
    """The server's answer, or an error in its place. The token is found anew: one for --subject lives for minutes."""
    try:
        return run(find_connection(asked), operation, variables)
    except Refused as refused:
        extensions = {name: value for name, value in refused.problem.items() if name != "message"}
        return {"errors": [{"message": refused.problem["message"], "extensions": extensions}]}
