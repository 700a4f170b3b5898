"""Why a source is, or is not, among the hits (SPEC R27, R4), over HTTP."""

from typing import Any

import pytest

from tests.world import Caller, RefusedError, World

EXPLAIN = """
query E($kb: ID, $query: String!, $source: ID!, $limit: Int! = 10, $ids: [ID!], $match: MatchMode) {
  explainRetrieval(
    knowledgeBaseId: $kb, query: $query, sourceId: $source, limit: $limit, sourceIds: $ids, match: $match
  ) {
    found place step smallestLimit summary
    gates {
      name outcome sentence indexState remedy missing place
      nearestPassage { ordinal missing } searchedVersion { id number } newestVersion { id number status }
    }
  }
}
"""
GATES = [
    "INDEX_READY",
    "MEMBER",
    "LIFECYCLE",
    "AVAILABILITY",
    "FILE_KEPT",
    "TEXT",
    "SOURCE_LIST",
    "READABLE",
    "CONTENT_MATCH",
    "TITLE_MATCH",
    "ANY_WORD_MATCH",
    "WITHIN_LIMIT",
]
LETTER = {"PASSED": "p", "FAILED": "F", "NOT_REACHED": "-"}


async def explain(caller: Caller, query: str, source: str, kb: str | None = None, **arguments: Any) -> dict[str, Any]:
    """The explanation, its gates by name, and its outcomes as a row of letters; it agrees with `retrieve`."""
    explanation: dict[str, Any] = (await caller.ask(EXPLAIN, query=query, source=source, kb=kb, **arguments))[
        "explainRetrieval"
    ]
    gates = explanation["gates"]
    assert [gate["name"] for gate in gates] == GATES
    row = "".join(LETTER[gate["outcome"]] for gate in gates)
    return explanation | {"gates": {gate["name"]: gate for gate in gates}, "row": row}


def sentence(explanation: dict[str, Any], gate: str) -> str:
    said: str = explanation["gates"][gate]["sentence"]
    return said


async def test_a_source_that_is_found_passes_every_gate(world: World) -> None:
    await world.add("Rigging", "Ropes.")
    source = await world.add("Crane book", "Rigging is checked.")
    base = await world.knowledge_base("Crane book", "Rigging")
    told = await explain(world.reader, "rigging", source, base)
    assert (told["row"], told["found"], told["place"], told["step"], told["smallestLimit"]) == (
        "ppppppppp--p",
        True,
        1,
        "CONTENT",
        1,
    )
    assert told["summary"] == "Found at place 1, by its text."
    told = await explain(world.reader, "rigging", world.sources["Rigging"], base)
    assert (told["row"], told["found"], told["place"], told["step"], told["smallestLimit"]) == (
        "ppppppppFp-p",
        True,
        2,
        "TITLE",
        2,
    )
    assert told["summary"] == "Found at place 2, by its title and description."
    assert sentence(told, "TITLE_MATCH") == "The question is its whole title. It stands at place 1 of the title hits."


@pytest.mark.parametrize(
    ("prepare", "state", "remedy"),
    [("nothing", None, "REBUILD"), ("asked for", "BUILDING", "WAIT"), ("stale", "STALE", "REFRESH")],
)
async def test_an_index_that_is_not_ready_is_a_failed_gate(
    world: World, prepare: str, state: str | None, remedy: str
) -> None:
    source = await world.add("One", "One.")
    if prepare == "stale":
        base = await world.knowledge_base(auto_refresh=False)
        await world.manager.change(
            "addKnowledgeBaseSources", "knowledgeBase { id }", knowledgeBaseId=base, sourceIds=[source]
        )
    else:
        base = (await world.manager.change("createKnowledgeBase", "knowledgeBase { id }", name="B"))["knowledgeBase"][
            "id"
        ]
    if prepare == "asked for":
        await world.manager.change("rebuildIndex", "index { id }", knowledgeBaseId=base)
    told = await explain(world.reader, "one", source, base)
    gate = told["gates"]["INDEX_READY"]
    assert (told["row"], gate["indexState"], gate["remedy"]) == ("F-----------", state, remedy)
    assert (told["found"], told["place"], told["step"], told["smallestLimit"]) == (False, None, None, None)
    assert told["summary"] == f"Not found. {gate['sentence']}"
    await world.work()


