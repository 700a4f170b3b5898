"""The third step of ANY_WORD: what it adds, in which order, and that it reveals nothing (SPEC R28)."""

import math
import random
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

import pytest

from app.access.grants import Action, grant
from app.importing import Document, import_documents
from app.library.service import NewFile
from app.retrieval.any_word import ENOUGH, MOST_TERMS, POOL
from app.retrieval.bm25 import FIRST_PASSAGE_FACTOR, K1, TITLE_SHARE, USUAL_LENGTH, B
from app.retrieval.request import MAX_LIMIT, MatchMode, retrieve_request
from app.retrieval.service import Answer
from tests.world import Caller, World, ids

ANY = {"match": "ANY_WORD"}
OWNER = "user:owner"


async def _imported(world: World, texts: Iterable[tuple[str, str, bool]]) -> list[UUID]:
    """Sources of (title, text, private) that `OWNER` owns; their ids, in order."""
    documents = (
        Document(f"{number:04}", NewFile("file.md", "text/markdown", text.encode()), title, None, private)
        for number, (title, text, private) in enumerate(texts)
    )
    outcomes = [o async for o in import_documents(world.services, world.workspace_id, OWNER, documents)]
    added = {outcome.external_id: outcome.source_id for outcome in outcomes if outcome.source_id is not None}
    assert len(added) == len(outcomes)
    return [added[external_id] for external_id in sorted(added)]


async def test_what_all_words_finds_comes_first_and_then_what_any_word_finds(world: World) -> None:
    await world.add("Crane book", "The shackles of a crane are tested.")
    await world.add("Shackles of cranes", "Wires.")
    await world.add("Yard book", "Old shackles are burnt.")
    await world.add("Tide table", "High water at noon.")
    assert await world.reader.titles("crane shackles") == ["Crane book", "Shackles of cranes"]
    assert await world.reader.titles("crane shackles", **ANY) == ["Crane book", "Shackles of cranes", "Yard book"]
    assert await world.reader.titles("crane shackles", limit=2, **ANY) == ["Crane book", "Shackles of cranes"]


async def test_no_passage_is_listed_twice_but_another_of_its_source_may_follow(world: World) -> None:
    filler = "Rope is kept dry. " * 60
    await world.add("Crane book", f"The shackles of a crane are tested. {filler} A crane is painted. {filler}")
    await world.add("Crane shackles", f"Shackles are bought. {filler} Shackles are stored. {filler}")
    all_words = await world.reader.hits("crane shackles")
    assert all_words == [("Crane book", 0), ("Crane shackles", 0)]
    any_word = await world.reader.hits("crane shackles", limit=50, **ANY)
    assert any_word[:2] == all_words
    assert len(any_word) == len(set(any_word)) > 2
    assert {title for title, ordinal in any_word[2:] if ordinal} == {"Crane book", "Crane shackles"}


async def test_rare_words_weigh_more(world: World) -> None:
    notes = [(f"Note {number}", "A pump is on the quay.", False) for number in range(8)]
    await _imported(world, [*notes, ("Rare", "An impeller is on the quay.", False)])
    assert (await world.reader.titles("pump impeller", **ANY))[0] == "Rare"


async def test_a_word_of_the_title_counts_where_a_passage_holds_another(world: World) -> None:
    await world.add("Anchors", "The winch is oiled.")
    await world.add("Buoys", "The winch is oiled.")
    await world.add("Lamps", "Chains and anchors.")
    assert (await world.reader.titles("anchors winch rust", **ANY))[0] == "Anchors"
    assert "Buoys" not in await world.reader.titles("buoys rust", **ANY)


@pytest.mark.parametrize("query", ['crane "oiled winch"', "crane oiled-winch"])
async def test_a_phrase_is_one_of_the_words(world: World, query: str) -> None:
    await world.add("Whole", "An oiled winch turns.")
    await world.add("Parts", "The winch is oiled.")
    hits = (await world.reader.retrieve(query, **ANY))["hits"]
    assert [hit["source"]["title"] for hit in hits] == ["Whole"]
    assert [hits[0]["text"][mark["start"] : mark["end"]] for mark in hits[0]["highlights"]] == ["oiled", "winch"]


