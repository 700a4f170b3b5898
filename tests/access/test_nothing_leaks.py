"""What a caller may not see leaves no trace in any answer: no hit, no rank, no place, no error of its own (R4, R14)."""

import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

import orjson
import pytest
import pytest_asyncio

from app.services import Services
from tests.access.filling import Draft, fill
from tests.world import World

OWNER = "user:owner"
NEW_FILE = {"name": "new.md", "mediaType": "text/markdown", "text": "New."}

QUESTIONS = {
    "content and titles": 'query: "rigging"',
    "one place": 'query: "rigging", limit: 1',
    "fifty places": 'query: "rigging", limit: 50',
    "two words": 'query: "crane rigging"',
    "a phrase": r'query: "\"every crane\""',
    "titles only": 'query: "catalogue"',
    "a title without words": 'query: "The Who"',
    "any word": 'query: "which crane has the oldest rigging", match: ANY_WORD',
    "what only hidden sources say": 'query: "zeppelin"',
    "any word, one only in hidden sources": 'query: "zeppelin crane", match: ANY_WORD',
    "an error": 'query: "rigging", limit: 51',
}
# How many hits the reader gets for the first seven: a comparison of empty answers would show nothing.
COUNTS = [3, 1, 3, 2, 1, 1, 1]
ANSWER = """{
  notice
  index { state }
  hits {
    chunkId resourceId resourceVersionId ordinal textHash snippetSafe rank text
    source { title }
    snippet { text highlights { start end } }
    highlights { start end }
  }
}"""


@dataclass
class Harbor:
    """A few sources, and in `hidden` a thousand private ones that say the same and more, all in one knowledge base."""

    world: World
    base: str
    unbuilt: str
    hidden: list[Draft]

    async def everything(self) -> dict[tuple[str, str], bytes]:
        """The answers to all questions, for each caller and scope: the bytes of the body."""
        callers = {"reader": self.world.reader, "granted": self.world.caller("user:ada"), "nobody": self.world.nobody}
        bases = {"ready": self.base, "unbuilt": self.unbuilt, "workspace": None}
        return {
            (who, scope): (await caller.post(self._document(base))).content
            for who, caller in callers.items()
            for scope, base in bases.items()
        }

    def _document(self, base: str | None) -> str:
        scope = "" if base is None else f', knowledgeBaseId: "{base}"'
        fields = [f"q{n}: retrieve({question}{scope}) {ANSWER}" for n, question in enumerate(QUESTIONS.values())]
        return f"{{ {' '.join(fields)} }}"


@pytest_asyncio.fixture(scope="module")
async def harbor(services: Services, server: str) -> AsyncIterator[Harbor]:
    async with World.made(services, server) as world:
        shelf = {
            "Crane book": "Every crane has rigging. Its rigging is checked.",
            "Yard book": "Old rigging is burnt; the crane is not.",
            "Rigging catalogue": "Shackles and wires.",
            "The Who": "A band that never saw a harbor.",
        }
        drafts = [Draft(title, text, "user:manager") for title, text in shelf.items()]
        await fill(services, world.workspace_id, drafts)
        world.sources = {draft.title: str(draft.id) for draft in drafts}
        await world.grant("user:ada", "source.details", world.sources["Yard book"])
        base = await world.knowledge_base(*world.sources)
        unbuilt = await world.manager.change("createKnowledgeBase", "knowledgeBase { id }", name="Unbuilt")
        texts = [
            "Rigging, rigging, rigging: every crane has rigging.",
            "A zeppelin has no rigging but every crane has.",
        ]
        titles = ["Rigging catalogue", "The Who", "Zeppelin rigging", "Crane"]
        hidden = [Draft(titles[n % 4], texts[n % 2], OWNER, private=True) for n in range(1_000)]
        yield Harbor(world, base, unbuilt["knowledgeBase"]["id"], hidden)


async def test_a_thousand_hidden_matches_change_no_byte(harbor: Harbor) -> None:
    world = harbor.world
    before = await harbor.everything()
    await fill(world.services, world.workspace_id, harbor.hidden)
    await _hold(harbor, harbor.hidden)
    owner = world.caller(OWNER)
    # They are really there, in both scopes, and better than what the others find.
    for base in (None, harbor.base):
        found = (await owner.retrieve("rigging", base, limit=50))["hits"]
        assert {hit["resourceId"] for hit in found} <= {str(draft.id) for draft in harbor.hidden}
        assert len(found) == 50
    after = await harbor.everything()
    assert [key for key in before if after[key] != before[key]] == []
    answers = list(orjson.loads(after["reader", "ready"])["data"].values())
    assert [len(answer["hits"]) for answer in answers[: len(COUNTS)]] == COUNTS


