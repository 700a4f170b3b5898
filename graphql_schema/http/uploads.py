"""Files beside an operation, by https://github.com/jaydenseric/graphql-multipart-request-spec: POST multipart/form-data
with the fields `operations` and `map`, then the files.

A browser sends a form to any site without asking it first. So a header that no form can carry is required: a page of
another origin can add one only after the browser has asked us (CSRF). And we know whose file it is before we read it.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import cast

import orjson
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request
from starlette.types import Receive

from app.settings import Settings
from graphql_schema.http.requests import BadRequest, ClientGone, OperationRequest, checked, header

PREFLIGHT_HEADERS = ("graphql-require-preflight", "apollo-require-preflight", "x-requested-with")
MAX_FILES = 10
# Beside the files and the operation: part headers and boundaries.
MAX_FRAMING = 100_000
CHUNK = 1_000_000


@dataclass(frozen=True, slots=True)
class Uploaded:
    """A file that came with the request; it is on disk if it is large. It is gone when the operation has ended."""

    file: UploadFile

    async def chunks(self) -> AsyncIterator[bytes]:
        """Its content from the beginning, each time it is called."""
        await self.file.seek(0)
        while chunk := await self.file.read(CHUNK):
            yield chunk


def is_upload(request: Request) -> bool:
    """Whether the request is multipart. Raises BadRequest if it is, without a header that proves a preflight."""
    content_type = header(request.scope["headers"], b"content-type") or ""
    media_type = content_type.partition(";")[0].strip().lower()
    if request.method != "POST" or media_type != "multipart/form-data":
        return False
    if not any(request.headers.get(name) for name in PREFLIGHT_HEADERS):
        raise BadRequest(
            "Uploads need the header `GraphQL-Require-Preflight: true`, which keeps other sites' forms out."
        )
    return True


@asynccontextmanager
async def read_upload(request: Request, receive: Receive, settings: Settings) -> AsyncIterator[OperationRequest]:
    """The operation, with an Uploaded in its variables for each file. Raises BadRequest, and ClientGone.

    All files of a request together may have `max_file_bytes`, the operation `max_body_bytes`.
    """
    limit = settings.max_file_bytes + settings.max_body_bytes + MAX_FRAMING
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limit:
        raise _too_large(limit)
    parser = MultiPartParser(
        request.headers,
        _body(receive, limit),
        max_files=MAX_FILES,
        max_fields=2,
        max_part_size=settings.max_body_bytes,
    )
    try:
        form = await parser.parse()
    except MultiPartException as error:
        raise BadRequest(f"The multipart body cannot be read: {error.message}") from None
    try:
        yield checked(_operation(form))
    finally:
        await form.close()


async def _body(receive: Receive, limit: int) -> AsyncGenerator[bytes, None]:
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        chunk: bytes = message.get("body", b"")
        size += len(chunk)
        if size > limit:
            raise _too_large(limit)
        yield chunk
        if not message.get("more_body", False):
            return


def _too_large(limit: int) -> BadRequest:
    return BadRequest(f"The body is larger than {limit} bytes.", 413)


def _operation(form: FormData) -> dict[str, object]:
    """`operations` with the files put where `map` says."""
    operation, places = _field(form, "operations"), _field(form, "map")
    for name, paths in places.items():
        file = form.get(name)
        if not isinstance(file, UploadFile):
            raise BadRequest(f"map names {name!r}, and there is no such file.")
        if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
            raise BadRequest("map must give a list of paths for each file.")
        for path in cast("list[str]", paths):
            _put(operation, path.split("."), path, Uploaded(file))
    return operation


def _field(form: FormData, name: str) -> dict[str, object]:
    value = form.get(name)
    if not isinstance(value, str):
        raise BadRequest(f"The field {name} is missing.")
    try:
        decoded = orjson.loads(value)
    except orjson.JSONDecodeError:
        raise BadRequest(f"{name} is not JSON.") from None
    if not isinstance(decoded, dict):
        raise BadRequest(f"{name} must be a JSON object. Batches are not answered: send one operation in a request.")
    return decoded


def _put(operation: dict[str, object], keys: Sequence[str], path: str, file: Uploaded) -> None:
    """Put the file at the end of the path, in place of the null that stands there."""
    wrong = BadRequest(f"map names {path!r}, and `operations` has no null there.")
    if keys[0] != "variables" or len(keys) < 2:
        raise wrong
    target: object = operation
    for key in keys[:-1]:
        target = _child(target, key, wrong)
    if _child(target, keys[-1], wrong) is not None:
        raise wrong
    if isinstance(target, list):
        target[int(keys[-1])] = file
    elif isinstance(target, dict):
        target[keys[-1]] = file


def _child(parent: object, key: str, wrong: BadRequest) -> object:
    if isinstance(parent, dict) and key in parent:
        return parent[key]
    if isinstance(parent, list) and key.isdecimal() and key.isascii() and int(key) < len(parent):
        return parent[int(key)]
    raise wrong