async def test_the_matched_words_are_marked_and_shown(world: World) -> None:
    await world.add("Long", f"{'Rope is kept dry. ' * 40} The winches turn. {'Rope is kept dry. ' * 10}")
    hit = (await world.reader.retrieve("crane winch", **ANY))["hits"][0]
    assert [hit["text"][mark["start"] : mark["end"]] for mark in hit["highlights"]] == ["winches"]
    assert "winches" in hit["snippetSafe"]


@pytest.mark.parametrize("query", ["the of", "★", "winch", '"winch"'])
async def test_where_there_is_one_term_or_none_the_answer_is_that_of_all_words(world: World, query: str) -> None:
    await world.add("One", "The winch turns.")
    assert await world.reader.retrieve(query, **ANY) == await world.reader.retrieve(query)


async def test_the_rank_is_bm25_over_what_the_caller_may_read(world: World) -> None:
    texts = {
        "Anchor": "A winch, a winch and a winch; the deep sea.",
        "Hull": "One winch in the deep.",
        "Sea": "A deep sea of rope.",
    }
    for title, text in texts.items():
        await world.add(title, text)
    hits = (await world.reader.retrieve('winch "deep sea" anchor winch', **ANY))["hits"]

    def score(stands: dict[str, int], words: int, named: Sequence[str]) -> float:
        held = {"winch": (2, 2), "deep sea": (2, 1)}  # passages that hold it, times in the question
        total = 0.0
        for term, (passages, times) in held.items():
            weight = times * math.log(1 + (1_000 - passages + 0.5) / (passages + 0.5))
            length = K1 * (1 - B + B * words / USUAL_LENGTH)
            total += weight * stands.get(term, 0) / (stands.get(term, 0) + length)
            total += weight * TITLE_SHARE * (term in named)
        return FIRST_PASSAGE_FACTOR * total

    assert {hit["source"]["title"]: hit["rank"] for hit in hits} == {
        "Anchor": pytest.approx(score({"winch": 3, "deep sea": 1}, 3, []), rel=1e-12),
        "Hull": pytest.approx(score({"winch": 1}, 3, []), rel=1e-12),
        "Sea": pytest.approx(score({"deep sea": 1}, 3, []), rel=1e-12),
    }
    assert [hit["rank"] for hit in hits] == sorted((hit["rank"] for hit in hits), reverse=True)


async def test_ties_are_broken_by_source_id_then_ordinal(world: World) -> None:
    await _imported(world, [(f"Copy {number}", "The winch turns.", False) for number in range(12)])
    hits = (await world.reader.retrieve("winch rust", limit=12, **ANY))["hits"]
    assert len({hit["rank"] for hit in hits}) == 1
    assert ids(hits) == sorted(ids(hits))


# A library of many passages: one word stands in all of them, one in each seventh, some in a few.
SOURCES, PASSAGES_EACH = 100, 10
RARE = [f"rare{number}" for number in range(40)]
QUESTIONS = ["quay seventh rare1 rare2 rare3", "quay seventh", "rare4 rare5 absent", '"quay seventh" rare6 quay quay']


async def _library(world: World) -> list[UUID]:
    """The sources' ids. Every fifth is private."""
    chosen = random.Random(28)  # noqa: S311 not for secrets

    def text(source: int) -> str:
        passages = []
        for passage in range(PASSAGES_EACH):
            words = ["quay"] * chosen.randint(1, 4) + ["rope"] * 140 + chosen.choices(RARE, k=2)
            words += ["seventh"] * ((source * PASSAGES_EACH + passage) % 7 == 0)
            chosen.shuffle(words)
            passages.append(f"# Part {passage}\n\n{' '.join(words)}.\n\n")
        return "".join(passages)

    return await _imported(world, [(f"Log {n} {chosen.choice(RARE)}", text(n), n % 5 == 0) for n in range(SOURCES)])


async def _answers(caller: Caller, **arguments: Any) -> list[dict[str, Any]]:
    return [await caller.retrieve(query, limit=MAX_LIMIT, **ANY, **arguments) for query in QUESTIONS]