async def test_membership_tells_what_is_missing(world: World) -> None:
    source = await world.add("Outside", "One.")
    base = await world.knowledge_base()
    told = await explain(world.reader, "one", source, base)
    assert (told["row"], sentence(told, "MEMBER")) == (
        "pF----------",
        "The knowledge base does not hold the source. Add it with addKnowledgeBaseSources.",
    )


async def test_a_source_that_was_never_read_is_no_member(world: World) -> None:
    added = await world.manager.change(
        "addSource",
        "source { id }",
        title="Broken",
        file={"name": "a.pdf", "mediaType": "application/pdf", "base64": "JVBERi0xLjcK"},
    )
    told = await explain(world.reader, "broken", added["source"]["id"])
    assert told["row"] == "pF----------"
    assert sentence(told, "MEMBER").startswith(
        "No version of the source can be searched yet. Version 1 could not be read: "
    )
    assert told["gates"]["MEMBER"]["searchedVersion"] is None
    assert told["gates"]["MEMBER"]["newestVersion"]["status"] == "FAILED"


async def test_the_searched_version_is_told_from_the_newest(world: World) -> None:
    source = await world.add("Two", "One.")
    base = await world.knowledge_base("Two")
    told = await explain(world.reader, "one", source, base)
    assert sentence(told, "MEMBER") == "It is searched at version 1, its newest."
    file = {"name": "a.pdf", "mediaType": "application/pdf", "base64": "JVBERi0xLjcK"}
    await world.manager.change("addSourceVersion", "version { id }", sourceId=source, file=file)
    told = await explain(world.reader, "one", source, base)
    member = told["gates"]["MEMBER"]
    assert told["found"]
    assert (member["searchedVersion"]["number"], member["newestVersion"]["number"]) == (1, 2)
    assert member["sentence"].startswith(
        "It is searched at version 1, though version 2 is newer. Version 2 could not be read: "
    )


async def test_each_condition_of_admission_is_a_gate(world: World) -> None:
    source = await world.add("One", "Ropes and wires.")
    base = await world.knowledge_base("One")
    manager = world.manager
    told = await explain(manager, "ropes", source, base, ids=[])
    assert (told["row"], sentence(told, "SOURCE_LIST")) == (
        "ppppppF-----",
        "A source list was sent, and the source is not in it.",
    )
    assert (await explain(manager, "ropes", source, base, ids=[source]))["found"]

    await manager.change("setSourceAvailability", "source { id }", id=source, availability="UNAVAILABLE")
    told = await explain(manager, "ropes", source, base)
    assert (told["row"], told["summary"]) == (
        "pppF--------",
        "Not found. The source is UNAVAILABLE. Who manages it can change that with setSourceAvailability.",
    )
    await manager.change("setSourceAvailability", "source { id }", id=source, availability="AVAILABLE")

    version = told["gates"]["MEMBER"]["searchedVersion"]["id"]
    await manager.change("discardStoredFile", "version { id }", sourceVersionId=version)
    told = await explain(manager, "ropes", source, base)
    assert (told["row"], sentence(told, "FILE_KEPT")) == (
        "ppppF-------",
        "The stored file of version 1 was discarded. Add the file as a new version.",
    )

    await manager.change("deleteSource", "id", id=source)
    told = await explain(manager, "ropes", source, base)
    assert (told["row"], sentence(told, "LIFECYCLE")) == ("ppF---------", "The source is being deleted.")
    await world.work()
    with pytest.raises(RefusedError) as refused:
        await explain(manager, "ropes", source)
    assert refused.value.code == "NOT_FOUND"


async def test_a_source_without_text_says_so(world: World) -> None:
    source = await world.add("Empty form", " \n ")
    told = await explain(world.reader, "empty form", source)
    assert (told["row"], sentence(told, "TEXT")) == (
        "pppppF------",
        "Version 1 has no text that could be read, so neither search finds it.",
    )


