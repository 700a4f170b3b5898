"""Seen = listed, and readable = retrievable = checked, for every subject and source of parity.yaml (SPEC R1-R4, R7)."""

import base64
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio
import yaml

from app.access.grants import Action, grant, revoke
from app.access.subject import Subject
from app.database import WriteSession
from app.knowledge_bases.repository import create_knowledge_base
from app.services import Services
from tests.access.filling import Draft, fill
from tests.world import World

TABLE: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("parity.yaml").read_text())
SOURCES: dict[str, dict[str, Any]] = TABLE["sources"]
SUBJECTS: dict[str, dict[str, Any]] = TABLE["subjects"]
SEEN, CHECKED, FOUND = {"see", "read", "find"}, {"read", "find"}, {"find"}
UNTIL = {"past": -timedelta(days=1), "coming": timedelta(days=1)}
BROKEN = {"name": "new.pdf", "mediaType": "application/pdf", "base64": base64.b64encode(b"%PDF-1.7\nbroken").decode()}
HIDDEN = {"code": "NOT_FOUND", "retryable": False}

# The ways to find a source: every text says "quayside" and every title "ledger". A new front door is one line more,
# with a selection that holds `resourceId` of what it found.
WAYS = {
    "content, workspace": 'retrieve(query: "quayside", limit: 50) { hits { resourceId } }',
    "title, workspace": 'retrieve(query: "ledger", limit: 50) { hits { resourceId } }',
    "content, knowledge base": 'retrieve(knowledgeBaseId: $kb, query: "quayside", limit: 50) { hits { resourceId } }',
    "title, knowledge base": 'retrieve(knowledgeBaseId: $kb, query: "ledger", limit: 50) { hits { resourceId } }',
    "content, source list": 'retrieve(query: "quayside", limit: 50, sourceIds: $ids) { hits { resourceId } }',
    "title, source list": 'retrieve(query: "ledger", limit: 50, sourceIds: $ids) { hits { resourceId } }',
}


@dataclass
class Shelf:
    """Both workspaces, their knowledge bases, and the sources' ids by their names in the table."""

    worlds: dict[str, World]
    bases: dict[str, str]
    ids: dict[str, str]

    @property
    def names(self) -> dict[str, str]:
        return {source_id: name for name, source_id in self.ids.items()}


def test_the_table_is_whole() -> None:
    rows = [row["answers"] for row in SUBJECTS.values()]
    assert all(len(row) == len(SOURCES) for row in rows)
    assert {answer for row in rows for answer in row} == {"-"} | SEEN
    assert sum(map(len, rows)) >= 300
    for column, name in enumerate(SOURCES):
        states = {row[column] for row in rows}
        assert (states == {"-"}) == name.endswith("deleting"), name


@pytest_asyncio.fixture(scope="module")
async def shelf(services: Services, server: str) -> AsyncIterator[Shelf]:
    async with AsyncExitStack() as stack:
        worlds = {name: await stack.enter_async_context(World.made(services, server)) for name in TABLE["workspaces"]}
        made = Shelf(worlds, {}, {})
        for workspace, world in worlds.items():
            await _fill(made, workspace, world)
        for name, source in SOURCES.items():
            await _change(worlds["here"], made.ids[name], source.get("state"))
        async with services.database.write() as session:
            for subject, row in SUBJECTS.items():
                await _give(session, made, subject, row)
        yield made


async def _fill(shelf: Shelf, workspace: str, world: World) -> None:
    """The sources, all of them still in order, and a knowledge base that is READY and holds them."""
    drafts = {
        name: Draft(
            title=f"Ledger {name}",
            text="" if source.get("state") == "no text" else f"{name} by the quayside",
            owner=source.get("owner", "user:owner"),
            private=source.get("private", False),
        )
        for name, source in SOURCES.items()
        if source.get("workspace", "here") == workspace
    }
    await fill(world.services, world.workspace_id, list(drafts.values()))
    shelf.ids |= {name: str(draft.id) for name, draft in drafts.items()}
    async with world.services.database.write() as session:
        base = await create_knowledge_base(
            session,
            world.workspace_id,
            name="Base",
            description=None,
            auto_refresh=False,
            source_ids=[draft.id for draft in drafts.values()],
        )
    await world.manager.change("rebuildIndex", "index { id }", knowledgeBaseId=str(base))
    await world.work()
    shelf.bases[workspace] = str(base)


