"""What a question may be, and in which order it is answered, over HTTP (R5, R8, R13, R14)."""

import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from sqlalchemy import text

from app.services import Services
from app.settings import Settings
from graphql_schema.asgi import create
from tests.retrieval.asking import Case, added
from tests.serving import serving
from tests.world import Caller, RefusedError, World


async def refused(caller: Caller, **arguments: Any) -> dict[str, Any]:
    """The error's extensions; nothing else was answered."""
    with pytest.raises(RefusedError) as error:
        await caller.retrieve(**{"query": "quay"} | arguments)
    assert len(error.value.errors) == 1
    return {**error.value.extensions, "message": error.value.errors[0]["message"]}


@pytest_asyncio.fixture(scope="module")
async def quay(services: Services, server: str) -> AsyncIterator[World]:
    """One workspace with one source, for all that is only read."""
    async with World.made(services, server) as made:
        await made.add("Quay", "quay")
        yield made


# the limit


@pytest.mark.parametrize("limit", [0, -1, 51, 100, -2147483648])
async def test_r13_a_limit_outside_of_1_to_50_is_refused_with_the_range(quay: World, limit: int) -> None:
    assert await refused(quay.reader, limit=limit) == {
        "code": "INVALID_INPUT",
        "retryable": False,
        "argument": "limit",
        "message": f"limit: must be from 1 to 50, not {limit}.",
    }


@pytest.mark.parametrize("limit", [2147483648, -2147483649, 1.5, "10", True, "ten", None, [], 1e400])
async def test_r13_a_limit_that_is_no_whole_number_is_refused(quay: World, limit: object) -> None:
    response = await quay.client.post(
        f"{quay.address}/graphql",
        content=json.dumps({"query": QUERY, "variables": {"limit": limit}}).replace("Infinity", "1e400"),
        headers={"authorization": f"Bearer {quay.reader.token}", "content-type": "application/json"},
    )
    answer = response.json()
    assert answer.get("data") is None
    assert answer["errors"][0]["extensions"]["code"] == "INVALID_INPUT"


QUERY = 'query R($limit: Int! = 10) { retrieve(query: "quay", limit: $limit) { hits { chunkId } } }'


@pytest.mark.parametrize("limit", ["0", "51", "2147483648", "1.5", '"10"', "null", "99999999999999999999"])
async def test_r13_a_limit_written_into_the_operation_is_held_to_the_same(world: World, limit: str) -> None:
    with pytest.raises(RefusedError) as error:
        await world.reader.ask(f'{{ retrieve(query: "quay", limit: {limit}) {{ hits {{ chunkId }} }} }}')
    assert error.value.code == "INVALID_INPUT"


async def test_r13_the_limit_is_10_unless_given_and_counts_hits(world: World) -> None:
    await added(world, [Case("", "quay", title=f"Q{n}") for n in range(12)])
    assert [len(await world.reader.hits("quay", limit=n)) for n in (1, 2, 11, 12, 50)] == [1, 2, 11, 12, 12]
    assert len(await world.reader.hits("quay")) == 10


# the query


REFUSED_QUERIES = {
    "empty": "",
    "white space": " \t\r\n\u00a0\u3000\u2028\x1f\x85",
    "1,001 characters": "x" * 1_001,
    "1,001 characters that are half as many words": "a " * 500 + "a",
    "NUL": "ab\x00c",
    "NUL alone": "\x00",
}


@pytest.mark.parametrize("query", [pytest.param(query, id=name) for name, query in REFUSED_QUERIES.items()])
async def test_r13_a_query_that_is_none_is_refused(quay: World, query: str) -> None:
    error = await refused(quay.reader, query=query)
    assert (error["code"], error["argument"], error["retryable"]) == ("INVALID_INPUT", "query", False)