async def test_details_without_content_fail_at_the_right_to_read(world: World) -> None:
    source = await world.add("Merger memo", "Northquay buys Southquay.", private=True)
    await world.grant("user:clerk", "source.details", source)
    clerk = world.caller("user:clerk")
    told = await explain(clerk, "northquay", source)
    assert (told["row"], told["found"]) == ("pppppppF----", False)
    assert "You may see its details but not read it." in told["summary"]
    assert await clerk.titles("northquay") == []
    await world.grant("user:clerk", "source.content", source)
    assert (await explain(clerk, "northquay", source))["found"]


@pytest.mark.parametrize("who", ["reader", "nobody"])
async def test_who_may_not_see_the_details_learns_nothing(world: World, who: str) -> None:
    source = await world.add("Merger memo", "Northquay buys Southquay.", private=True)
    caller: Caller = getattr(world, who)
    base = await world.knowledge_base("Merger memo")
    answers = []
    for asked in (source, "0190a4e8-7c1d-7d3a-9a55-3f0c2b1e4d5f"):
        for kb in (None, base):
            response = await caller.post(EXPLAIN, {"query": "northquay", "source": asked, "kb": kb})
            answers.append(response.json())
    assert answers[0]["errors"][0]["extensions"] == {"code": "NOT_FOUND", "retryable": False}
    assert all(answer == answers[0] for answer in answers)


async def test_an_unknown_knowledge_base_and_bad_input_are_refused(world: World) -> None:
    source = await world.add("One", "One.")
    for arguments, code in (
        ({"kb": "0190a4e8-7c1d-7d3a-9a55-3f0c2b1e4d5f"}, "NOT_FOUND"),
        ({"kb": "nonsense"}, "INVALID_INPUT"),
        ({"limit": 51}, "INVALID_INPUT"),
        ({"source": "nonsense"}, "INVALID_INPUT"),
    ):
        with pytest.raises(RefusedError) as refused:
            await world.reader.ask(EXPLAIN, **{"query": "one", "source": source} | arguments)
        assert refused.value.code == code


async def test_the_words_that_are_missing_are_named_as_they_were_typed(world: World) -> None:
    source = await world.add("Yard book", "Ropes are spliced. Wires are greased.", "What the yard does")
    told = await explain(
        world.reader, "Rope the Rigging Budget_2026-Q3.xlsx “are greased” “are spliced wire” yards", source
    )
    content, title = told["gates"]["CONTENT_MATCH"], told["gates"]["TITLE_MATCH"]
    assert (told["row"], told["found"], told["step"]) == ("ppppppppFF--", False, None)
    assert content["missing"] == ["Rigging", "Budget_2026-Q3.xlsx", "yards"]
    assert title["missing"] == ["Rope", "Rigging", "Budget_2026-Q3.xlsx", '"are greased"', '"are spliced wire"']
    assert content["nearestPassage"] == {"ordinal": 0, "missing": content["missing"]}
    assert content["sentence"] == "No passage of it holds “Rigging”, “Budget_2026-Q3.xlsx” or “yards”."
    assert title["sentence"].endswith('“Budget_2026-Q3.xlsx”, "are greased" and "are spliced wire".')
    assert told["summary"] == f"Not found. {content['sentence']} {title['sentence']}"


async def test_words_that_never_stand_together_name_the_nearest_passage(world: World) -> None:
    source = await world.add("Yard book", "Ropes and oars. " + "Tar. " * 400 + "Old wires.")
    told = await explain(world.reader, "ropes oars wires", source)
    content = told["gates"]["CONTENT_MATCH"]
    assert (content["missing"], content["nearestPassage"]) == ([], {"ordinal": 0, "missing": ["wires"]})
    assert content["sentence"] == (
        "Its text holds every word, but not all in one passage: passage 0, the nearest, lacks “wires”."
    )


