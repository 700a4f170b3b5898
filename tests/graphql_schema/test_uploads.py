"""Files beside an operation: GraphQL multipart requests (graphql-multipart-request-spec)."""

import asyncio
import hashlib
import json
import re
import resource
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.cli.running import GCTL
from tests.jobs.killing import shell
from tests.knowledge_bases.indexes import rows, until, write
from tests.world import World

ADD = (
    "mutation M($input: AddSourceInput!) { addSource(input: $input)"
    " { source { id } version { number size sha256 status statusReason passageCount } } }"
)
PREFLIGHT = {"GraphQL-Require-Preflight": "true"}
CRANES = b"Cranes are inspected every quarter."
MEGABYTE = 1_000_000


def source(title: str, **file: Any) -> dict[str, Any]:
    return {"title": title, "file": {"name": "file.md", "mediaType": "text/markdown", **file}}


def form(
    variables: object, files: dict[str, tuple[str, Any]], places: dict[str, list[str]] | None = None
) -> dict[str, Any]:
    """The parts of a request: `files` by their names in the form; `places` where each goes."""
    places = places if places is not None else {name: ["variables.input.file.upload"] for name in files}
    return {
        "operations": (None, json.dumps({"query": ADD, "variables": variables})),
        "map": (None, json.dumps(places)),
        **files,
    }


async def send(
    world: World, parts: dict[str, Any], headers: dict[str, str] = PREFLIGHT, address: str = ""
) -> httpx2.Response:
    authorization = {"authorization": f"Bearer {world.manager.token}"}
    return await world.client.post(
        f"{address or world.address}/graphql", files=parts, headers=authorization | headers, timeout=60
    )


async def upload(world: World, title: str, content: bytes, address: str = "") -> dict[str, Any]:
    parts = form({"input": source(title, upload=None)}, {"0": ("cranes.md", content)})
    answer = (await send(world, parts, address=address)).json()
    assert "errors" not in answer, answer
    added: dict[str, Any] = answer["data"]["addSource"]
    return added


async def counted(world: World) -> int:
    return int((await rows(world, "SELECT count(*) FROM sources WHERE workspace_id = :w"))[0][0])


async def test_a_small_upload_is_read_at_once(world: World) -> None:
    added = await upload(world, "Cranes", CRANES)
    assert added["version"] == {
        "number": 1,
        "size": len(CRANES),
        "sha256": hashlib.sha256(CRANES).hexdigest(),
        "status": "INDEXED",
        "statusReason": None,
        "passageCount": 1,
    }
    assert await world.reader.hits("inspected") == [("Cranes", 0)]


@pytest.mark.parametrize("header", ["GraphQL-Require-Preflight", "Apollo-Require-Preflight", "X-Requested-With"])
async def test_a_header_that_no_form_can_carry_is_required(world: World, header: str) -> None:
    parts = form({"input": source("Cranes", upload=None)}, {"0": ("cranes.md", CRANES)})
    refused = await send(world, parts, headers={})
    assert refused.status_code == 400
    assert refused.json()["errors"][0]["extensions"]["code"] == "INVALID_INPUT"
    assert "GraphQL-Require-Preflight" in refused.json()["errors"][0]["message"]
    assert await counted(world) == 0
    assert (await send(world, parts, headers={header: "1"})).status_code == 200
    assert await counted(world) == 1


