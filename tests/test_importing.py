"""`gctl import` as people run it: what it adds, what it skips and why, and what a second run does."""

import asyncio
import gzip
import json
import re
import signal
from asyncio.subprocess import DEVNULL
from pathlib import Path
from typing import Any
from uuid import UUID

from app.access.workspaces import find_workspace
from tests.cli.running import GCTL, Done, Shell
from tests.jobs.killing import shell
from tests.knowledge_bases.indexes import index, rows, until
from tests.world import World

EXECUTABLE = b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 8


def quiet(world: World, **variables: str) -> Shell:
    """The environment of one who has set nothing but where the data is."""
    given = shell(world)
    return Shell(given.folder, {k: v for k, v in given.variables.items() if k != "GCTL_LOG_LEVEL"} | variables)


async def run(world: World, path: Path, *options: str, **variables: str) -> Done:
    return await quiet(world, **variables).gctl("import", str(path), "--workspace", world.workspace, *options)


def write_jsonl(path: Path, *documents: dict[str, Any] | bytes) -> Path:
    lines = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in documents]
    path.write_bytes(b"\n".join(lines))
    return path


def document(number: int, **changes: Any) -> dict[str, Any]:
    return {"id": f"d{number}", "title": f"Document {number}", "body": f"Harbor number{number} is dredged."} | changes


async def sources(world: World) -> list[tuple[str, int, str]]:
    """Each source's title, how many versions it has, and the newest one's status."""
    found = await rows(
        world,
        "SELECT s.title, count(*), (array_agg(v.status ORDER BY v.number DESC))[1] FROM sources s"
        " JOIN source_versions v ON v.workspace_id = s.workspace_id AND v.source_id = s.id"
        " WHERE s.workspace_id = :w GROUP BY s.id, s.title ORDER BY s.title",
    )
    return [(title, count, status) for title, count, status in found]


async def test_a_folder_goes_in_and_what_is_skipped_says_why(world: World, tmp_path: Path) -> None:
    (tmp_path / "part").mkdir()
    (tmp_path / "cranes.md").write_text("# Cranes\n\nCranes are inspected.")
    (tmp_path / "part" / "quays.txt").write_text("Quays are swept.")
    (tmp_path / "program").write_bytes(EXECUTABLE)
    (tmp_path / "large.txt").write_text("x" * 3_000)
    (tmp_path / ".hidden").write_text("Not to be seen.")
    first = await run(world, tmp_path, GCTL_MAX_FILE_BYTES="2500")
    assert (first.status, first.out) == (
        0,
        f"2 added, 0 changed, 0 unchanged, 2 skipped in workspace {world.workspace}\n",
    )
    assert first.err.splitlines() == [
        "skipped large.txt: It is larger than 2,500 bytes.",
        "skipped program: The file is a program, not a document.",
    ]
    assert await sources(world) == [("Cranes", 1, "INDEXED"), ("quays", 1, "INDEXED")]
    assert await world.reader.hits("inspected") == [("Cranes", 0)]
    (tmp_path / "cranes.md").write_text("# Cranes\n\nCranes are oiled.")
    second = await run(world, tmp_path, GCTL_MAX_FILE_BYTES="2500")
    assert second.out == f"0 added, 1 changed, 1 unchanged, 2 skipped in workspace {world.workspace}\n"
    assert second.err == first.err
    assert await sources(world) == [("Cranes", 2, "INDEXED"), ("quays", 1, "INDEXED")]
    assert await world.reader.hits("inspected") == []
    assert await world.reader.hits("oiled") == [("Cranes", 0)]
    (tmp_path / "cranes.md").write_bytes(EXECUTABLE)
    third = await run(world, tmp_path, GCTL_MAX_FILE_BYTES="2500")
    assert third.out == f"0 added, 1 changed, 1 unchanged, 2 skipped in workspace {world.workspace}\n"
    assert "changed cranes.md: The file is a program, not a document." in third.err.splitlines()
    assert await world.reader.hits("oiled") == [("cranes", 0)]  # the former version goes on serving


