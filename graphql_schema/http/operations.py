"""Runs one operation for one caller, whichever door it came through: the same rules, limits and errors for all.

HTTP, the websocket and MCP hand their requests to `Operations`. Nothing gets past it but cancellation: whatever
happens is an Answer.
"""

import asyncio
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from inspect import isawaitable
from types import TracebackType
from typing import Protocol, cast

import structlog
from graphql import ExecutionResult, GraphQLError, OperationType, subscribe
from strawberry import Schema

from app.access.subject import Subject
from app.errors import QueryTooComplex, TimedOut, Unauthenticated
from app.settings import Settings
from graphql_schema.errors import Busy, RequestErrors, as_app_error, describe, describe_exception
from graphql_schema.execution import Execution
from graphql_schema.http.requests import BadRequest, OperationRequest
from graphql_schema.limits import Documents, Operation, check_variables

QUERIES = frozenset({OperationType.QUERY})
ONE_ANSWER = frozenset({OperationType.QUERY, OperationType.MUTATION})
EVERYTHING = frozenset(OperationType)

_STATUS = {
    "UNAUTHENTICATED": 401,
    "FORBIDDEN": 403,
    "NOT_FOUND": 404,
    "INVALID_INPUT": 400,
    "QUERY_TOO_COMPLEX": 400,
    "PERSISTED_QUERY_NOT_FOUND": 200,  # Apollo's clients take any other status for a failure of the network
    "PERSISTED_QUERY_NOT_SUPPORTED": 200,
    "AUTHORIZATION_UNAVAILABLE": 503,
    "UNAVAILABLE": 503,
    "TIMEOUT": 504,
}
_SIGN_IN = "Sign in: send a token in the Authorization header. Without one only introspection is answered."
_HEADERS = {401: {"www-authenticate": "Bearer"}, 503: {"retry-after": "1"}}


log = structlog.stdlib.get_logger(__name__)


class Caller(Protocol):
    """What is asked of a Context: who the caller is, None without a token."""

    @property
    def subject(self) -> Subject | None: ...

    def abandon(self) -> None:
        """Stop what the operation left running: it has ended, in time or not, or its client is gone."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A GraphQL response and its HTTP status. `body` has `errors`, `data` or both."""

    body: dict[str, object]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    about_the_document: bool = False  # a well-formed request whose document is not executed


