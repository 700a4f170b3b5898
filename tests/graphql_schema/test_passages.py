"""Passages outside of a search: a hit opened in its context, a version read through (SPEC R2-R4, R7, R12)."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest

from app.access.authorizers import DatabaseAuthorizer
from app.access.subject import Subject
from app.errors import AuthorizationUnavailable
from app.services import Services
from app.settings import Settings
from graphql_schema.asgi import create
from tests.retrieval.listening import listening
from tests.serving import serving
from tests.world import Caller, RefusedError, World

TEXT = "\n\n".join(f"# Part {n}\n\n" + " ".join([f"Word{n}"] * 120) for n in range(7))
OPEN = """
query Open($id: ID!, $limit: Int! = 3) {
  passage(id: $id) {
    id ordinal text textHash
    version { id number source { id title } }
    context(limit: $limit) { ordinal }
  }
}
"""
READ = """
query Read($id: ID!, $first: Int!, $after: String) {
  source(id: $id) { latestVersion {
    id passageCount
    passages(first: $first, after: $after) {
      nodes { ordinal text } edges { cursor } pageInfo { hasNextPage endCursor }
    }
    passage(ordinal: 2) { ordinal }
  } }
}
"""


async def hit(caller: Caller, query: str) -> dict[str, Any]:
    (found,) = (await caller.retrieve(query))["hits"]
    return dict(found)


async def read(caller: Caller, source: str, first: int = 100, after: str | None = None) -> dict[str, Any]:
    answer = await caller.ask(READ, id=source, first=first, after=after)
    version: dict[str, Any] = answer["source"]["latestVersion"]
    return version


async def test_a_hit_is_opened_in_its_context(world: World) -> None:
    source = await world.add("Parts", TEXT)
    found = await hit(world.reader, "word3")
    answer = await world.reader.ask(
        'query { retrieve(query: "word3") { hits { version { id number source { id } } '
        "passage { id ordinal text textHash version { number } context(limit: 4) { ordinal text } } } } }"
    )
    (opened,) = answer["retrieve"]["hits"]
    assert opened["version"] == {"id": found["resourceVersionId"], "number": 1, "source": {"id": source}}
    passage = opened["passage"]
    assert (passage["id"], passage["ordinal"], passage["text"]) == (found["chunkId"], found["ordinal"], found["text"])
    assert passage["textHash"] == found["textHash"]
    assert [near["ordinal"] for near in passage["context"]] == [2, 3, 4, 5]
    assert passage["context"][1]["text"] == found["text"]


@pytest.mark.parametrize(
    ("ordinal", "limit", "expected"),
    [(3, 1, [3]), (3, 2, [3, 4]), (3, 3, [2, 3, 4]), (0, 3, [0, 1]), (6, 5, [4, 5, 6]), (3, 21, [0, 1, 2, 3, 4, 5, 6])],
)
async def test_a_context_ends_where_the_text_does(world: World, ordinal: int, limit: int, expected: list[int]) -> None:
    await world.add("Parts", TEXT)
    found = await hit(world.reader, f"word{ordinal}")
    passage = (await world.reader.ask(OPEN, id=found["chunkId"], limit=limit))["passage"]
    assert (passage["ordinal"], [near["ordinal"] for near in passage["context"]]) == (ordinal, expected)


async def test_a_version_is_read_through_page_by_page(world: World) -> None:
    source = await world.add("Parts", TEXT)
    ordinals: list[int] = []
    texts, after = [], None
    while True:
        version = await read(world.reader, source, first=3, after=after)
        ordinals += [node["ordinal"] for node in version["passages"]["nodes"]]
        texts += [node["text"] for node in version["passages"]["nodes"]]
        after = version["passages"]["pageInfo"]["endCursor"]
        if not version["passages"]["pageInfo"]["hasNextPage"]:
            break
    assert ordinals == list(range(7))
    assert "\n\n".join(texts) == TEXT
    assert version["passage"] == {"ordinal": 2}
    assert (await read(world.reader, source, after=after))["passages"] == {
        "nodes": [],
        "edges": [],
        "pageInfo": {"hasNextPage": False, "endCursor": None},
    }


@pytest.mark.parametrize(
    ("field", "argument"),
    [
        ("context(limit: 0) { id }", "limit"),
        ("context(limit: 22) { id }", "limit"),
        ("version { passages(first: 101) { nodes { id } } }", "first"),
        ('version { passages(after: "x") { nodes { id } } }', "after"),
        ("version { passage(ordinal: -1) { id } }", "ordinal"),
        ("version { passage(ordinal: 1000000000) { id } }", "ordinal"),
    ],
)
async def test_bad_places_are_refused(world: World, field: str, argument: str) -> None:
    await world.add("Parts", "One.")
    found = await hit(world.reader, "one")
    with pytest.raises(RefusedError) as refused:
        await world.reader.ask(f"query Q($id: ID!) {{ passage(id: $id) {{ {field} }} }}", id=found["chunkId"])
    assert refused.value.extensions == {"code": "INVALID_INPUT", "retryable": False, "argument": argument}


async def missing(caller: Caller, passage_id: str) -> bool:
    """Whether the passage is as one that never was."""
    answers = [
        (await caller.post(OPEN, {"id": id_})).json() for id_ in (passage_id, "0190a4e8-7c1d-7d3a-9a55-3f0c2b1e4d5f")
    ]
    if answers[0]["data"]["passage"] is None:
        assert answers[0] == answers[1]
        assert answers[0]["errors"][0]["extensions"]["code"] == "NOT_FOUND"
        return True
    return False


async def test_who_may_not_read_finds_nothing(world: World) -> None:
    source = await world.add("Memo", TEXT, private=True)
    passage = (await hit(world.manager, "word3"))["chunkId"]
    clerk = world.caller("user:clerk")
    for caller in (world.reader, world.nobody, clerk):
        assert await missing(caller, passage)
    await world.grant("user:clerk", "source.details", source)
    assert await missing(clerk, passage)
    version = await read(clerk, source)
    assert (version["passageCount"], version["passages"]["nodes"], version["passage"]) == (7, [], None)
    await world.grant("user:clerk", "source.content", source)
    assert not await missing(clerk, passage)
    assert len((await read(clerk, source))["passages"]["nodes"]) == 7
    await world.revoke("user:clerk", "source.content", source)
    assert await missing(clerk, passage)


async def test_what_no_search_finds_is_not_read_either(world: World) -> None:
    source = await world.add("Parts", TEXT)
    found = await hit(world.reader, "word3")
    change = world.manager.change
    await change("setSourceAvailability", "source { id }", id=source, availability="UNAVAILABLE")
    assert await missing(world.reader, found["chunkId"])
    assert (await read(world.reader, source))["passages"]["nodes"] == []
    await change("setSourceAvailability", "source { id }", id=source, availability="AVAILABLE")
    assert not await missing(world.reader, found["chunkId"])
    await change("discardStoredFile", "version { id }", sourceVersionId=found["resourceVersionId"])
    assert await missing(world.reader, found["chunkId"])


async def test_an_older_version_is_read_while_an_index_holds_it(world: World) -> None:
    source = await world.add("Parts", "Old words.")
    found = await hit(world.reader, "old")
    file = {"name": "b.md", "mediaType": "text/markdown", "text": "New words."}
    await world.manager.change("addSourceVersion", "version { id }", sourceId=source, file=file)
    passage = (await world.reader.ask(OPEN, id=found["chunkId"]))["passage"]
    assert (passage["text"], passage["version"]["number"]) == ("Old words.", 1)


class Fickle:
    """An authorizer that refuses, or cannot decide, from the moment it is told to."""

    def __init__(self, services: Services) -> None:
        self._inner = DatabaseAuthorizer(services.database)
        self.mood = "allow"
        self.batches: list[int] = []

    async def check(self, subject: Subject, source_ids: Sequence[UUID]) -> list[bool]:
        self.batches.append(len(source_ids))
        if self.mood == "fail":
            raise AuthorizationUnavailable
        return [self.mood == "allow" and may for may in await self._inner.check(subject, source_ids)]


async def test_the_authorizer_is_asked_for_texts_too(world: World, services: Services, settings: Settings) -> None:
    source = await world.add("Parts", TEXT)
    authorizer = Fickle(services)
    async with serving(create(settings, authorizer)) as address:
        world.address = address
        passage = (await hit(world.reader, "word3"))["chunkId"]
        authorizer.batches.clear()
        assert not await missing(world.reader, passage)
        assert authorizer.batches == [1]
        authorizer.mood = "deny"
        assert await missing(world.reader, passage)
        assert (await read(world.reader, source))["passages"]["nodes"] == []
        authorizer.mood = "fail"
        for document, variables in ((OPEN, {"id": passage}), (READ, {"id": source, "first": 1})):
            answer = (await world.reader.post(document, variables)).json()
            assert {error["extensions"]["code"] for error in answer["errors"]} == {"AUTHORIZATION_UNAVAILABLE"}
            assert "Word" not in str(answer)


async def test_the_versions_and_contexts_of_50_hits_take_three_statements(world: World, settings: Settings) -> None:
    for n in range(3):
        await world.add(f"Parts {n}", "\n\n".join("Rigging " * 120 for _ in range(20)))
    document = (
        'query Q($fields: Boolean!) { retrieve(query: "rigging", limit: 50) { hits { chunkId '
        "version @include(if: $fields) { number } passage @include(if: $fields) { context { ordinal } } } } }"
    )
    with listening() as statements:
        async with serving(create(settings)) as address:
            world.address = address
            await world.reader.ask(document, fields=False)
            statements.clear()
            hits = (await world.reader.ask(document, fields=False))["retrieve"]["hits"]
            assert len(hits) == 50
            plain = len(statements)
            statements.clear()
            hits = (await world.reader.ask(document, fields=True))["retrieve"]["hits"]
    # the driver looks up int[] once a connection
    assert len([each for each in statements if "typeinfo_tree" not in each and "set_config" not in each]) == plain + 3
    assert all(1 < len(opened["passage"]["context"]) <= 3 for opened in hits)
