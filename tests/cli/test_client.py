"""The client's commands against a real server: what they print, where, and with which status (SPEC R23)."""

import asyncio
import json
import os
import pty
import re
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from app.operations import operations
from tests.cli.running import GCTL, Shell
from tests.serving import serving
from tests.world import World, ids

SLOW = ("strawberry", "graphql", "sqlalchemy", "uvicorn", "starlette", "pydantic", "mcp", "rich", "jwt")


@pytest.fixture
def shell(world: World, tmp_path: Path) -> Shell:
    """The reader's, with the server and its token in the environment."""
    return as_(world, "user:reader", tmp_path)


def as_(world: World, subject: str, folder: Path) -> Shell:
    token = world.caller(subject).token
    assert token is not None
    return Shell(folder, {"GCTL_SERVER": world.address, "GCTL_TOKEN": token})


@pytest_asyncio.fixture
async def base(world: World) -> str:
    """A knowledge base of two sources."""
    await world.add("Rigging", "Harbor rigging needs care, as the <b>rigger</b> says.")
    await world.add("Tides", "The tides of the harbor.")
    return await world.knowledge_base("Rigging", "Tides")


async def test_retrieve_answers_as_graphql_does_in_snake_case(world: World, shell: Shell, base: str) -> None:
    done = await shell.ask("library", "retrieve", knowledge_base_id=base, query="harbor rigging")
    assert done.err == ""
    (hit,) = done.answer["hits"]
    (same,) = (await world.reader.retrieve("harbor rigging", base))["hits"]
    assert list(hit)[:11] == [
        "chunk_id", "resource_id", "resource_version_id", "ordinal", "text_hash", "rank", "text", "snippet_safe",
        "snippet", "highlights", "source",
    ]  # fmt: skip
    assert [hit["chunk_id"], hit["resource_id"], hit["text_hash"]] == [
        same["chunkId"],
        same["resourceId"],
        same["textHash"],
    ]
    assert (hit["rank"], hit["snippet_safe"], hit["snippet"]) == (same["rank"], same["snippetSafe"], same["snippet"])
    assert hit["source"] == {"id": world.sources["Rigging"], "title": "Rigging"}
    assert done.answer["index"]["state"] == "READY"


async def test_the_caller_gets_what_it_may_read_and_no_more(world: World, tmp_path: Path) -> None:
    await world.add("Secret", "The harbor plan.", private=True)
    await world.add("Open", "The harbor map.")
    for subject in ("user:manager", "user:nobody", "user:reader"):
        found = (await as_(world, subject, tmp_path).ask("library", "retrieve", query="harbor")).answer["hits"]
        asked = (await world.caller(subject).retrieve("harbor"))["hits"]
        assert [hit["resource_id"] for hit in found] == ids(asked)
    assert [hit["source"]["title"] for hit in found] == ["Open"]


async def test_a_body_comes_from_the_line_a_file_or_standard_input(shell: Shell, base: str, tmp_path: Path) -> None:
    text = json.dumps({"query": "tides", "knowledge_base_id": base})
    file = tmp_path / "body.json"
    file.write_text("\ufeff" + text)
    for body, stdin in ((text, ""), (f"@{file}", ""), (str(file), ""), ("-", text)):
        found = (await shell.gctl("library", "retrieve", "--body", body, stdin=stdin)).answer["hits"]
        assert [hit["source"]["title"] for hit in found] == ["Tides"]


async def test_an_empty_body_is_one_without_fields(shell: Shell) -> None:
    viewer = (await shell.gctl("access", "viewer")).answer
    assert viewer == (await shell.gctl("access", "viewer", "--body", "{}")).answer
    assert viewer == (await shell.gctl("access", "viewer", "--body", "-", stdin="")).answer
    assert (viewer["subject"], viewer["actions"]) == ("user:reader", ["WORKSPACE_READ"])


async def test_managing_works_the_same_way(world: World, tmp_path: Path) -> None:
    manager = as_(world, "user:manager", tmp_path)
    file = {"name": "a.md", "media_type": "text/markdown", "text": "Anchor chain."}
    added = (await manager.ask("library", "add-source", title="Anchors", file=file)).answer
    assert added["version"]["status"] == "INDEXED"
    source_id = added["source"]["id"]
    changed = (await manager.ask("library", "update-source", id=source_id, private=True)).answer
    assert (changed["source"]["title"], changed["source"]["private"]) == ("Anchors", True)
    refused = await as_(world, "user:reader", tmp_path).ask("library", "source", id=source_id)
    assert refused.error["code"] == "NOT_FOUND"


