"""Reading a GraphQL request out of an HTTP request: nothing past its limit, and nothing believed unchecked."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import parse_qsl

import orjson
from starlette.requests import HTTPConnection, Request
from starlette.types import Receive

from app.errors import AppError
from graphql_schema.http.negotiation import is_json

_TYPES: dict[str, tuple[type, str]] = {
    "query": (str, "a string"),
    "operationName": (str, "a string"),
    "variables": (dict, "an object"),
    "extensions": (dict, "an object"),
}


class BadRequest(AppError):
    """An HTTP request that holds no GraphQL request."""

    code = "INVALID_INPUT"

    def __init__(self, message: str, status: int = 400, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})


class ClientGone(Exception):  # no error of anyone's
    """The client closed the connection: there is nobody to answer."""


@dataclass(frozen=True, slots=True)
class OperationRequest:
    """What a client asks to be executed. `variables` are as they came: unchecked.

    `query` is "" where the document is named by its hash in `extensions` (graphql_schema.http.persisted).
    """

    query: str
    operation_name: str | None = None
    variables: dict[str, object] = field(default_factory=dict)
    extensions: dict[str, object] | None = None


async def read_request(request: Request, receive: Receive, max_bytes: int) -> OperationRequest:
    """Raises BadRequest with the status that fits, ClientGone when the body never ends."""
    if request.method == "POST":
        return checked(await _posted(request, receive, max_bytes))
    return checked(_in_the_address(request.scope["query_string"]))


async def _posted(request: Request, receive: Receive, max_bytes: int) -> dict[str, object]:
    headers = request.scope["headers"]
    if not is_json(header(headers, b"content-type") or ""):
        raise BadRequest("The Content-Type must be application/json, in UTF-8.", 415)
    encoding = header(headers, b"content-encoding")
    if encoding is not None and encoding.lower() != "identity":
        raise BadRequest("Compressed bodies are not read.", 415)
    declared = header(headers, b"content-length") or ""
    if declared.isdecimal() and int(declared) > max_bytes:
        raise _too_large(max_bytes)
    try:
        parameters = orjson.loads(await _body(receive, max_bytes))
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"The body is not JSON in UTF-8: {_place(error)}.") from None
    if isinstance(parameters, list):
        raise BadRequest("Batches are not answered: send one operation in a request.")
    if not isinstance(parameters, dict):
        raise BadRequest("The body must be a JSON object.")
    return parameters


def header(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> str | None:
    """The first value of a header, named in lower case as ASGI has it. Starlette's Headers takes four times as long."""
    for key, value in headers:
        if key == name:
            return value.decode("latin-1")
    return None


async def _body(receive: Receive, max_bytes: int) -> bytes:
    """The limit holds for what arrives, whatever Content-Length said."""
    chunks, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > max_bytes:
            raise _too_large(max_bytes)
        chunks.append(chunk)
        if not message.get("more_body", False):
            return b"".join(chunks)


def _too_large(max_bytes: int) -> BadRequest:
    return BadRequest(f"The body is larger than {max_bytes} bytes.", 413)


def _in_the_address(query_string: bytes) -> dict[str, object]:
    """A parameter that is empty is one that was not sent. Those that GraphQL does not know are nobody's business."""
    try:
        pairs = parse_qsl(query_string.decode("ascii"), errors="strict", max_num_fields=100)
    except ValueError:
        raise BadRequest("The query string is not URL-encoded UTF-8.") from None
    parameters: dict[str, object] = {}
    for name, value in pairs:
        if name in _TYPES and name in parameters:
            raise BadRequest(f"{name} was sent twice.")
        parameters[name] = _decoded(name, value) if name in {"variables", "extensions"} else value
    return parameters


def _decoded(name: str, value: str) -> object:
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"{name} is not JSON: {_place(error)}.") from None


def _place(error: orjson.JSONDecodeError) -> str:
    return f"see line {error.lineno}, column {error.colno}"


def checked(parameters: dict[str, object]) -> OperationRequest:
    """The parameters by their names in the specification. Raises BadRequest for what has the wrong type."""
    for name, (type_, wanted) in _TYPES.items():
        value = parameters.get(name)
        if value is not None and not isinstance(value, type_):
            raise BadRequest(f"{name} must be {wanted}.")
    query = cast("str | None", parameters.get("query"))
    extensions = cast("dict[str, object] | None", parameters.get("extensions"))
    if not query and (extensions or {}).get("persistedQuery") is None:
        raise BadRequest("There is no query.")
    return OperationRequest(
        query or "",
        cast("str | None", parameters.get("operationName")) or None,
        cast("dict[str, object] | None", parameters.get("variables")) or {},
        extensions,
    )


def request_id(connection: HTTPConnection) -> str | None:
    """The id that the middleware gave this request; the log has it, and so does the response."""
    return cast("str | None", connection.scope.get("state", {}).get("request_id"))
