"""MCP at /mcp (SPEC R24): the tools of app.tools over streamable HTTP. Each call is one operation of the GraphQL door.

Who calls is found out as for /graphql, by the same tokens; a request without a good one gets 401 and the address of
the metadata that says whose tokens are good (RFC 9728). Nothing is kept between two requests, so any worker answers.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from app.errors import Unauthenticated
from app.operations import Operation
from app.settings import Settings
from app.tools import Context as ToolContext
from app.tools import agent_server
from graphql_schema.http import Caller, OperationRequest, Operations
from graphql_schema.http.operations import refusal
from graphql_schema.http.requests import request_id

PATH = "/mcp"
METADATA_PATH = "/.well-known/oauth-protected-resource"
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


class McpDoor:
    """The door's routes, and what must run while they answer."""

    def __init__(
        self,
        operations: Operations,
        get_context: Callable[[HTTPConnection], Awaitable[Caller]],
        settings: Settings,
    ) -> None:
        self._operations = operations
        self._get_context = get_context
        self._settings = settings
        self._server = agent_server(self._invoke)
        self._manager: StreamableHTTPSessionManager | None = None

    @property
    def routes(self) -> list[BaseRoute]:
        return [
            Route(PATH, _Endpoint(self)),
            Route(METADATA_PATH + PATH, self._metadata),
            Route(METADATA_PATH, self._metadata),
        ]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The door answers while the block runs."""
        logging.getLogger("mcp").setLevel(logging.WARNING)  # else two lines for each request
        self._manager = StreamableHTTPSessionManager(
            self._server,
            json_response=True,
            stateless=True,
            max_request_body_size=self._settings.max_body_bytes,
        )
        async with self._manager.run():
            yield

    async def _invoke(
        self, operation: Operation, variables: dict[str, Any], context: ToolContext
    ) -> Mapping[str, Any]:
        request: Request = context.request
        asked = OperationRequest(operation.document, variables=dict(variables))
        try:
            caller = await self._get_context(request)
        except Exception as error:
            return refusal(error, request_id(request)).body
        return (await self._operations.run(asked, caller, request_id(request))).body
