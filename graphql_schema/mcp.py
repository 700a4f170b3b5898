"""MCP at /mcp (SPEC R24): the tools of app.tools over streamable HTTP. Each call is one operation of the GraphQL door.

Who calls is found out as for /graphql, by the same tokens; a request without a good one gets 401 and the address of
the metadata that says whose tokens are good (RFC 9728). Nothing is kept between two requests, so any worker answers.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import SplitResult, urlsplit

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from app.errors import Unauthenticated
from app.operations import Operation
from app.settings import Settings
from app.tools import Context as ToolContext
from app.tools import agent_server
from graphql_schema.http import Caller, OperationRequest, Operations
from graphql_schema.http.operations import refusal
from graphql_schema.http.requests import request_id

PATH = "/mcp"
METADATA_PATH = "/.well-known/oauth-protected-resource/mcp"
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})

GetContext = Callable[[HTTPConnection], Awaitable[Caller]]


class McpDoor:
    """The door's routes, and what must run while they answer."""

    def __init__(self, operations: Operations, get_context: GetContext, settings: Settings) -> None:
        self._operations = operations
        self._get_context = get_context
        self._settings = settings
        self._addresses = Addresses(settings)
        self._server = agent_server(self._invoke)
        self._manager: StreamableHTTPSessionManager | None = None

    @property
    def routes(self) -> list[BaseRoute]:
        return [Route(PATH, _Endpoint(self._respond)), Route(METADATA_PATH, self._metadata)]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The door answers while the block runs."""
        self._manager = StreamableHTTPSessionManager(
            self._server, json_response=True, stateless=True, max_request_body_size=self._settings.max_body_bytes
        )
        async with self._manager.run():
            yield

    async def _respond(self, request: Request) -> ASGIApp:
        refused = self._addresses.refusal(request) or await self._refusal(request)
        if refused is not None:
            return refused
        if request.method != "POST":
            return JSONResponse({"error": "Nothing is streamed here: use POST."}, 405, {"allow": "POST"})
        assert self._manager is not None
        return self._manager.handle_request

    async def _refusal(self, request: Request) -> Response | None:
        """What a caller gets who has no good token."""
        error: Exception
        try:
            if (await self._get_context(request)).subject is not None:
                return None
            error = Unauthenticated("This needs a token: send it in the Authorization header.")
        except Exception as raised:
            error = raised
        answer = refusal(error, request_id(request))
        headers = dict(answer.headers)
        if isinstance(error, Unauthenticated):
            wrong = 'error="invalid_token", ' if "authorization" in request.headers else ""  # RFC 6750, section 3.1
            headers["www-authenticate"] = (
                f'Bearer {wrong}resource_metadata="{self._addresses.of(request)}{METADATA_PATH}"'
            )
        return JSONResponse(answer.body, answer.status, headers)

    async def _metadata(self, request: Request) -> Response:
        """RFC 9728, section 2. Without an issuer of their own, tokens come from `gctl token`: no server gives them."""
        refused = self._addresses.refusal(request)
        if refused is not None:
            return refused
        metadata: dict[str, object] = {
            "resource": self._addresses.of(request) + PATH,
            "resource_name": "gctl",
            "bearer_methods_supported": ["header"],
        }
        issuer = self._settings.jwt_issuer or ""
        if issuer.startswith(("https://", "http://")):
            metadata["authorization_servers"] = [issuer]
        return JSONResponse(metadata)

    async def _invoke(self, operation: Operation, variables: dict[str, Any], context: ToolContext) -> Mapping[str, Any]:
        """The GraphQL answer. The caller is found out anew: a context belongs to one operation."""
        request = context.request
        assert isinstance(request, Request)
        try:
            caller = await self._get_context(request)
        except Exception as error:
            return refusal(error, request_id(request)).body
        asked = OperationRequest(operation.document, variables=variables)
        return (await self._operations.run(asked, caller, request_id(request))).body


class Addresses:
    """Where the server is, and who is refused who came by another name: a page that had its own name point here.

    A server that listens on the loopback interface is called by its names, one with a `public_url` by that too. Of
    any other the names are not known.
    """

    def __init__(self, settings: Settings) -> None:
        self._public = None if settings.public_url is None else _origin(urlsplit(str(settings.public_url)))
        self._names: frozenset[str] | None = None
        if self._public is not None:
            self._names = LOOPBACK_NAMES | {urlsplit(self._public).hostname or ""}
        elif settings.host in LOOPBACK_NAMES:
            self._names = LOOPBACK_NAMES

    def of(self, request: Request) -> str:
        """The server's address, without a slash at its end."""
        return self._public or str(request.base_url).rstrip("/")

    def refusal(self, request: Request) -> Response | None:
        """421 for a foreign Host, 403 for a foreign Origin (MCP, transports, security)."""
        host = _hostname(f"//{request.headers.get('host', '')}")
        if self._names is not None and host not in self._names:
            return JSONResponse({"error": "The server has another name. GCTL_PUBLIC_URL tells it its own."}, 421)
        origin = request.headers.get("origin")
        if origin is not None and _hostname(origin) not in (self._names or {host}):
            return JSONResponse({"error": "Pages of other sites are not answered."}, 403)
        return None


def _hostname(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


def _origin(parts: SplitResult) -> str:
    return f"{parts.scheme}://{parts.netloc}"


class _Endpoint:
    """An ASGI application whose answer is another one, found by the request."""

    def __init__(self, respond: Callable[[Request], Awaitable[ASGIApp]]) -> None:
        self._respond = respond

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = await self._respond(Request(scope))
        await app(scope, receive, send)