async def test_a_question_without_words_can_only_be_a_title(world: World) -> None:
    source = await world.add("The Who", "A band.")
    other = await world.add("Bands", "A list.")
    told = await explain(world.reader, "the who", source)
    assert (told["row"], told["found"], told["gates"]["TITLE_MATCH"]["missing"]) == ("ppppppppFp-p", True, None)
    told = await explain(world.reader, "the who", other)
    assert told["summary"] == (
        "Not found. The question has no word that could stand in a text. The question is not its whole title."
    )


async def test_a_source_that_is_crowded_out_is_told_its_limit_and_private_hits_never_count(world: World) -> None:
    for n in range(4):
        await world.add(f"Book {n}", "Rigging, rigging, rigging.")
    last = await world.add("Yard book", "In the yard the rigging of each old ship is burnt on Fridays.")
    titled = await world.add("Rigging catalogue", "Shackles and wires.")
    before = [await explain(world.reader, "rigging", source, limit=2) for source in (last, titled)]
    assert [(told["found"], told["place"], told["smallestLimit"], told["row"]) for told in before] == [
        (False, 5, 5, "ppppppppp--F"),
        (False, 6, 6, "ppppppppFp-F"),
    ]
    assert [told["gates"]["WITHIN_LIMIT"]["place"] for told in before] == [5, 6]
    assert (before[0]["gates"]["CONTENT_MATCH"]["place"], before[1]["gates"]["TITLE_MATCH"]["place"]) == (5, 1)
    assert before[0]["summary"] == (
        "Not found, though its text matches. It stands at place 5, and the limit is 2: a limit of 5 would show it."
    )
    for n in range(5):
        await world.add(f"Secret rigging {n}", "Rigging, rigging, rigging, rigging.", private=True)
    assert [await explain(world.reader, "rigging", source, limit=2) for source in (last, titled)] == before
    assert (await explain(world.manager, "rigging", last, limit=2))["place"] == 10


async def test_a_place_behind_the_largest_limit_is_counted_and_no_limit_is_promised(world: World) -> None:
    await world.add("Long book", "\n\n".join(f"# {n}\n\n" + "Rigging rope. " * 90 for n in range(60)))
    source = await world.add("Yard book", "Tar. " * 400 + "In the yard the rigging of each old ship is burnt.")
    told = await explain(world.reader, "rigging", source, limit=50)
    assert (told["found"], told["smallestLimit"], told["step"]) == (False, None, "CONTENT")
    assert told["place"] > 50
    assert told["gates"]["WITHIN_LIMIT"]["sentence"] == (
        f"It stands at place {told['place']}, and the limit is 50: not even 50, the largest, would show it. "
        "Ask with more of its words, or send a source list."
    )
    assert (await explain(world.reader, "rigging", source, ids=[source]))["place"] == 1


async def test_with_any_word_a_third_search_is_a_gate(world: World) -> None:
    some = await world.add("Yard book", "Ropes are spliced in the yard.")
    none = await world.add("Menu", "Soup and bread.")
    full = await world.add("Crane book", "Ropes hold cranes.")
    told = [await explain(world.reader, "ropes cranes", source, match="ANY_WORD") for source in (full, some, none)]
    assert [(one["row"], one["found"], one["place"], one["step"]) for one in told] == [
        ("ppppppppp--p", True, 1, "CONTENT"),
        ("ppppppppFFpp", True, 2, "ANY_WORD"),
        ("ppppppppFFF-", False, None, None),
    ]
    assert (told[1]["summary"], told[1]["gates"]["ANY_WORD_MATCH"]["place"]) == (
        "Found at place 2, by some of the words.",
        1,
    )
    assert told[2]["summary"].endswith("No passage of it holds any word of the question.")
    crowded = await explain(world.reader, "ropes cranes", some, match="ANY_WORD", limit=1)
    assert (crowded["row"], crowded["smallestLimit"]) == ("ppppppppFFpF", 2)
    assert crowded["summary"].startswith("Not found, though some of the words match. It stands at place 2")
    told_all = await explain(world.reader, "ropes cranes", some)
    assert (told_all["row"], sentence(told_all, "ANY_WORD_MATCH")) == (
        "ppppppppFF--",
        "Not asked: that takes `match: ANY_WORD` and a question of several words.",
    )
