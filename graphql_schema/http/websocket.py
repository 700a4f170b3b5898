"""graphql-transport-ws: strawberry speaks the protocol, `Operations` executes.

https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md. A browser cannot send headers with a handshake, so
the token may come in the payload of connection_init, under the header's name. It is checked there, and again for
every operation: each gets a context of its own, exactly as over HTTP.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import timedelta
from json import JSONDecodeError
from typing import cast

import orjson
from graphql import GraphQLError, GraphQLFormattedError
from starlette.requests import Request
from starlette.websockets import WebSocket
from strawberry import Schema
from strawberry.asgi import GraphQL
from strawberry.exceptions import ConnectionRejectionError
from strawberry.subscriptions import GRAPHQL_TRANSPORT_WS_PROTOCOL
from strawberry.types.execution import ExecutionResult, PreExecutionError
from strawberry.types.unset import UNSET, UnsetType

from app.errors import AppError
from graphql_schema.http.operations import Answer, Caller, Operations, refusal
from graphql_schema.http.persisted import PersistedDocuments
from graphql_schema.http.requests import OperationRequest, checked, request_id

GetContext = Callable[[Request], Awaitable[Caller]]


@dataclass(slots=True)
class Connection:
    """One websocket. Strawberry sets `connection_params` when connection_init arrives."""

    websocket: WebSocket
    connection_params: dict[str, object] = field(default_factory=dict)

    def as_request(self) -> Request:
        """The request that an operation on this connection would have been, with its token where HTTP has it."""
        headers = [(name, value) for name, value in self.websocket.scope["headers"]]
        for name, value in self.connection_params.items():
            if name.lower() == "authorization" and isinstance(value, str):
                headers = [(n, v) for n, v in headers if n != b"authorization"]
                headers.append((b"authorization", value.encode("utf-8", "replace")))
        return Request({**self.websocket.scope, "type": "http", "method": "GET", "headers": headers})

    @property
    def request_id(self) -> str | None:
        return request_id(self.websocket)


class TransportWS(GraphQL[Connection, None]):
    """Strawberry's view, for its websocket alone."""

    def __init__(self, operations: Operations, get_context: GetContext, documents: PersistedDocuments) -> None:
        super().__init__(
            cast("Schema", _Door(operations, get_context, documents)),
            graphql_ide=None,
            subscription_protocols=(GRAPHQL_TRANSPORT_WS_PROTOCOL,),
            connection_init_wait_timeout=timedelta(seconds=10),
        )
        self._authenticate = get_context

    async def get_context(self, request: Request | WebSocket, response: object) -> Connection:  # noqa: ARG002
        return Connection(cast("WebSocket", request))

    async def on_ws_connect(self, context: Connection) -> UnsetType:
        try:
            await self._authenticate(context.as_request())
        except AppError:
            raise ConnectionRejectionError from None
        return cast("UnsetType", UNSET)

    def decode_json(self, data: str | bytes) -> object:
        """Strawberry reads the message's parts without looking; what is no message of the protocol stops here."""
        message = orjson.loads(data)
        if not (
            isinstance(message, dict)
            and isinstance(message.get("id", ""), str)
            and (message.get("type") != "subscribe" or isinstance(message.get("payload"), dict))
        ):
            raise JSONDecodeError("not a message", "", 0)
        return message

    def encode_json(self, data: object) -> str:
        return orjson.dumps(data).decode()


class _Door:
    """What strawberry's websocket handler takes for the schema: it asks for `stream` and nothing else."""

    def __init__(self, operations: Operations, get_context: GetContext, documents: PersistedDocuments) -> None:
        self._operations = operations
        self._get_context = get_context
        self._documents = documents

    async def stream(
        self,
        query: object,
        *,
        variable_values: object,
        context_value: Connection,
        root_value: None,  # noqa: ARG002
        operation_name: object,
    ) -> AsyncGenerator[ExecutionResult, None]:
        parameters = {"query": query, "variables": variable_values, "operationName": operation_name}
        return self._results(parameters, context_value)

    async def _results(
        self, parameters: dict[str, object], connection: Connection
    ) -> AsyncGenerator[ExecutionResult, None]:
        try:
            request = checked(parameters)
            handshake = connection.as_request()
            context = await self._get_context(handshake)
            request = await self._documents.resolve(request, handshake, context.subject, _nothing)
        except Exception as error:
            yield _result(refusal(error, connection.request_id))
            return
        async with aclosing(self._operations.stream(request, context, connection.request_id)) as answers:
            async for answer in answers:
                yield _result(answer)


def _nothing(_: OperationRequest) -> None:
    """Strawberry hands on no extensions: over a websocket no document is registered."""


class _Described(GraphQLError):
    """An error that is already what the client gets."""

    def __init__(self, entry: dict[str, object]) -> None:
        super().__init__(str(entry["message"]))
        self._entry = entry

    @property
    def formatted(self) -> GraphQLFormattedError:
        return cast("GraphQLFormattedError", self._entry)


def _result(answer: Answer) -> ExecutionResult:
    """Without `data` nothing was executed: the protocol's `error` message instead of `next`."""
    errors = [_Described(entry) for entry in cast("list[dict[str, object]]", answer.body.get("errors", []))]
    if "data" not in answer.body:
        return PreExecutionError(None, list(errors))
    return ExecutionResult(cast("dict[str, object] | None", answer.body["data"]), list(errors) or None)