async def test_nobody_s_file_is_not_read(world: World) -> None:
    parts = form({"input": source("Cranes", upload=None)}, {"0": ("cranes.md", CRANES)})
    for headers in ({}, {"authorization": "Bearer nonsense"}):
        answer = await world.client.post(f"{world.address}/graphql", files=parts, headers=PREFLIGHT | headers)
        assert answer.status_code == 401
        assert answer.json()["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"
    assert await counted(world) == 0


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        pytest.param({"operations": (None, "{}")}, "The field map is missing.", id="no map"),
        pytest.param({"map": (None, "{}")}, "The field operations is missing.", id="no operations"),
        pytest.param({"operations": (None, "{"), "map": (None, "{}")}, "operations is not JSON.", id="no JSON"),
        pytest.param(
            {"operations": (None, "[]"), "map": (None, "{}")},
            "operations must be a JSON object. Batches are not answered: send one operation in a request.",
            id="a batch",
        ),
        pytest.param(
            form({"input": source("Cranes")}, {"0": ("a", CRANES)}),
            "map names 'variables.input.file.upload', and `operations` has no null there.",
            id="no place",
        ),
        pytest.param(
            form({"input": source("Cranes", upload="text")}, {"0": ("a", CRANES)}),
            "map names 'variables.input.file.upload', and `operations` has no null there.",
            id="a place that is taken",
        ),
        pytest.param(
            form({"input": source("Cranes", upload=None)}, {"0": ("a", CRANES)}, {"0": ["query"]}),
            "map names 'query', and `operations` has no null there.",
            id="not in the variables",
        ),
        pytest.param(
            form({"input": source("Cranes", upload=None)}, {"0": ("a", CRANES)}, {"0": ["variables.input.99"]}),
            "map names 'variables.input.99', and `operations` has no null there.",
            id="a number that leads nowhere",
        ),
        pytest.param(
            form({"input": source("Cranes", upload=None)}, {}, {"1": ["variables.input.file.upload"]}),
            "map names '1', and there is no such file.",
            id="no file",
        ),
    ],
)
async def test_a_form_that_does_not_fit_is_refused(world: World, parts: dict[str, Any], message: str) -> None:
    answer = await send(world, parts)
    assert (answer.status_code, answer.json()["errors"][0]["message"]) == (400, message)
    assert answer.json()["errors"][0]["extensions"]["code"] == "INVALID_INPUT"
    assert await counted(world) == 0


async def test_a_form_that_breaks_off_is_refused(world: World) -> None:
    body = b'--x\r\nContent-Disposition: form-data; name="operations"\r\n\r\n{"query": '
    headers = {"content-type": "multipart/form-data; boundary=x", "authorization": f"Bearer {world.manager.token}"}
    answer = await world.client.post(f"{world.address}/graphql", content=body, headers=headers | PREFLIGHT)
    assert (answer.status_code, answer.json()["errors"][0]["extensions"]["code"]) == (400, "INVALID_INPUT")


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ({"upload": "text"}, "An Upload is a file of a multipart request"),
        ({}, "file: must have exactly one of `text`, `base64` and `upload`."),
        ({"text": "a", "base64": "YQ=="}, "file: must have exactly one of `text`, `base64` and `upload`."),
    ],
)
async def test_exactly_one_content(world: World, file: dict[str, Any], message: str) -> None:
    answer = (await world.manager.post(ADD, {"input": source("Cranes", **file)})).json()
    assert message in answer["errors"][0]["message"]
    assert answer["errors"][0]["extensions"]["code"] == "INVALID_INPUT"
    assert await counted(world) == 0


async def test_an_upload_and_a_text_are_one_too_many(world: World) -> None:
    parts = form({"input": source("Cranes", text="a", upload=None)}, {"0": ("a", CRANES)})
    answer = (await send(world, parts)).json()
    assert answer["errors"][0]["extensions"] == {"code": "INVALID_INPUT", "retryable": False, "argument": "file"}


async def test_who_may_not_manage_stores_nothing(world: World) -> None:
    parts = form({"input": source("Cranes", upload=None)}, {"0": ("cranes.md", CRANES)})
    headers = PREFLIGHT | {"authorization": f"Bearer {world.reader.token}"}
    answer = (await world.client.post(f"{world.address}/graphql", files=parts, headers=headers)).json()
    assert answer["errors"][0]["extensions"]["code"] == "FORBIDDEN"
    assert await counted(world) == 0
    assert not await world.services.files.exists(world.workspace_id, hashlib.sha256(CRANES).hexdigest())


async def test_the_same_file_twice_is_one_object(world: World) -> None:
    first, second = [await upload(world, title, CRANES) for title in ("Cranes", "Copy")]
    assert first["version"]["sha256"] == second["version"]["sha256"]
    folder = world.services.settings.data_dir / "files" / str(world.workspace_id)
    assert len([path for path in folder.rglob("*") if path.is_file()]) == 1


# a server of its own process


@asynccontextmanager
async def serving(world: World, **variables: str) -> AsyncIterator[tuple[Process, str]]:
    """`gctl serve` on this run's database and files: its process and its address."""
    environment = shell(world, GCTL_LOG_LEVEL="info", GCTL_PORT="0", **variables).environment()
    process = await asyncio.create_subprocess_exec(GCTL, "serve", env=environment, stdout=PIPE, stderr=DEVNULL)
    assert process.stdout is not None
    address = ""
    try:
        async with asyncio.timeout(60):
            while not address:
                line = (await process.stdout.readline()).decode()
                found = re.search(r"gctl serves at (\S+)", line)
                address = found[1] if found else ""
        yield process, address
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