async def test_lines_that_are_none_stop_nothing(world: World, tmp_path: Path) -> None:
    path = write_jsonl(
        tmp_path / "documents.jsonl",
        document(1, description="The first", private=True),
        b'{"id": "broken", "body": ',
        b"",
        b"[1]",
        {"id": "no text"},
        document(1, body="The same id again."),
        document(2, title="x" * 501),
        document(3, title=None, body="# Its own name\n\nText."),
        document(4, text="never used", body=""),
    )
    done = await run(world, path)
    assert (done.status, done.out) == (
        0,
        f"3 added, 0 changed, 0 unchanged, 5 skipped in workspace {world.workspace}\n",
    )
    assert sorted(done.err.splitlines()) == [
        "added d4: The file holds no text that can be read. The source is not found by search.",
        "skipped d1: An earlier document has the same id.",
        "skipped d2: title: must have 1 to 500 characters after trimming, not 501.",
        "skipped line 2: It is not JSON: unexpected end of data.",
        "skipped line 4: It is not an object with `id` and a `body` or `text`.",
        "skipped line 5: It is not an object with `id` and a `body` or `text`.",
    ]
    assert await sources(world) == [
        ("Document 1", 1, "INDEXED"),
        ("Document 4", 1, "INDEXED"),
        ("Its own name", 1, "INDEXED"),
    ]
    assert await world.reader.hits("dredged") == []  # private
    await world.grant(
        "user:reader",
        "source.read",
        str((await rows(world, "SELECT id FROM sources WHERE workspace_id = :w AND private"))[0][0]),
    )
    assert await world.reader.hits("dredged") == [("Document 1", 0)]


async def test_an_archive_that_breaks_off_gives_what_it_holds(world: World, tmp_path: Path) -> None:
    lines = "\n".join(json.dumps(document(number)) for number in range(2_000))
    path = tmp_path / "documents.jsonl.gz"
    path.write_bytes(gzip.compress(lines.encode())[:-8_000])
    done = await run(world, path)
    assert done.status == 0
    assert re.search(r"skipped line \d+: The file is damaged here; what follows cannot be read.", done.err)
    assert len(await sources(world)) > 100


async def test_a_knowledge_base_is_made_and_built_and_grows(world: World, tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "documents.jsonl", *(document(number) for number in range(3)))
    done = await run(world, path, "--knowledge-base", "Harbors")
    found = re.search(r"Knowledge base Harbors \((\S+)\) is READY\.", done.out)
    assert done.status == 0
    assert found
    assert len(await world.reader.hits("dredged", found[1])) == 3
    write_jsonl(path, *(document(number) for number in range(5)))
    assert done.err == ""  # no log lines on the terminal
    done = await run(world, path, "--knowledge-base", "Harbors", GCTL_LOG_LEVEL="info")
    assert f"Knowledge base Harbors ({found[1]}) is READY." in done.out
    assert len(await world.reader.hits("dredged", found[1])) == 5
    assert '"event":"job_done"' in done.err


async def test_an_import_that_is_killed_is_simply_run_again(world: World, tmp_path: Path) -> None:
    number = 600
    path = write_jsonl(
        tmp_path / "documents.jsonl", *(document(n, body=f"Harbor number{n}. " * 300) for n in range(number))
    )
    process = await asyncio.create_subprocess_exec(
        GCTL, "import", str(path), "--workspace", world.workspace,
        env=quiet(world).environment(), stdout=DEVNULL, stderr=DEVNULL,
    )  # fmt: skip

    async def has_begun() -> bool:
        return len(await sources(world)) > 0

    await until(has_begun, 60)
    process.send_signal(signal.SIGKILL)
    await process.wait()
    await asyncio.sleep(0.2)
    begun = len(await sources(world))
    assert begun % 50 == 0  # whole batches
    done = await run(world, path, "--knowledge-base", "Harbors")
    assert done.status == 0
    assert done.out.splitlines()[0] == (
        f"{number - begun} added, 0 changed, {begun} unchanged, 0 skipped in workspace {world.workspace}"
    )
    found = await sources(world)
    assert (len(found), {(count, status) for _, count, status in found}) == (number, {(1, "INDEXED")})
    base = re.search(r"\((\S+)\) is READY", done.out)
    assert base
    built = await index(world, base[1])
    assert built is not None
    ((passages,),) = await rows(world, "SELECT sum(passage_count) FROM source_versions WHERE workspace_id = :w")
    assert (built["memberCount"], built["passageCount"]) == (number, passages)
    ((in_index,),) = await rows(
        world, "SELECT count(*) FROM index_postings WHERE workspace_id = :w AND index_id = :i", i=UUID(built["id"])
    )
    assert in_index == passages


async def test_two_imports_at_once_add_nothing_twice(world: World, tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "documents.jsonl", *(document(number) for number in range(120)))
    both = await asyncio.gather(run(world, path), run(world, path))
    assert [done.status for done in both] == [0, 0]
    found = await sources(world)
    assert (len(found), {(count, status) for _, count, status in found}) == (120, {(1, "INDEXED")})
    ((postings, passages),) = await rows(
        world,
        "SELECT count(*), count(DISTINCT passage_id) FROM index_postings WHERE workspace_id = :w AND index_id = :w",
    )
    assert (postings, passages) == (120, 120)


async def test_a_wrong_owner_is_a_wrong_call(world: World, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    done = await run(world, tmp_path, "--owner", "ada")
    assert (done.status, "--owner must be user:…" in done.err) == (2, True)
    async with world.services.database.read() as session:
        assert await find_workspace(session, world.workspace) == world.workspace_id
    assert await sources(world) == []