async def test_what_the_server_refuses_is_json_on_standard_error(world: World, shell: Shell, base: str) -> None:
    refused = await shell.ask("library", "retrieve", query="a", limit=51)
    assert refused.error == {
        "message": "limit: must be from 1 to 50, not 51.",
        "code": "INVALID_INPUT",
        "retryable": False,
        "argument": "limit",
    }
    assert (await shell.ask("library", "retrieve", query="a", knowledge_base_id="x")).error[
        "argument"
    ] == "knowledge_base_id"
    assert (await shell.ask("library", "retrieve", query="\ud800")).error["code"] == "INVALID_INPUT"
    made = await world.manager.change("createKnowledgeBase", "knowledgeBase { id }", name="New")
    new = made["knowledgeBase"]["id"]
    error = (await shell.ask("library", "retrieve", query="a", knowledge_base_id=new)).error
    assert (error["code"], error["indexState"], error["remedy"]) == ("INDEX_NOT_READY", None, "REBUILD")
    assert (await shell.ask("knowledge-base", "rebuild-index", knowledge_base_id=base)).error["code"] == "FORBIDDEN"
    assert (await shell.gctl("access", "viewer", GCTL_TOKEN="x.y.z")).error["code"] == "UNAUTHENTICATED"


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--body", '{"query": "a"'], "Expecting ',' delimiter in line 1, column 14"),
        (["--body", '{"query":\n nope}'], "line 2, column 2"),
        (["--body", "[1]"], "must be a JSON object"),
        (["--body", '{"query": NaN}'], "NaN is no JSON"),
        (["--body", "[" * 100_000], "not JSON"),
        (["--body", '{"query": "a", "limits": 3}'], "limits: is not a field here. Did you mean limit?"),
        (["--body", "{}"], "query: is required"),
        ([], "query: is required"),
        (["--body", "@nowhere.json"], "cannot be read"),
        (["--bodi", "{}"], "No such option"),
        (["--body", '{"query": "a"}', "--server", "ftp://a"], "must be like https://host:port"),
        (["--body", '{"query": "a"}', "--server", "http://user:secret-word@a"], "must be like https://host:port"),
        (["--body", '{"query": "a"}', "--token", "secret\nword"], "malformed"),
    ],
)
async def test_a_wrong_call_is_status_2_and_asks_nobody(tmp_path: Path, arguments: list[str], part: str) -> None:
    nobody = Shell(tmp_path, {"GCTL_SERVER": "http://127.0.0.1:1", "GCTL_TOKEN": "secret-token"})
    done = await nobody.gctl("library", "retrieve", *arguments)
    assert (done.status, done.out) == (2, "")
    assert part in done.err
    assert "secret" not in done.err


async def test_a_server_that_is_not_there_or_is_another_thing(tmp_path: Path) -> None:
    shell = Shell(tmp_path, {"GCTL_TOKEN": "a-token"})
    error = (await shell.gctl("access", "viewer", "--server", "http://127.0.0.1:1")).error
    assert (error["code"], error["retryable"]) == ("UNAVAILABLE", True)
    assert (await shell.gctl("access", "viewer")).status == 2

    seen: list[str] = []

    async def elsewhere(request: Request) -> Response:
        seen.append(request.url.path)
        return RedirectResponse("/other") if request.url.path == "/graphql" else PlainTextResponse("<html>")

    async with serving(Starlette(routes=[Route("/{path:path}", elsewhere, methods=["GET", "POST"])])) as address:
        error = (await shell.gctl("access", "viewer", "--server", address)).error
    assert (error["code"], error["retryable"], seen) == ("UNAVAILABLE", False, ["/graphql"])
    assert "HTTP status 307" in error["message"]


async def test_login_keeps_a_token_that_is_good_and_shows_it_to_its_server_alone(world: World, tmp_path: Path) -> None:
    shell, file = Shell(tmp_path, {}), tmp_path / "profile.json"
    token = world.reader.token
    assert token is not None
    assert (await shell.gctl("login", "--server", world.address, stdin="bad.to.ken")).error["code"] == "UNAUTHENTICATED"
    assert not file.exists()
    done = await shell.gctl("login", "--server", world.address + "/", stdin=f"{token}\n")
    assert done.out == f"Signed in to {world.address} as user:reader in the workspace {world.workspace}.\n"
    assert token not in done.out + done.err
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert (await shell.gctl("access", "viewer")).answer["subject"] == "user:reader"

    shown: list[str | None] = []

    async def another(request: Request) -> Response:
        shown.append(request.headers.get("authorization"))
        return JSONResponse({"errors": [{"message": "no", "extensions": {"code": "UNAUTHENTICATED"}}]}, 401)

    async with serving(Starlette(routes=[Route("/graphql", another, methods=["POST"])])) as address:
        error = (await shell.gctl("access", "viewer", "--server", address)).error
    assert shown == [None]
    assert "gctl login" in error["hint"]

    assert (await shell.gctl("logout")).out == "Signed out.\n"
    assert not file.exists()