async def _hold(harbor: Harbor, drafts: Sequence[Draft]) -> None:
    """Their owner puts them into the knowledge base, as a manager for as long as that takes."""
    world = harbor.world
    await world.grant(OWNER, "library.manage")
    await world.caller(OWNER).change(
        "addKnowledgeBaseSources",
        "knowledgeBase { id }",
        knowledgeBaseId=harbor.base,
        sourceIds=[str(draft.id) for draft in drafts],
    )
    await world.revoke(OWNER, "library.manage")
    await world.work()


async def test_lists_and_counts_hold_only_what_the_caller_sees(harbor: Harbor) -> None:
    document = (
        "query ($kb: ID!) { sources(first: 100) { nodes { title } pageInfo { hasNextPage } }"
        ' named: sources(query: "rigging") { nodes { title } }'
        " knowledgeBase(id: $kb) { sources(first: 100) { nodes { title } pageInfo { hasNextPage } }"
        " index { memberCount passageCount done total failures { nodes { reason } } } } }"
    )
    shelf = ["Crane book", "Yard book", "Rigging catalogue", "The Who"]
    for caller, titles in ((harbor.world.reader, shelf), (harbor.world.caller("user:ada"), ["Yard book"])):
        data = await caller.ask(document, kb=harbor.base)
        page = {"nodes": [{"title": title} for title in titles], "pageInfo": {"hasNextPage": False}}
        assert data["sources"] == page
        assert data["knowledgeBase"]["sources"] == page
        assert data["named"]["nodes"] == [{"title": title} for title in titles if "Rigging" in title]
        assert data["knowledgeBase"]["index"] == {
            "memberCount": None, "passageCount": None, "done": None, "total": None, "failures": None,
        }  # fmt: skip


async def test_hidden_matches_take_no_place(world: World) -> None:
    best = [Draft("Best", "Rigging rigging rigging.", OWNER, private=True) for _ in range(5)]
    await fill(world.services, world.workspace_id, best)
    await world.add("First", "Rigging is checked by the harbor master, the crane driver and the deck hand.")
    await world.add("Second", "Once a year the harbor master, the crane driver and the deck hand check all rigging.")
    assert [hit["resourceId"] for hit in (await world.caller(OWNER).retrieve("rigging"))["hits"]] == sorted(
        str(draft.id) for draft in best
    )
    assert sorted(await world.reader.titles("rigging", limit=2)) == ["First", "Second"]


@dataclass
class Missing:
    """Ids that nobody asking here may tell from ids that never were: of a source, its version, a knowledge base."""

    source: str
    version: str
    base: str


def an_id() -> str:
    return str(uuid.uuid4())


@pytest_asyncio.fixture(scope="module")
async def missing(services: Services, server: str, harbor: Harbor) -> AsyncIterator[dict[str, Missing]]:
    """By why they are missing. The hidden source is held by the harbor's knowledge base."""
    world = harbor.world
    async with World.made(services, server) as other:
        elsewhere = Draft("Elsewhere", "Rigging.", "user:manager")
        await fill(services, other.workspace_id, [elsewhere])
        purged, deleted = (Draft(title, "Rigging.", "user:manager") for title in ("Purged", "Deleted"))
        hidden = Draft("Hidden", "Rigging.", OWNER, private=True)
        await fill(services, world.workspace_id, [purged, deleted, hidden])
        await world.manager.change("deleteSource", "id", id=str(purged.id))
        await _hold(harbor, [hidden])
        await world.manager.change("deleteSource", "id", id=str(deleted.id))
        base = await other.knowledge_base()
        gone = await world.knowledge_base()
        await world.manager.change("deleteKnowledgeBase", "id", id=gone)
        # What never was is asked for first: if one of the others changed something, the answers would differ.
        yield {
            "never": Missing(an_id(), an_id(), an_id()),
            "hidden": Missing(str(hidden.id), str(hidden.version_id), an_id()),
            "deleted": Missing(str(deleted.id), str(deleted.version_id), gone),
            "purged": Missing(str(purged.id), str(purged.version_id), an_id()),
            "elsewhere": Missing(str(elsewhere.id), str(elsewhere.version_id), base),
        }


