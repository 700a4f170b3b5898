"""The file store: a local folder, S3, Google Cloud Storage or Azure, by its URL.

A file is named by its workspace and its content, `<workspace id>/<first two of sha256>/<sha256>`: the same content
twice in a workspace is one object, and nothing is shared between workspaces. Whoever deletes one must know that no
other version names it.
"""

import asyncio
import hashlib
import re
import tempfile
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Self
from uuid import UUID

import obstore
from obstore.store import LocalStore, ObjectStore, from_url

from app.errors import InvalidInput
from app.settings import Settings

_SHA256 = re.compile(r"[0-9a-f]{64}")
# What a transfer holds in memory: this many bytes at once, for each of this many parts under way.
_PART_BYTES = 8 * 1024 * 1024
_PARTS = 2
# Without it a store that is gone keeps a caller for three minutes. (One request has 30 seconds, obstore's default:
# given here, client options would hide those of the environment, AWS_ALLOW_HTTP among them.)
_RETRYING = timedelta(seconds=20)


class MissingFile(Exception):
    """The store does not hold this file (any more)."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """`sha256` in 64 hex digits, `size` in bytes."""

    sha256: str
    size: int


class FileStore:
    """Every method may also raise obstore's errors, when the store is out of reach or refuses us."""

    def __init__(self, store: ObjectStore, *, max_file_bytes: int) -> None:
        self._store = store
        self._max_file_bytes = max_file_bytes

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """The store at `settings.files_location`. A local folder is made if it is not there."""
        return cls(_store_at(settings.files_location), max_file_bytes=settings.max_file_bytes)

    async def put(self, workspace_id: UUID, content: bytes | AsyncIterable[bytes] | Path) -> StoredFile:
        """Store a file whole, or not at all. Again is no error. Raises InvalidInput when it is larger than allowed.

        A stream and a path pass through a temporary file: the name is known only at the end, and what is hashed must
        be what is stored, whatever happens to the path meanwhile.
        """
        if isinstance(content, bytes):
            self._check_size(len(content))
            digest = await asyncio.to_thread(hashlib.sha256, content)
            return await self._put(workspace_id, content, StoredFile(digest.hexdigest(), len(content)))
        with tempfile.TemporaryFile() as spool:
            chunks = _read(content) if isinstance(content, Path) else content
            stored = await self._spool(chunks, spool)
            return await self._put(workspace_id, spool, stored)

    async def get(self, workspace_id: UUID, sha256: str) -> bytes:
        """A file's content, whole. Raises MissingFile."""
        try:
            result = await obstore.get_async(self._store, _key(workspace_id, sha256))
        except FileNotFoundError as error:
            raise MissingFile(sha256) from error
        return bytes(await result.bytes_async())

    async def stream(self, workspace_id: UUID, sha256: str) -> AsyncIterator[bytes]:
        """A file's content in pieces of some megabytes. Raises MissingFile before the first."""
        try:
            result = await obstore.get_async(self._store, _key(workspace_id, sha256))
        except FileNotFoundError as error:
            raise MissingFile(sha256) from error
        async for chunk in result.stream(min_chunk_size=_PART_BYTES):
            yield bytes(chunk)

    async def exists(self, workspace_id: UUID, sha256: str) -> bool:
        try:
            await obstore.head_async(self._store, _key(workspace_id, sha256))
        except FileNotFoundError:
            return False
        return True

    async def delete(self, workspace_id: UUID, sha256: str) -> None:
        """Drop a file. One that is not there is no error."""
        with suppress(FileNotFoundError):
            await obstore.delete_async(self._store, _key(workspace_id, sha256))

    async def stored_before(self, workspace_id: UUID, before: datetime) -> AsyncIterator[str]:
        """The sha256 of each of the workspace's files that was last written before that moment, in no order."""
        async for batch in obstore.list(self._store, str(workspace_id)):
            for entry in batch:
                name = entry["path"].rpartition("/")[2]
                if entry["last_modified"] < before and _SHA256.fullmatch(name):
                    yield name

    async def delete_unfinished(self, workspace_id: UUID, before: datetime) -> None:
        """Delete what a process that died left half written before that moment.

        In a local folder those are files that the library names `…#1`; object stores show none, and drop them by a
        rule of their own.
        """
        if isinstance(self._store, LocalStore) and self._store.prefix is not None:
            folder = Path(self._store.prefix) / str(workspace_id)
            await asyncio.to_thread(_delete_unfinished, folder, before.timestamp())

    async def _spool(self, chunks: AsyncIterable[bytes], spool: IO[bytes]) -> StoredFile:
        digest, size = hashlib.sha256(), 0
        async for chunk in chunks:
            size += len(chunk)
            self._check_size(size)
            digest.update(chunk)
            await asyncio.to_thread(spool.write, chunk)
        spool.seek(0)
        return StoredFile(digest.hexdigest(), size)

    async def _put(self, workspace_id: UUID, content: bytes | IO[bytes], stored: StoredFile) -> StoredFile:
        # Written even if it is there: that mends a damaged object, and asking first would race with a delete.
        key = _key(workspace_id, stored.sha256)
        await obstore.put_async(self._store, key, content, chunk_size=_PART_BYTES, max_concurrency=_PARTS)
        return stored

    def _check_size(self, size: int) -> None:
        if size > self._max_file_bytes:
            raise InvalidInput("file", f"must have at most {self._max_file_bytes:,} bytes.")


def _store_at(url: str) -> ObjectStore:
    if url.startswith("file:"):
        return LocalStore.from_url(url, mkdir=True)
    return from_url(url, retry_config={"retry_timeout": _RETRYING})


def _key(workspace_id: UUID, sha256: str) -> str:
    if not _SHA256.fullmatch(sha256):
        raise ValueError(f"no sha256 in hex: {sha256!r}")
    return f"{workspace_id}/{sha256[:2]}/{sha256}"


def _delete_unfinished(folder: Path, before: float) -> None:
    for path in folder.rglob("*#*"):
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < before:
                path.unlink()


async def _read(path: Path) -> AsyncIterator[bytes]:
    with await asyncio.to_thread(path.open, "rb") as file:
        while chunk := await asyncio.to_thread(file.read, _PART_BYTES):
            yield chunk