async def _change(world: World, source_id: str, state: str | None) -> None:
    owner = world.caller("user:owner")
    if state == "unavailable":
        await owner.change("setSourceAvailability", "source { id }", id=source_id, availability="UNAVAILABLE")
    elif state == "deleting":
        await owner.change("deleteSource", "id", id=source_id)
    elif state == "discarded":
        found = await owner.ask("query ($id: ID!) { source(id: $id) { latestVersion { id } } }", id=source_id)
        version_id = found["source"]["latestVersion"]["id"]
        await owner.change("discardStoredFile", "version { kept }", sourceVersionId=version_id)
    elif state == "newest version failed":
        added = await owner.change("addSourceVersion", "version { status }", sourceId=source_id, file=BROKEN)
        assert added["version"]["status"] == "FAILED"


async def _give(session: WriteSession, shelf: Shelf, name: str, row: Mapping[str, Any]) -> None:
    workspace = row.get("workspace", "here")
    workspace_id = shelf.worlds[workspace].workspace_id
    named = [UUID(shelf.ids[n]) for n, source in SOURCES.items() if source.get("workspace", "here") == workspace]
    for held in row["holds"]:
        action, subject = Action(held["action"]), held.get("from", _subject(name, row))
        until = datetime.now(UTC) + UNTIL[held["until"]] if "until" in held else None
        for source_id in named if action.startswith("source.") else [None]:
            await grant(session, workspace_id, subject, action, source_id, until)
            if held.get("revoked"):
                await revoke(session, workspace_id, subject, action, source_id)


def _subject(name: str, row: Mapping[str, Any]) -> str:
    subject: str = row.get("as", f"user:{name.replace(' ', '-')}")
    return subject


def _expected(name: str, answers: set[str]) -> set[str]:
    return {source for source, answer in zip(SOURCES, SUBJECTS[name]["answers"], strict=True) if answer in answers}


@pytest.mark.parametrize("name", SUBJECTS)
async def test_every_front_door_gives_the_answer_of_the_table(shelf: Shelf, name: str) -> None:
    row = SUBJECTS[name]
    workspace = row.get("workspace", "here")
    caller = shelf.worlds[workspace].caller(_subject(name, row), *row.get("groups", []))
    by_id = [f'id{n}: source(id: "{source_id}") {{ id }}' for n, source_id in enumerate(shelf.ids.values())]
    ways = [f"way{n}: {way}" for n, way in enumerate(WAYS.values())]
    fields = [*by_id, "sources(first: 100) { nodes { id } }", *ways]
    document = f"query ($kb: ID!, $ids: [ID!]!) {{ {' '.join(fields)} }}"
    variables = {"kb": shelf.bases[workspace], "ids": list(shelf.ids.values())}
    answer = (await caller.post(document, variables)).json()
    data = answer["data"]

    seen = {source["id"] for key, source in data.items() if key.startswith("id") and source}
    listed = {source["id"] for source in data["sources"]["nodes"]}
    found = {way: {hit["resourceId"] for hit in data[f"way{n}"]["hits"]} for n, way in enumerate(WAYS)}
    assert {shelf.names[id_] for id_ in seen} == _expected(name, SEEN)
    assert {shelf.names[id_] for id_ in listed} == _expected(name, SEEN)
    for way, ids in found.items():
        assert {shelf.names[id_] for id_ in ids} == _expected(name, FOUND), way
    # Only `source` fails, and alike for whatever the caller does not see.
    errors = answer.get("errors", [])
    assert {error["message"] for error in errors} <= {"There is no such source, or you may not see it."}
    assert [error["extensions"] for error in errors] == [HIDDEN] * (len(SOURCES) - len(seen))


@pytest.mark.parametrize("name", SUBJECTS)
async def test_the_read_check_gives_the_answer_of_the_table(services: Services, shelf: Shelf, name: str) -> None:
    row = SUBJECTS[name]
    world = shelf.worlds[row.get("workspace", "here")]
    subject = Subject(world.workspace_id, _subject(name, row), frozenset(row.get("groups", [])))
    allowed = await services.authorizer.check(subject, [UUID(source_id) for source_id in shelf.ids.values()])
    assert {name for name, may in zip(shelf.ids, allowed, strict=True) if may} == _expected(name, CHECKED)
