"""The examples of the document that the product came from, over HTTP (SPEC R5, R7, R8, R9, R12)."""

import pytest

from tests.world import RefusedError, World

RIGGING = "Harbor rigging inspection schedules"
FLIGHTS = "Flights, hotels and daily allowances are paid against receipts."


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("rigging", id="a word of the title"),
        pytest.param(RIGGING, id="the full title"),
        pytest.param("quarterly", id="a word of the description"),
        pytest.param('"every quarterly check"', id="a phrase of the description"),
    ],
)
async def test_a_source_is_found_by_its_name_and_description(world: World, query: str) -> None:
    source_id = await world.add(RIGGING, "Cranes, shackles and wires are looked at.", "Dates of every quarterly check")
    base = await world.knowledge_base(RIGGING)
    hit = (await world.reader.retrieve(query, base))["hits"][0]
    assert (hit["resourceId"], hit["ordinal"], hit["snippetSafe"]) == (
        source_id,
        0,
        "Cranes, shackles and wires are looked at.",
    )
    assert await world.reader.titles(query) == [RIGGING]


async def test_a_policy_that_never_says_its_name_is_found_by_it(world: World) -> None:
    await world.add("Travel policy 2026", FLIGHTS)
    base = await world.knowledge_base("Travel policy 2026")
    assert await world.reader.hits("travel policy", base) == [("Travel policy 2026", 0)]
    assert await world.reader.hits("allowance", base) == [("Travel policy 2026", 0)]


async def test_a_readable_source_outside_of_the_knowledge_base_gets_no_hit_there(world: World) -> None:
    await world.add("Inside", "The quay is swept on Mondays.")
    await world.add(RIGGING, "Cranes and wires.")
    base = await world.knowledge_base("Inside")
    assert await world.reader.hits("rigging", base) == []
    assert await world.reader.hits("cranes", base) == []
    assert await world.reader.hits("rigging") == [(RIGGING, 0)]
    assert await world.reader.hits("cranes") == [(RIGGING, 0)]


async def test_a_private_source_gives_an_outsider_nothing_and_its_owner_the_hit(world: World) -> None:
    await world.grant("user:grace", "library.manage")
    await world.add("Merger memo", "Northquay buys Southquay.", private=True, by=world.caller("user:grace"))
    await world.add("Other", "Southquay is a port.")
    base = await world.manager.change("createKnowledgeBase", "knowledgeBase { id }", name="B")
    base_id = base["knowledgeBase"]["id"]
    grace = world.caller("user:grace")
    await grace.change(
        "addKnowledgeBaseSources", "knowledgeBase { id }", knowledgeBaseId=base_id,
        sourceIds=[world.sources["Merger memo"]],
    )  # fmt: skip
    await grace.change("rebuildIndex", "index { id }", knowledgeBaseId=base_id)
    await world.work()
    for query in ("merger memo", "southquay"):
        assert await world.reader.hits(query, base_id) == []
        assert await grace.hits(query, base_id) == [("Merger memo", 0)]


async def test_title_hits_only_fill_the_places_that_content_leaves_free(world: World) -> None:
    await world.add("Crane book", "Rigging is checked. Rigging is logged.")
    await world.add("Yard book", "Old rigging is burnt.")
    await world.add("Rigging catalogue", "Shackles and wires.")
    base = await world.knowledge_base("Crane book", "Yard book", "Rigging catalogue")
    assert await world.reader.hits("rigging", base, limit=2) == [("Crane book", 0), ("Yard book", 0)]
    assert await world.reader.hits("rigging", base, limit=10) == [
        ("Crane book", 0),
        ("Yard book", 0),
        ("Rigging catalogue", 0),
    ]


async def test_a_source_with_a_content_hit_is_not_listed_again_for_its_title(world: World) -> None:
    await world.add("Rigging", "Rigging is checked.")
    assert await world.reader.hits("rigging") == [("Rigging", 0)]


async def test_a_source_without_text_is_not_found_by_its_title(world: World) -> None:
    await world.add("Empty form", " \n ")
    assert await world.reader.hits("empty form") == []


@pytest.mark.parametrize(
    ("prepare", "state", "remedy"),
    [("nothing", None, "REBUILD"), ("asked for", "BUILDING", "WAIT"), ("stale", "STALE", "REFRESH")],
)
async def test_an_index_that_is_not_ready_is_refused_with_its_remedy(
    world: World, prepare: str, state: str | None, remedy: str
) -> None:
    await world.add("One", "One.")
    if prepare == "stale":
        base = await world.knowledge_base(auto_refresh=False)
        await world.manager.change(
            "addKnowledgeBaseSources", "knowledgeBase { id }", knowledgeBaseId=base, sourceIds=[world.sources["One"]]
        )
    else:
        made = await world.manager.change("createKnowledgeBase", "knowledgeBase { id }", name="B")
        base = made["knowledgeBase"]["id"]
    if prepare == "asked for":
        await world.manager.change("rebuildIndex", "index { id }", knowledgeBaseId=base)
    with pytest.raises(RefusedError) as refused:
        await world.reader.retrieve("one", base)
    assert refused.value.extensions == {
        "code": "INDEX_NOT_READY",
        "retryable": False,
        "indexState": state,
        "remedy": remedy,
    }
    await world.work()