# What is asked of a source, a version or a knowledge base, as `field(arguments) { selection }`.
ON_SOURCES = [
    "source(id: $source) { title }",
    'retrieve(query: "rigging", sourceIds: [$source]) { hits { resourceId } }',
    'retrieve(query: "rigging", knowledgeBaseId: $held, sourceIds: [$source]) { hits { resourceId } }',
    'updateSource(input: {id: $source, title: "Mine"}) { source { title } }',
    "updateSource(input: {id: $source, private: false}) { source { title } }",
    'updateSource(input: {id: $source, title: " "}) { source { title } }',
    "deleteSource(input: {id: $source}) { id }",
    "setSourceAvailability(input: {id: $source, availability: UNAVAILABLE}) { source { title } }",
    "addSourceVersion(input: {sourceId: $source, file: $file}) { version { number } }",
    "discardStoredFile(input: {sourceVersionId: $version}) { version { kept } }",
    'grantAccess(input: {subject: "user:manager", action: SOURCE_READ, sourceId: $source}) { subject }',
    'grantAccess(input: {subject: "user:manager", action: LIBRARY_READ, sourceId: $source}) { subject }',
    'revokeAccess(input: {subject: "user:owner", action: SOURCE_READ, sourceId: $source}) { subject }',
    "addKnowledgeBaseSources(input: {knowledgeBaseId: $held, sourceIds: [$source]}) { knowledgeBase { name } }",
    "removeKnowledgeBaseSources(input: {knowledgeBaseId: $held, sourceIds: [$source]})"
    " { knowledgeBase { name index { state generation } } }",
    'createKnowledgeBase(input: {name: "Mine", sourceIds: [$source]}) { knowledgeBase { name } }',
]
ON_BASES = [
    "knowledgeBase(id: $base) { name }",
    'retrieve(query: "rigging", knowledgeBaseId: $base) { hits { resourceId } }',
    'retrieve(query: "rigging", knowledgeBaseId: $base, sourceIds: []) { hits { resourceId } }',
    'updateKnowledgeBase(input: {id: $base, name: "Mine"}) { knowledgeBase { name } }',
    "deleteKnowledgeBase(input: {id: $base}) { id }",
    "addKnowledgeBaseSources(input: {knowledgeBaseId: $base, sourceIds: []}) { knowledgeBase { name } }",
    "removeKnowledgeBaseSources(input: {knowledgeBaseId: $base, sourceIds: []}) { knowledgeBase { name } }",
    "refreshIndex(input: {knowledgeBaseId: $base}) { index { state } }",
    "rebuildIndex(input: {knowledgeBaseId: $base}) { index { state } }",
    "repairIndex(input: {knowledgeBaseId: $base}) { index { state } }",
]
TYPES = {"source": "ID!", "version": "ID!", "base": "ID!", "held": "ID!", "file": "FileInput!"}


def _refusals(field: str, who: str) -> tuple[set[str], ...]:
    """The codes that may be answered; whichever it is, it is the same for every id that is missing."""
    if field.startswith("retrieve") and field in ON_SOURCES:
        return (set(),)
    if who != "user:manager":
        return {"NOT_FOUND"}, {"FORBIDDEN"}
    return (set(),) if field.startswith("removeKnowledgeBaseSources") and field in ON_SOURCES else ({"NOT_FOUND"},)


@pytest.mark.parametrize("who", ["user:manager", "user:reader"])
@pytest.mark.parametrize("field", [*ON_SOURCES, *ON_BASES], ids=lambda field: field.partition(" {")[0])
async def test_what_is_missing_answers_alike_for_whatever_reason(
    harbor: Harbor, missing: dict[str, Missing], who: str, field: str
) -> None:
    caller = harbor.world.caller(who)
    answers = {}
    for why, ids in missing.items():
        variables = {name: value for name, value in vars(ids).items() if f"${name}" in field}
        variables |= {
            name: value for name, value in {"held": harbor.base, "file": NEW_FILE}.items() if f"${name}" in field
        }
        declared = ", ".join(f"${name}: {TYPES[name]}" for name in variables)
        kind = "query" if field in ON_SOURCES[:3] + ON_BASES[:3] else "mutation"
        response = await caller.post(f"{kind} ({declared}) {{ {field} }}", variables)
        answers[why] = (response.status_code, response.json(), list(response.headers))
    assert [why for why, answer in answers.items() if answer != answers["never"]] == []
    assert {error["extensions"]["code"] for error in answers["never"][1].get("errors", [])} in _refusals(field, who)


async def test_what_was_refused_changed_nothing(harbor: Harbor, missing: dict[str, Missing]) -> None:
    owner = harbor.world.caller(OWNER)
    document = (
        "query ($id: ID!) { source(id: $id) { title private availability grants { nodes { subject } }"
        " versions { nodes { number kept } } } }"
    )
    assert (await owner.ask(document, id=missing["hidden"].source))["source"] == {
        "title": "Hidden",
        "private": True,
        "availability": "AVAILABLE",
        "grants": {"nodes": []},
        "versions": {"nodes": [{"number": 1, "kept": True}]},
    }
    held = await owner.retrieve("hidden", harbor.base, ids=[missing["hidden"].source])
    assert [hit["source"]["title"] for hit in held["hits"]] == ["Hidden"]
