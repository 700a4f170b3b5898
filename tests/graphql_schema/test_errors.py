"""What a caller is told when something fails, and what only the log keeps (SPEC R22)."""

from typing import Any

import asyncpg
import pytest
import sqlalchemy.exc
from structlog.testing import capture_logs

from app.errors import AppError, NotFound, TimedOut, Unavailable
from graphql_schema.errors import as_app_error
from tests.graphql_schema.door import Door

HERE = {"locations": [{"line": 1, "column": 3}]}


def wrapped(cause: BaseException) -> Exception:
    """As SQLAlchemy and its asyncpg dialect raise it: twice wrapped."""
    adapted = Exception("dialect")
    adapted.__cause__ = cause
    error = sqlalchemy.exc.DBAPIError("SELECT * FROM passage WHERE text = $1", ("salary list",), adapted)
    error.__cause__ = adapted
    return error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (NotFound("source"), NotFound),
        (TimeoutError(), TimedOut),
        (asyncpg.QueryCanceledError("canceling statement due to statement timeout"), TimedOut),
        (wrapped(asyncpg.QueryCanceledError("canceling statement due to statement timeout")), TimedOut),
        (ConnectionRefusedError(111, "Connect call failed"), Unavailable),
        (asyncpg.ConnectionDoesNotExistError("connection was closed"), Unavailable),
        (asyncpg.CannotConnectNowError("the database system is starting up"), Unavailable),
        (asyncpg.TooManyConnectionsError("too many clients"), Unavailable),
        (asyncpg.InterfaceError("connection is closed"), Unavailable),
        (asyncpg.InternalClientError("got result for unknown protocol state"), Unavailable),
        (wrapped(asyncpg.AdminShutdownError("terminating connection")), Unavailable),
        (sqlalchemy.exc.TimeoutError("QueuePool limit reached"), Unavailable),
        (sqlalchemy.exc.OperationalError("SELECT 1", (), Exception("gone")), Unavailable),
    ],
)
def test_what_an_exception_stands_for(error: Exception, expected: type[AppError]) -> None:
    assert type(as_app_error(error)) is expected


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("boom"),
        asyncpg.UndefinedColumnError("column does not exist"),
        wrapped(asyncpg.exceptions._base.DataError("invalid input for query argument $1")),
        wrapped(asyncpg.UniqueViolationError("duplicate key")),
    ],
)
def test_a_fault_of_ours_stands_for_nothing(error: Exception) -> None:
    assert as_app_error(error) is None


def test_a_refusal_that_a_fault_was_raised_from_does_not_speak_for_it() -> None:
    error = RuntimeError("boom")
    error.__cause__ = NotFound("source")
    assert as_app_error(error) is None


async def errors_of(query: str, variables: dict[str, Any] | None = None, raises: Exception | None = None) -> Any:
    door = Door()
    if raises:
        door.events.raises = raises
    return (await door.post(query, variables)).json()


@pytest.mark.parametrize(
    ("how", "message", "extensions"),
    [
        ("missing", "There is no such source, or you may not see it.", {"code": "NOT_FOUND"}),
        ("input", "limit: must be from 1 to 50", {"code": "INVALID_INPUT", "argument": "limit"}),
        (
            "index",
            "The knowledge base's index is STALE. Remedy: REFRESH.",
            {"code": "INDEX_NOT_READY", "indexState": "STALE", "remedy": "REFRESH"},
        ),
    ],
)
async def test_a_refusal_leaves_with_its_own_words_and_the_siblings_keep_their_data(
    how: str, message: str, extensions: dict[str, Any]
) -> None:
    with capture_logs() as logs:
        answer = await errors_of(f'{{ refused(how: "{how}") viewer }}')
    error = {"message": message, **HERE, "path": ["refused"], "extensions": {"retryable": False} | extensions}
    assert answer == {"errors": [error], "data": {"refused": None, "viewer": "user:ada"}}
    assert logs == [
        {
            "event": "operation_refused",
            "log_level": "info",
            "code": extensions["code"],
            "request_id": "r-1",
            "path": "refused",
        }
    ]


MASKED = {
    "message": "Something went wrong on our side.",
    **HERE,
    "extensions": {"code": "INTERNAL", "retryable": False, "requestId": "r-1"},
}


@pytest.mark.parametrize(
    ("field", "data"),
    [("broken", {"broken": None}), ("brokenAndNeeded", None), ("unserializable", {"unserializable": None})],
)
async def test_a_fault_of_ours_is_masked_and_logged_with_its_traceback(field: str, data: Any) -> None:
    with capture_logs() as logs:
        answer = await errors_of(f"{{ {field} }}")
    assert answer == {"errors": [{**MASKED, "path": [field]}], "data": data}
    (entry,) = logs
    assert (entry["event"], entry["log_level"], entry["request_id"], entry["path"]) == (
        "operation_failed",
        "error",
        "r-1",
        field,
    )
    assert entry["exc_info"].__traceback__ is not None


async def test_a_fault_before_the_operation_is_masked_too() -> None:
    door = Door()
    door.endpoint._get_context = None  # type: ignore[assignment]
    with capture_logs() as logs:
        response = await door.post("{ viewer }")
    masked = {key: value for key, value in MASKED.items() if key != "locations"}
    assert (response.status_code, response.json()) == (500, {"errors": [masked]})
    assert [entry["event"] for entry in logs] == ["operation_failed"]


async def test_a_failed_statement_is_logged_without_its_parameters() -> None:
    with capture_logs() as logs:
        answer = await errors_of("{ broken }", raises=wrapped(asyncpg.UndefinedColumnError("no such column")))
    assert answer["errors"] == [{**MASKED, "path": ["broken"]}]
    assert "salary list" not in str(logs[0]["exc_info"])


async def test_a_database_that_is_down_is_retryable_and_the_log_says_what_was_wrong() -> None:
    with capture_logs() as logs:
        answer = await errors_of("{ broken viewer }", raises=wrapped(ConnectionRefusedError("10.0.0.7:5432")))
    error = {
        "message": "The database is not available. Try again.",
        **HERE,
        "path": ["broken"],
        "extensions": {"code": "UNAVAILABLE", "retryable": True},
    }
    assert answer == {"errors": [error], "data": {"broken": None, "viewer": "user:ada"}}
    assert [(entry["event"], entry["causes"]) for entry in logs] == [
        ("dependency_failed", ["DBAPIError", "Exception", "ConnectionRefusedError"])
    ]


@pytest.mark.parametrize(
    ("query", "variables", "message", "argument"),
    [
        (
            "query ($n: Int!) { items(first: $n) { name } }",
            {"n": "x"},
            "Variable '$n' has invalid value: Int cannot represent non-integer value: 'x'",
            "n",
        ),
        (
            "query ($n: Int = 3) { items(first: $n) { name } }",
            {"n": None},
            "Argument 'first' has invalid value: "
            "Expected variable '$n' provided to non-null type 'Int!' not to be None.",
            "first",
        ),
        ("{ retrieve { name } }", None, None, "query"),
    ],
)
async def test_a_value_that_does_not_fit_is_named(
    query: str, variables: dict[str, Any] | None, message: str | None, argument: str
) -> None:
    answer = await errors_of(query, variables)
    assert answer["errors"][0]["extensions"] == {"code": "INVALID_INPUT", "retryable": False, "argument": argument}
    if message:
        assert answer["errors"][0]["message"] == message