@pytest.mark.parametrize("half", [r"ab\ud83d", r"\udca9", r"\udca9\ud83d", r"\ud83d\ud83d"])
async def test_r13_half_of_a_surrogate_pair_is_refused(world: World, half: str) -> None:
    for body in (
        f'{{"query": "query R($q: String!) {{ retrieve(query: $q) {{ notice }} }}", "variables": {{"q": "{half}"}}}}',
        json.dumps({"query": f'{{ retrieve(query: "{half}") {{ notice }} }}'}),
    ):
        response = await world.client.post(
            f"{world.address}/graphql",
            content=body,
            headers={"authorization": f"Bearer {world.reader.token}", "content-type": "application/json"},
        )
        answer = response.json()
        assert answer.get("data") is None
        assert answer["errors"][0]["extensions"]["code"] == "INVALID_INPUT"


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("x" * 1_000, id="one word"),
        pytest.param("a1 " * 333 + "a", id="words"),
        pytest.param(" \n" * 500 + "quay" + " \n" * 500, id="trimmed"),
        pytest.param("🚀" * 1_000, id="code points, not bytes or UTF-16 units"),
        pytest.param("a-" * 499 + "aa", id="one word of 500 parts"),
        pytest.param('"' + "the b " * 166 + '"', id="a phrase with stop words"),
        pytest.param("﷽" * 1_000, id="characters that stand for many"),
        pytest.param("⒜" * 999 + "b", id="characters that are stop words"),
        pytest.param("\u0301" * 1_000, id="accents"),
        pytest.param("q\u0301" * 500, id="letters with accents"),
        pytest.param("\U0010ffff\ue000\ufffe\ufdd0" * 250, id="characters that are none"),
    ],
)
async def test_r13_a_query_of_1000_characters_after_trimming_is_answered(quay: World, query: str) -> None:
    assert await quay.reader.titles(query) == (["Quay"] if "quay" in query else [])


# the source list


async def test_r13_source_ids_of_1000_are_answered_and_one_more_is_refused(world: World) -> None:
    source = await world.add("Quay", "quay")
    others = [str(uuid.uuid4()) for _ in range(1_000)]
    assert await world.reader.titles("quay", ids=[*others[1:], source]) == ["Quay"]
    assert await world.reader.titles("quay", ids=[*others[1:], *others[1:], source, source.upper(), source]) == ["Quay"]
    assert await world.reader.titles("quay", ids=others) == []
    error = await refused(world.reader, ids=[*others, source])
    assert (error["code"], error["argument"]) == ("INVALID_INPUT", "sourceIds")
    assert error["message"] == "sourceIds: must hold at most 1,000 ids, not 1,001."


async def test_r7_an_empty_source_list_admits_nothing_and_none_at_all_admits_everything(world: World) -> None:
    source = await world.add("Quay", "quay")
    base = await world.knowledge_base("Quay")
    for kb in (None, base):
        assert await world.reader.titles("quay", kb, ids=[]) == []
        assert await world.reader.titles("quay", kb, ids=None) == ["Quay"]
        assert await world.reader.titles("quay", kb, ids=[source]) == ["Quay"]
        assert await world.reader.titles("quay", kb, ids=[str(uuid.uuid4())]) == []


@pytest.mark.parametrize(
    "bad",
    [
        *("", " ", "undefined", "27", "null", "x" * 36, "{0190a4e8-7c1d-7d3a-9a55-3f0c2b1e4d5f}", "\x00", "🚀"),
        *("0190a4e87c1d7d3a9a553f0c2b1e4d5f", "urn:uuid:0190a4e8-7c1d-7d3a-9a55-3f0c2b1e4d5f"),
        *("0190a4e8-7c1d-7d3a-9a55-3f0c2b1e4d5", "0190a4e8-7c1d-7d3a-9a55-3f0c2b1e4d5f ", "'; --"),
        *("０190a4e8-7c1d-7d3a-9a55-3f0c2b1e4d5f", "0190a4e8-7c1d-7d3a-9a55-3f0c2b1e4d_f"),
    ],
)
async def test_r13_an_id_that_is_no_id_is_refused(quay: World, bad: str) -> None:
    source = quay.sources["Quay"]
    for arguments, argument in (({"ids": [source, bad]}, "sourceIds"), ({"kb": bad}, "knowledgeBaseId")):
        error = await refused(quay.reader, **arguments)
        assert (error["code"], error["argument"], error["retryable"]) == ("INVALID_INPUT", argument, False)