async def test_nothing_in_an_answer_depends_on_what_the_caller_may_not_read(world: World) -> None:
    """The answers, ranks included, before and after everything else is deleted: it might never have been."""
    sources = await _library(world)
    few, everybody = world.caller("user:few"), world.caller("user:everybody")
    async with world.services.database.write() as session:
        await grant(session, world.workspace_id, "user:few", Action.SOURCE_READ, sources[5])
        for number, source in enumerate(sources):
            if number % 5:
                await grant(session, world.workspace_id, "user:everybody", Action.SOURCE_READ, source)
    open_before, few_before = await _answers(world.reader), await _answers(few)
    assert [len(answer["hits"]) for answer in open_before] == [MAX_LIMIT] * len(QUESTIONS)
    # By grants alone, or because the Library is open to the caller: two forms of the statement, one answer.
    assert await _answers(everybody) == open_before
    # The same rows by a source list.
    readable = [str(source) for number, source in enumerate(sources) if number % 5]
    assert await _answers(world.reader, ids=readable) == open_before
    assert [answer["hits"] for answer in await _answers(world.nobody)] == [[]] * len(QUESTIONS)

    await _delete(world, [source for number, source in enumerate(sources) if number % 5 == 0 and number != 5])
    assert await _answers(few) == few_before
    await _delete(world, [sources[5]])
    assert await _answers(world.reader) == open_before
    assert {hit["resourceId"] for answer in few_before for hit in answer["hits"]} == {str(sources[5])}


async def _delete(world: World, sources: Sequence[UUID]) -> None:
    for source in sources:
        await world.caller(OWNER).change("deleteSource", "id", id=str(source))
    await world.work()


async def test_the_first_hits_of_a_larger_limit_are_those_of_a_smaller(world: World) -> None:
    await _library(world)
    for query in QUESTIONS:
        most = (await world.reader.retrieve(query, limit=MAX_LIMIT, **ANY))["hits"]
        assert len({hit["chunkId"] for hit in most}) == MAX_LIMIT
        for limit in (1, 3, 10, 27):
            assert (await world.reader.retrieve(query, limit=limit, **ANY))["hits"] == most[:limit]
        all_words = (await world.reader.retrieve(query, limit=MAX_LIMIT))["hits"]
        assert most[: len(all_words)] == all_words


async def test_words_that_bring_in_no_candidates_do_where_places_are_free(world: World) -> None:
    """A pasted page: the words behind the MOST_TERMS weightiest find passages too, and so does the commonest."""
    words = [f"word{number}" for number in range(MOST_TERMS + 8)]
    common = [f"Common {number}" for number in range(6)]
    texts = [(word.title(), f"Only {word}.", False) for word in words] + [
        (title, "The quay.", False) for title in common
    ]
    await _imported(world, texts)
    found = await world.reader.titles(" ".join([*words, "quay"]), limit=MAX_LIMIT, **ANY)
    assert sorted(found) == sorted([word.title() for word in words] + common)[:MAX_LIMIT]
    assert MAX_LIMIT <= ENOUGH <= POOL


@pytest.mark.parametrize("limit", [pytest.param(5, id="places to fill"), pytest.param(50, id="places to spare")])
async def test_a_refused_source_is_not_counted_either(world: World, limit: int) -> None:
    """The authorizer's refusals: the answer is that of a library without the source, ranks included (R12)."""
    notes = [(f"Note {number}", f"A winch on quay {number}.", False) for number in range(6)]
    *_, refused = await _imported(world, [*notes, ("Refused", "A winch, a crane and a winch.", False)])

    async def check(sources: Sequence[UUID]) -> list[bool]:
        return [source != refused for source in sources]

    async def ask() -> Answer:
        request = retrieve_request(query="winch crane", match=MatchMode.ANY_WORD, limit=limit)
        (answer,) = await world.services.retrieval.answers(world.subject("user:reader"), [request], check)
        assert isinstance(answer, Answer)
        return answer

    before = await ask()
    assert len(before.hits) == min(limit, len(notes))
    assert refused not in {hit.source_id for hit in before.hits}
    await _delete(world, [refused])
    assert list((await ask()).hits) == list(before.hits)