class Operations:
    """One schema's operations, under one set of limits."""

    def __init__(self, schema: Schema, settings: Settings) -> None:
        """Raises ValueError for a schema whose extensions or directives would not run: graphql-core executes here.

        Extensions of fields, permissions too, are the resolvers' own and do run.
        """
        if schema.extensions or schema.directives:
            raise ValueError("Schema extensions and operation directives are not run")
        self._schema = schema
        self._settings = settings
        self._execution = Execution(schema, fast=settings.fast_execution)
        self._documents = Documents(schema._schema, settings)  # strawberry has no public name for it
        self._slots = _Slots(settings.max_concurrent_operations)

    async def run(
        self,
        request: OperationRequest,
        context: Caller,
        request_id: str | None = None,
        kinds: Collection[OperationType] = ONE_ANSWER,
    ) -> Answer:
        """Executes a query or mutation and waits for all of it, at most `operation_seconds`."""
        try:
            operation = self.prepare(request, context, kinds)
        except Exception as error:
            return refusal(error, request_id)
        return await self._run(operation, request, context, request_id)

    async def stream(
        self, request: OperationRequest, context: Caller, request_id: str | None = None
    ) -> AsyncGenerator[Answer, None]:
        """Executes a subscription: an Answer for each event, or the one that says why there are none."""
        try:
            operation = self.prepare(request, context, EVERYTHING)
            if operation.kind is not OperationType.SUBSCRIPTION:
                yield await self._run(operation, request, context, request_id)
                return
            events = await self._subscribe(operation, request, context)
            if isinstance(events, ExecutionResult):
                yield _answer(events, request_id)
                return
            async with aclosing(events):
                async for event in events:
                    yield _answer(event, request_id)
        except Exception as error:  # the source of the events fails as itself, not as a result
            yield refusal(error, request_id)
        finally:
            context.abandon()

    def prepare(self, request: OperationRequest, context: Caller, kinds: Collection[OperationType]) -> Operation:
        """The operation, if this caller may run it with these variables. Raises RequestErrors or an AppError.

        A caller without a token learns nothing before introspection is known to be open: not even whether the
        document is valid (SPEC R26).
        """
        anonymous = context.subject is None
        if anonymous and not self._settings.anonymous_introspection:
            raise Unauthenticated(_SIGN_IN)
        operation = self._documents.operation(request.query, request.operation_name)
        if operation.kind not in kinds:
            raise _wrong_door(operation.kind, kinds)
        if anonymous and not operation.about_the_schema:
            raise Unauthenticated(_SIGN_IN)
        check_variables(request.variables)
        operation.cost.check(request.variables, self._settings.max_query_cost)
        return operation

    async def _run(
        self, operation: Operation, request: OperationRequest, context: Caller, request_id: str | None
    ) -> Answer:
        try:
            with self._slots:
                result = await self._execute(operation, request, context)
        except Exception as error:
            return refusal(error, request_id)
        finally:
            context.abandon()
        return _answer(result, request_id)

    async def _execute(self, operation: Operation, request: OperationRequest, context: Caller) -> ExecutionResult:
        result = self._execution.run(operation, context, request.variables, request.extensions)
        if not isawaitable(result):
            return result
        try:
            async with asyncio.timeout(self._settings.operation_seconds):
                return await result
        except TimeoutError:
            raise TimedOut from None

    async def _subscribe(
        self, operation: Operation, request: OperationRequest, context: Caller
    ) -> AsyncGenerator[ExecutionResult, None] | ExecutionResult:
        events = subscribe(
            self._schema._schema,
            operation.document,
            context_value=context,
            variable_values=request.variables,
            operation_name=request.operation_name,
            executor_class=self._schema.execution_context_class,
            operation_extensions=request.extensions,
        )
        return cast(
            "AsyncGenerator[ExecutionResult, None] | ExecutionResult", await events if isawaitable(events) else events
        )


class _Slots:
    """How many operations run at once. Nobody queues: a queue would only hide the overload."""

    def __init__(self, size: int) -> None:
        self._free = size

    def __enter__(self) -> None:
        if self._free == 0:
            raise Busy
        self._free -= 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._free += 1


def refusal(error: Exception, request_id: str | None) -> Answer:
    """The Answer for an exception that leaves nothing to execute."""
    if isinstance(error, RequestErrors):
        return _not_executed(error.errors, request_id)
    body: dict[str, object] = {"errors": [describe_exception(error, request_id)]}
    if isinstance(error, BadRequest):
        return Answer(body, error.status, error.headers)
    known = as_app_error(error)
    status = _STATUS.get(known.code, 500) if known else 500
    return Answer(body, status, _HEADERS.get(status, {}), about_the_document=isinstance(known, QueryTooComplex))


def _not_executed(errors: list[GraphQLError], request_id: str | None) -> Answer:
    log.info("document_refused", code="INVALID_INPUT", request_id=request_id, errors=len(errors))
    return Answer({"errors": [describe(error, request_id) for error in errors]}, 400, about_the_document=True)


def _answer(result: ExecutionResult, request_id: str | None) -> Answer:
    if not result.errors:
        return Answer({"data": result.data})
    if result.data is None and all(error.path is None for error in result.errors):
        return _not_executed(result.errors, request_id)
    return Answer({"errors": [describe(error, request_id) for error in result.errors], "data": result.data})


def _wrong_door(kind: OperationType, kinds: Collection[OperationType]) -> BadRequest:
    if kind is OperationType.MUTATION and OperationType.QUERY in kinds:
        return BadRequest("Mutations are sent with POST.", 405, {"allow": "POST"})
    return BadRequest("Subscriptions run over a websocket, by the graphql-transport-ws protocol.")