def held_by(process: Process) -> int:
    """The bytes that a process has in memory."""
    return int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="a process's memory is read as Linux shows it")
async def test_100_megabytes_pass_through_without_being_held(world: World) -> None:
    """The server's memory grows by a fraction of the file; a byte more than is allowed is refused by its own error."""
    limit = 100 * MEGABYTE
    content = b"\x00\x01\x02\x03" * (limit // 4)
    async with serving(world, GCTL_WORKER_IN_SERVER="false", GCTL_MAX_FILE_BYTES=str(limit)) as (process, address):
        await upload(world, "Cranes", CRANES, address)
        before = held_by(process)
        highest, done = before, asyncio.Event()

        async def watch() -> None:
            nonlocal highest
            while not done.is_set():
                highest = max(highest, held_by(process))
                await asyncio.sleep(0.02)

        watching = asyncio.create_task(watch())
        added = await upload(world, "Large", content, address)
        done.set()
        await watching
        assert (added["version"]["size"], added["version"]["status"]) == (limit, "PENDING")
        assert highest - before < 0.9 * limit
        parts = form({"input": source("Larger", upload=None)}, {"0": ("large", content + b"\x00")})
        answer = (await send(world, parts, address=address)).json()
        assert answer["errors"][0]["message"] == "file: must have at most 100,000,000 bytes."
        assert answer["errors"][0]["extensions"] == {"code": "INVALID_INPUT", "retryable": False, "argument": "file"}
        parts = form({"input": source("Larger", upload=None)}, {"0": ("large", content + b"\x00" * 2 * MEGABYTE)})
        refused = await send(world, parts, address=address)
        assert (refused.status_code, refused.json()["errors"][0]["extensions"]["code"]) == (413, "INVALID_INPUT")
    assert await counted(world) == 2
    await world.work()
    failed = "SELECT status FROM source_versions WHERE workspace_id = :w ORDER BY id"
    assert await rows(world, failed) == [("INDEXED",), ("FAILED",)]


async def test_a_server_that_is_killed_during_uploads_leaves_nothing_half_there(world: World) -> None:
    acknowledged = 0

    async def keep_uploading(address: str, uploader: int) -> None:
        nonlocal acknowledged
        for number in range(10_000):
            title = f"Source {uploader} {number}"
            try:
                await upload(
                    world, title, f"{title} is lighthouse {number}. ".encode() * (1 + 300 * (number % 2)), address
                )
            except httpx2.TransportError:
                return
            acknowledged += 1

    async def are_enough() -> bool:
        return acknowledged >= 10

    async with serving(world, GCTL_JOB_LEASE_SECONDS="1") as (process, address):
        uploading = [asyncio.create_task(keep_uploading(address, uploader)) for uploader in range(4)]
        await until(are_enough)
        process.send_signal(signal.SIGKILL)
        await asyncio.gather(*uploading)
    found = await rows(
        world,
        "SELECT s.id, count(v.id), min(v.sha256) FROM sources s LEFT JOIN source_versions v"
        " ON v.workspace_id = s.workspace_id AND v.source_id = s.id WHERE s.workspace_id = :w GROUP BY s.id",
    )
    assert acknowledged <= len(found) <= acknowledged + 4
    assert {count for _, count, _ in found} == {1}
    for _, _, sha256 in found:
        content = await world.services.files.get(world.workspace_id, sha256)
        assert hashlib.sha256(content).hexdigest() == sha256
    await asyncio.sleep(1)  # the dead server's leases
    await write(world, "UPDATE source_versions SET run_after = now() WHERE workspace_id = :w")
    await world.work()
    status = "SELECT status, count(*) FROM source_versions WHERE workspace_id = :w GROUP BY status"
    assert await rows(world, status) == [("INDEXED", len(found))]
    twice = "SELECT 1 FROM passages WHERE workspace_id = :w AND ordinal = 0 GROUP BY version_id HAVING count(*) > 1"
    assert await rows(world, twice) == []
    postings = "SELECT count(*), (SELECT sum(passage_count) FROM source_versions WHERE workspace_id = :w)"
    ((posted, expected),) = await rows(
        world, f"{postings} FROM index_postings WHERE workspace_id = :w AND index_id = :w"
    )
    assert posted == expected
