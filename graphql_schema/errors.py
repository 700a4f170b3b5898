"""Exceptions become GraphQL errors: what the caller is told, and what only the log keeps (SPEC R22).

An AppError says in its own words what is wrong. What the database's drivers raise when it is down or slow stands for
one. Whatever else comes out of a resolver is a fault of ours: masked, and logged with its traceback under the request
id that the caller is told too. graphql-core's complaints about a document or its values are about the caller's own
text and keep their words.
"""

import re
from collections.abc import Iterator

import asyncpg
import sqlalchemy.exc
import structlog
from graphql import GraphQLError

from app.errors import AppError, TimedOut, Unavailable

MAX_MESSAGE = 1_000
MASKED = "Something went wrong on our side."

_TIMEOUTS = (TimeoutError, asyncpg.QueryCanceledError)
_NO_CONNECTION = (
    OSError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # the server's last word was read, and not yet that the connection ended
    asyncpg.PostgresConnectionError,
    asyncpg.TooManyConnectionsError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    sqlalchemy.exc.InterfaceError,
    sqlalchemy.exc.OperationalError,
    sqlalchemy.exc.TimeoutError,  # no connection of the pool came free
)
_NAMED_INPUT = re.compile(r"(?:Variable '\$|Argument '(?:[\w.@]+\()?)(\w+)")

log = structlog.stdlib.get_logger(__name__)


class Busy(AppError):
    """The server runs as many operations as it may. The caller's own request is fine."""

    code = "UNAVAILABLE"
    retryable = True

    def __init__(self) -> None:
        super().__init__("The server is busy. Try again.")


class RequestErrors(Exception):  # it carries errors, it is none
    """A document that is not executed: its syntax, its validity or its variables are wrong."""

    def __init__(self, errors: list[GraphQLError]) -> None:
        super().__init__(f"{len(errors)} errors")
        self.errors = errors


def as_app_error(error: BaseException) -> AppError | None:
    """The refusal that an exception stands for; None for a fault of ours."""
    if isinstance(error, AppError):
        return error
    causes = list(_causes(error))
    if any(isinstance(cause, _TIMEOUTS) for cause in causes):
        return TimedOut()
    # asyncpg reports a parameter of the wrong type as an InterfaceError that is a ValueError too: our fault, not the
    # database's
    if any(isinstance(cause, _NO_CONNECTION) for cause in causes) and not any(
        isinstance(cause, ValueError) for cause in causes
    ):
        return Unavailable()
    return None


def describe(error: GraphQLError, request_id: str | None) -> dict[str, object]:
    """The entry for `errors` in a response; what went wrong in a field is logged here, once.

    Keys: `message`, `locations` and `path` where known, `extensions` with `code`, `retryable` and what helps.
    """
    entry: dict[str, object] = {"message": _cut(error.message)}
    if error.locations is not None:
        entry["locations"] = [location.formatted for location in error.locations]
    if error.path is not None:
        entry["path"] = error.path
    origin = _origin(error)
    if _is_about_the_request(error, origin):
        entry["extensions"] = _invalid_input(error.message)
        if error.path is not None:  # those of a document are logged together
            log.info("operation_refused", code="INVALID_INPUT", request_id=request_id, path=_dotted(error))
        return entry
    return entry | describe_exception(origin, request_id, _dotted(error))


def describe_exception(error: BaseException, request_id: str | None, path: str | None = None) -> dict[str, object]:
    """`message` and `extensions` for an exception, logged: a line for a refusal, the traceback for a fault of ours."""
    refusal = as_app_error(error)
    if refusal is None:
        log.error(
            "operation_failed", code="INTERNAL", request_id=request_id, path=path, exc_info=_without_values(error)
        )
        return {
            "message": MASKED,
            "extensions": {"code": "INTERNAL", "retryable": False, "requestId": request_id},
        }
    if refusal is error:
        log.info("operation_refused", code=refusal.code, request_id=request_id, path=path)
    else:
        causes = [type(cause).__qualname__ for cause in _causes(error)]
        log.warning("dependency_failed", code=refusal.code, request_id=request_id, path=path, causes=causes)
    return {"message": refusal.message, "extensions": refusal.extensions}


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The exception, and what it was raised from: SQLAlchemy wraps the driver's exception twice."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__


def _origin(error: GraphQLError) -> Exception:
    """The exception at the bottom: graphql-core wraps errors in errors to add where they happened."""
    origin: Exception = error
    while isinstance(origin, GraphQLError) and origin.original_error is not None:
        origin = origin.original_error
    return origin


def _is_about_the_request(error: GraphQLError, origin: Exception) -> bool:
    """Whether graphql-core refused the caller's text or values, and no resolver was at fault.

    Before execution there is no path, and what a scalar could not parse is a ValueError or TypeError. During
    execution a bad argument carries the node it stands at; a result that its type cannot serialize carries none.
    """
    if error.path is None:
        return isinstance(origin, (GraphQLError, ValueError, TypeError))
    return isinstance(error.original_error, GraphQLError) and bool(error.original_error.nodes)


def _cut(message: str) -> str:
    """graphql-core repeats the caller's own words, however long they were."""
    return message if len(message) <= MAX_MESSAGE else f"{message[:MAX_MESSAGE]}…"


def _invalid_input(message: str) -> dict[str, object]:
    extensions: dict[str, object] = {"code": "INVALID_INPUT", "retryable": False}
    if named := _NAMED_INPUT.match(message):
        extensions["argument"] = named[1]
    return extensions


def _dotted(error: GraphQLError) -> str | None:
    return ".".join(map(str, error.path)) if error.path else None


def _without_values(error: BaseException) -> BaseException:
    """SQLAlchemy prints a failed statement's parameters, and they hold what people searched for."""
    for cause in _causes(error):
        if isinstance(cause, sqlalchemy.exc.StatementError):
            cause.hide_parameters = True
    return error