# order


async def test_r8_the_first_hits_of_a_larger_limit_are_those_of_a_smaller(world: World) -> None:
    await added(world, [Case("", f"quay {'wall ' * (n % 4)}", title=f"Quay {n}") for n in range(9)])
    await added(world, [Case("", "nothing", title=f"Quay title {n}") for n in range(5)])
    base = await world.knowledge_base()
    await world.manager.change(
        "addKnowledgeBaseSources", "knowledgeBase { id }", knowledgeBaseId=base,
        sourceIds=[hit["resourceId"] for hit in (await world.reader.retrieve("quay", limit=50))["hits"]],
    )  # fmt: skip
    await world.work()
    for kb in (None, base):
        all_hits = (await world.reader.retrieve("quay", kb, limit=50))["hits"]
        assert len(all_hits) == 14
        for limit in (1, 2, 9, 10, 13):
            assert (await world.reader.retrieve("quay", kb, limit=limit))["hits"] == all_hits[:limit]


async def test_r8_ties_are_broken_by_source_then_ordinal(world: World) -> None:
    sources = await added(world, [Case("", "an equal quay", title=f"T{n}") for n in range(8)])
    part = " ".join(f"word{n}" for n in range(140))
    await world.add("Parts", "\n\n".join(f"# Part\n\nquay {part}" for _ in range(4)))
    hits = (await world.reader.retrieve("equal", limit=50))["hits"]
    assert [hit["resourceId"] for hit in hits] == sorted(sources)
    assert len({hit["rank"] for hit in hits}) == 1
    parts = (await world.reader.retrieve("part", limit=50))["hits"]
    assert [hit["ordinal"] for hit in parts] == [0, 1, 2, 3]


async def test_r8_the_same_text_in_two_sources_is_two_hits_with_one_hash(world: World) -> None:
    sources = await added(world, [Case("", "A quay of stone.", title="One"), Case("", "A quay of stone.", title="Two")])
    hits = (await world.reader.retrieve("stone"))["hits"]
    assert [hit["resourceId"] for hit in hits] == sources
    assert len({hit["textHash"] for hit in hits}) == 1
    assert len({hit["chunkId"] for hit in hits}) == 2


async def test_r8_one_source_may_fill_the_list(world: World) -> None:
    part = " ".join(f"word{n}" for n in range(140))
    await world.add("Many", "\n\n".join(f"# Part {n}\n\nquay {part}" for n in range(60)))
    await world.add("Few", f"A quay among many other words: {part[:900]}")
    hits = await world.reader.hits("quay", limit=50)
    assert len(hits) == 50
    assert len(set(hits)) == 50
    assert {title for title, _ in hits} == {"Many", "Few"}


# load


async def test_r22_a_search_that_takes_too_long_is_an_error_worth_a_retry(world: World, settings: Settings) -> None:
    await world.add("Quay", "quay")
    impatient = settings.model_copy(update={"statement_timeout_ms": 200})
    async with serving(create(impatient)) as address, world.services.database.engine.begin() as other:
        caller = Caller(world.client, address, world.reader.token)
        assert await caller.titles("quay") == ["Quay"]
        await other.execute(text("LOCK TABLE passages IN ACCESS EXCLUSIVE MODE"))
        error = await refused(caller)
    assert (error["code"], error["retryable"]) == ("TIMEOUT", True)


async def test_r8_a_question_asked_often_is_planned_each_time(world: World) -> None:
    """PostgreSQL makes one plan for all parameters after five runs, unless it is told not to."""
    async with world.services.database.engine.connect() as connection:
        assert await connection.scalar(text("SHOW plan_cache_mode")) == "force_custom_plan"