async def test_build_does_what_the_index_needs_and_waits(world: World, tmp_path: Path) -> None:
    manager = as_(world, "user:manager", tmp_path)
    await world.add("One", "first")
    made = await world.manager.change(
        "createKnowledgeBase", "knowledgeBase { id }", name="B", sourceIds=[world.sources["One"]]
    )
    base = made["knowledgeBase"]["id"]
    started = (await manager.gctl("knowledge-base", "build", base)).answer
    assert (started["state"], started["generation"]) == ("BUILDING", 1)
    watching = asyncio.create_task(manager.gctl("knowledge-base", "build", base, "--watch"))
    await asyncio.sleep(1)
    assert not watching.done()
    await world.work()
    built = await watching
    assert (built.answer["state"], built.answer["generation"], built.err) == ("READY", 1, "")
    nobody = await as_(world, "user:reader", tmp_path).gctl("knowledge-base", "build", base)
    assert nobody.error["code"] == "FORBIDDEN"


async def test_help_says_what_a_body_holds(shell: Shell) -> None:
    done = await shell.gctl("library", "retrieve", "--help", COLUMNS="200")
    said = " ".join(done.out.split())
    assert "query required, string, 1 to 1,000 characters. Words to look for" in said
    assert "limit integer, 1 to 50, default 10. At most how many hits" in said
    assert 'match ALL_WORDS | ANY_WORD, default "ALL_WORDS".' in said
    assert "GCTL_TOKEN" in said
    assert shell.variables["GCTL_TOKEN"] not in said
    rooms = [(await shell.gctl(room, "--help")).out for room in ("library", "knowledge-base", "access")]
    listed = set(re.findall(r"^  ([a-z-]+)  ", "".join(rooms), re.MULTILINE))
    assert {each.verb.replace("_", "-") for each in operations().values()} | {"build"} <= listed


async def test_operations_are_listed(shell: Shell) -> None:
    assert [each["name"] for each in (await shell.gctl("operations")).answer] == list(operations())


async def test_the_shell_completes_commands(shell: Shell) -> None:
    words = {"_GCTL_COMPLETE": "bash_complete", "COMP_WORDS": "gctl library add-", "COMP_CWORD": "2"}
    done = await shell.gctl(**words)
    assert done.out.split() == ["plain,add-source", "plain,add-source-version"]


async def test_a_terminal_gets_a_table_with_the_words_marked(world: World, shell: Shell) -> None:
    await world.add("\x1b[31mRed", "The harbor, again: harbor.")
    main, terminal = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        GCTL, "library", "retrieve", "--body", '{"query": "harbor"}',
        stdout=terminal, stderr=terminal, env=shell.environment(TERM="xterm", COLUMNS="100"),
    )  # fmt: skip
    os.close(terminal)
    shown = await asyncio.to_thread(_read_all, main)
    assert await process.wait() == 0
    assert shown.count("\x1b[1;33mharbor\x1b[0m") == 2
    assert "\ufffd[31mRed" in shown
    assert "1 hits" in shown


def _read_all(descriptor: int) -> str:
    parts = []
    try:
        while part := os.read(descriptor, 65_536):
            parts.append(part)
    except OSError:
        pass  # how Linux says that nobody writes any more
    os.close(descriptor)
    return b"".join(parts).decode()


@pytest.mark.parametrize("arguments", [["library", "retrieve", "--body", '{"query": "harbor"}'], ["library", "--help"]])
async def test_a_clients_command_imports_nothing_slow(shell: Shell, arguments: list[str]) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-X", "importtime", str(GCTL), *arguments,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=shell.environment(),
    )  # fmt: skip
    out, err = await process.communicate()
    assert process.returncode == 0, err
    assert out
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in err.decode().splitlines()}
    assert "click" in imported
    assert imported.isdisjoint(SLOW)


@pytest_asyncio.fixture
async def embedded(tmp_path: Path) -> AsyncIterator[tuple[Shell, asyncio.subprocess.Process]]:
    """`gctl serve` with an embedded database, nothing configured but its folder."""
    shell = Shell(tmp_path, {})
    process = await asyncio.create_subprocess_exec(
        GCTL, "serve", "--port", "0", "--no-sample",
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL, env=shell.environment(),
    )  # fmt: skip
    try:
        async with asyncio.timeout(60):
            while not (tmp_path / "server.json").exists():  # noqa: ASYNC110 another process makes it
                await asyncio.sleep(0.1)
        assert (await shell.gctl("token", "--subject", "user:ada")).status == 0  # makes the workspace
        yield shell, process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_a_server_on_this_machine_is_found_and_asked_with_no_configuration(
    embedded: tuple[Shell, asyncio.subprocess.Process], tmp_path: Path
) -> None:
    shell, process = embedded
    viewer = (await shell.gctl("access", "viewer", "--subject", "user:ada")).answer
    assert (viewer["subject"], viewer["workspace"]) == ("user:ada", "default")
    assert (await shell.gctl("access", "viewer")).error["code"] == "UNAUTHENTICATED"
    far = await shell.gctl("access", "viewer", "--subject", "user:ada", "--server", "https://example.org")
    assert (far.status, "a server on this machine" in far.err) == (2, True)
    process.terminate()
    assert await process.wait() == 0
    assert not (tmp_path / "server.json").exists()
    assert (await shell.gctl("access", "viewer", "--subject", "user:ada")).status == 2
