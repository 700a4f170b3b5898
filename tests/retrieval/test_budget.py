"""How many statements an operation takes (SPEC R12, HOUSE: the path of a retrieve)."""

from uuid import uuid4

import pytest

from tests.retrieval.listening import Statements
from tests.world import World

HITS = "hits { chunkId snippetSafe rank text highlights { start } source { title description } }"


async def test_one_retrieve_with_50_hits_and_1000_source_ids_takes_two_statements(
    world: World, heard: Statements
) -> None:
    for number in range(40):
        await world.add(f"Log {number}", f"Rigging of pier {number} was checked.")
    for number in range(12):
        await world.add(f"Rigging list {number}", "Shackles.")
    base = await world.knowledge_base(*world.sources)
    ids = [*world.sources.values(), *(str(uuid4()) for _ in range(1_000 - len(world.sources)))]
    heard.clear()
    found = await world.reader.ask(
        "query ($kb: ID, $ids: [ID!]) { retrieve(knowledgeBaseId: $kb, query: "
        f'"rigging", limit: 50, sourceIds: $ids) {{ index {{ state }} {HITS} }} }}',
        kb=base,
        ids=ids,
    )
    assert len(found["retrieve"]["hits"]) == 50
    # where to search and how large it is, which are remembered; the search, with the sources; the read checks
    assert len(heard) == 4, heard
    heard.clear()
    again = await world.reader.ask(
        f'query ($kb: ID) {{ retrieve(knowledgeBaseId: $kb, query: "shackles", limit: 50) {{ {HITS} }} }}', kb=base
    )
    assert len(again["retrieve"]["hits"]) == 12
    assert len(heard) == 2, heard


@pytest.mark.parametrize(("aliases", "statements"), [(1, 4), (10, 13)])
async def test_aliases_share_all_but_their_searches(
    world: World, heard: Statements, aliases: int, statements: int
) -> None:
    await world.add("Log", "Rigging was checked.")
    base = await world.knowledge_base("Log")
    heard.clear()
    fields = [
        f'a{n}: retrieve(knowledgeBaseId: "{base}", query: "rigging", limit: {n + 1}) {{ {HITS} }}'
        for n in range(aliases)
    ]
    found = await world.reader.ask(f"{{ {' '.join(fields)} }}")
    assert [len(answer["hits"]) for answer in found.values()] == [1] * aliases
    assert len(heard) == statements, heard


async def test_equal_questions_of_one_operation_are_asked_once(world: World, heard: Statements) -> None:
    await world.add("Log", "Rigging was checked.")
    heard.clear()
    question = 'retrieve(query: "rigging") { hits { chunkId } }'
    found = await world.reader.ask(f"{{ a: {question} b: {question} }}")
    assert found["a"] == found["b"]
    assert len(heard) == 4, heard
