"""The file store, on a real folder; and on a server that speaks S3, where moto is installed."""

import asyncio
import hashlib
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.request import Request, urlopen
from uuid import UUID

import pytest

from app.errors import InvalidInput
from app.library.files import FileStore, MissingFile, StoredFile
from app.settings import Settings

ADA, BOB = UUID(int=1), UUID(int=2)
HARBOR = b"harbor rigging"
MEGABYTE = b"x" * 1_000_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "not yet" / "files"


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    server_module = pytest.importorskip("moto.server", reason="moto[server] is not installed")
    server = server_module.ThreadedMotoServer(port=0)
    server.start()
    try:
        host, port = server.get_host_and_port()
        endpoint = f"http://{host}:{port}"
        urlopen(Request(f"{endpoint}/sources", method="PUT"), timeout=5).close()  # noqa: S310 - our own server
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        monkeypatch.setenv("AWS_REGION", "us-east-1")
        yield "s3://sources/prefix"
    finally:
        server.stop()


@pytest.fixture(params=["folder", "s3"])
def files(request: pytest.FixtureRequest) -> FileStore:
    location: Path | str = request.getfixturevalue(request.param)
    url = location.as_uri() if isinstance(location, Path) else location
    return FileStore.from_settings(Settings(file_store_url=url, max_file_bytes=30_000_000))


async def stream(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


def files_below(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file()]


def stored(content: bytes) -> StoredFile:
    return StoredFile(hashlib.sha256(content).hexdigest(), len(content))


async def test_bytes_a_stream_and_a_path_are_one_file(files: FileStore, tmp_path: Path) -> None:
    (path := tmp_path / "harbor.txt").write_bytes(HARBOR)
    assert await files.put(ADA, HARBOR) == stored(HARBOR)
    assert await files.put(ADA, stream(b"harbor", b"", b" rigging")) == stored(HARBOR)
    assert await files.put(ADA, path) == stored(HARBOR)
    assert await files.get(ADA, stored(HARBOR).sha256) == HARBOR


async def test_an_empty_file_is_a_file(files: FileStore) -> None:
    assert await files.put(ADA, stream()) == await files.put(ADA, b"") == stored(b"")
    assert await files.get(ADA, stored(b"").sha256) == b""
    assert [chunk async for chunk in files.stream(ADA, stored(b"").sha256)] == []


async def test_a_large_file_goes_in_and_out_in_pieces(files: FileStore) -> None:
    content = MEGABYTE * 20
    assert await files.put(ADA, stream(*[MEGABYTE] * 20)) == stored(content)
    chunks = [chunk async for chunk in files.stream(ADA, stored(content).sha256)]
    assert len(chunks) > 1
    assert b"".join(chunks) == content


async def test_a_workspace_has_its_own_files(files: FileStore) -> None:
    sha256 = (await files.put(ADA, HARBOR)).sha256
    assert await files.exists(ADA, sha256)
    assert not await files.exists(BOB, sha256)
    with pytest.raises(MissingFile):
        await files.get(BOB, sha256)
    await files.put(BOB, HARBOR)
    await files.delete(BOB, sha256)
    assert await files.get(ADA, sha256) == HARBOR


async def test_a_deleted_file_is_missing_and_deleting_it_again_is_no_error(files: FileStore) -> None:
    sha256 = (await files.put(ADA, HARBOR)).sha256
    await files.delete(ADA, sha256)
    await files.delete(ADA, sha256)
    assert not await files.exists(ADA, sha256)
    with pytest.raises(MissingFile):
        await files.get(ADA, sha256)
    with pytest.raises(MissingFile):
        await anext(files.stream(ADA, sha256))


async def test_a_file_of_the_size_allowed_and_one_byte_more(folder: Path, tmp_path: Path) -> None:
    files = FileStore.from_settings(Settings(file_store_url=folder.as_uri(), max_file_bytes=14))
    assert await files.put(ADA, HARBOR) == stored(HARBOR)
    (path := tmp_path / "larger.txt").write_bytes(HARBOR + b".")
    for content in (HARBOR + b".", stream(HARBOR, b"."), path):
        with pytest.raises(InvalidInput, match=r"^file: must have at most 14 bytes\.$"):
            await files.put(ADA, content)
    assert not await files.exists(ADA, stored(HARBOR + b".").sha256)


async def test_a_stream_that_never_ends_is_left_at_the_limit(folder: Path) -> None:
    read = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal read
        while True:
            read += 1
            yield MEGABYTE

    files = FileStore.from_settings(Settings(file_store_url=folder.as_uri(), max_file_bytes=3_000_000))
    with pytest.raises(InvalidInput):
        await files.put(ADA, endless())
    assert read == 4


async def test_a_stream_that_breaks_leaves_nothing(folder: Path) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield MEGABYTE
        raise ConnectionResetError

    files = FileStore.from_settings(Settings(file_store_url=folder.as_uri()))
    with pytest.raises(ConnectionResetError):
        await files.put(ADA, broken())
    assert files_below(folder) == []


async def test_a_reader_never_sees_half_a_file(folder: Path) -> None:
    files = FileStore.from_settings(Settings(file_store_url=folder.as_uri()))
    content = MEGABYTE * 20
    sha256 = (await files.put(ADA, content)).sha256
    writes = asyncio.gather(*(files.put(ADA, content) for _ in range(10)))
    while not writes.done():
        assert len(await files.get(ADA, sha256)) == len(content)
    await writes
    assert files_below(folder) == [sha256]


async def test_a_hundred_megabytes_are_not_held_in_memory(folder: Path) -> None:
    files = FileStore.from_settings(Settings(file_store_url=folder.as_uri()))
    tracemalloc.start()
    try:
        stored_file = await files.put(ADA, stream(*[MEGABYTE] * 100))
        async for _ in files.stream(ADA, stored_file.sha256):
            pass
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert stored_file.size == 100_000_000
    assert peak < 40_000_000


async def test_the_key_is_made_of_workspace_and_content(folder: Path) -> None:
    files = FileStore.from_settings(Settings(file_store_url=folder.as_uri()))
    sha256 = (await files.put(ADA, HARBOR)).sha256
    assert (folder / str(ADA) / sha256[:2] / sha256).read_bytes() == HARBOR


@pytest.mark.parametrize("name", ["", "../" * 3 + "etc/passwd", "A" * 64, "a" * 63, "a" * 64 + "\n"])
async def test_only_a_digest_names_a_file(folder: Path, name: str) -> None:
    files = FileStore.from_settings(Settings(file_store_url=folder.as_uri()))
    for operation in (files.get, files.exists, files.delete):
        with pytest.raises(ValueError, match="no sha256 in hex"):
            await operation(ADA, name)
