"""Operations: made from the schema alone, exact both ways, and each runs within the limits."""

import json
from pathlib import Path
from typing import Any

import pytest
from graphql import build_schema
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # mcp brings it, without types

from app.errors import InvalidInput
from app.operations import Operation, find_operation, operations, search_operations, to_camel, to_snake
from app.retrieval.request import DEFAULT_LIMIT, MAX_LIMIT, MAX_QUERY_CHARACTERS, MAX_SOURCE_IDS
from app.settings import Settings
from graphql_schema.limits import Documents
from graphql_schema.operations import OPERATIONS_FILE, describe_operations, operations_json
from graphql_schema.schema import schema
from graphql_schema.types.connections import DEFAULT_FIRST, MAX_FIRST
from tests.world import Caller, World

ALL = list(operations().values())


def test_the_committed_operations_are_those_of_the_schema() -> None:
    made = operations_json(build_schema(schema.as_str()))
    assert OPERATIONS_FILE.read_text() == made, "run: python -m graphql_schema.schema"


def test_every_root_field_is_an_operation_and_no_subscription_is() -> None:
    core = schema._schema
    assert core.query_type is not None
    assert core.mutation_type is not None
    assert [each.field for each in ALL] == [*core.query_type.fields, *core.mutation_type.fields]
    assert {each.field for each in ALL if each.kind == "write"} == set(core.mutation_type.fields)


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ("retrieve", "library.retrieve"),
        ("explainRetrieval", "library.explain_retrieval"),
        ("addSource", "library.add_source"),
        ("setSourceAvailability", "library.set_source_availability"),
        ("viewer", "access.viewer"),
        ("grantAccess", "access.grant_access"),
        ("knowledgeBases", "knowledge_base.knowledge_bases"),
        ("addKnowledgeBaseSources", "knowledge_base.add_knowledge_base_sources"),
        ("refreshIndex", "knowledge_base.refresh_index"),
    ],
)
def test_a_name_follows_from_the_field(field: str, name: str) -> None:
    assert find_operation(name).field == field
    assert to_camel(name.partition(".")[2]) == field


def test_what_retrieve_takes() -> None:
    takes = find_operation("library.retrieve").input_schema
    assert takes["required"] == ["query"]
    assert takes["additionalProperties"] is False
    facts = {
        name: {key: value for key, value in each.items() if key != "description"}
        for name, each in takes["properties"].items()
    }
    assert facts == {
        "query": {"type": "string", "minLength": 1, "maxLength": MAX_QUERY_CHARACTERS},
        "knowledge_base_id": {"type": ["string", "null"]},
        "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
        "source_ids": {"type": ["array", "null"], "items": {"type": "string"}, "maxItems": MAX_SOURCE_IDS},
        "match": {"type": "string", "enum": ["ALL_WORDS", "ANY_WORD"], "default": "ALL_WORDS"},
    }
    assert "knowledge base's index" in takes["properties"]["knowledge_base_id"]["description"]
    assert "ANY_WORD: First the whole ALL_WORDS answer" in takes["properties"]["match"]["description"]


def test_the_input_of_a_mutation_is_the_body() -> None:
    takes = find_operation("library.add_source").input_schema
    assert (list(takes["properties"]), takes["required"]) == (
        ["title", "description", "private", "file"],
        ["title", "file"],
    )
    assert takes["properties"]["private"]["default"] is False
    assert takes["properties"]["description"]["default"] is None
    file = takes["properties"]["file"]
    assert (list(file["properties"]), file["required"]) == (
        ["name", "media_type", "text", "base64"],
        ["name", "media_type"],
    )
    assert file["additionalProperties"] is False
    assert (
        find_operation("knowledge_base.create_knowledge_base").input_schema["properties"]["source_ids"]["default"] == []
    )


def test_limits_are_those_that_are_enforced_and_a_length_of_a_part_is_none_of_the_whole() -> None:
    first = find_operation("library.sources").input_schema["properties"]["first"]
    assert (first["minimum"], first["maximum"], first["default"]) == (1, MAX_FIRST, DEFAULT_FIRST)
    title = find_operation("library.add_source").input_schema["properties"]["title"]
    assert (title["minLength"], title["maxLength"]) == (1, 500)
    subject = find_operation("access.grant_access").input_schema["properties"]["subject"]
    assert "maxLength" not in subject  # "with 1 to 200 characters behind the colon"


def test_descriptions_speak_of_what_the_client_knows() -> None:
    text = OPERATIONS_FILE.read_text()
    assert "Send it to `library.retrieve` as `knowledge_base_id`." in text
    assert "`resource_id` of its hits" in text
    assert "`knowledgeBaseId`" not in text
    assert "(with `indexState` and `remedy`)" in text  # an error's entries, which are shown as they came


def test_the_selection_is_whole_and_does_not_return_to_where_it_was() -> None:
    document = find_operation("library.retrieve").document
    hit = (
        "chunkId resourceId resourceVersionId ordinal textHash rank text snippetSafe "
        "snippet { text highlights { start end } } highlights { start end } source { id title } version { id number }"
    )
    assert document.endswith(f"{{ hits {{ {hit} }} index {{ id state }} notice }} }}")
    source = find_operation("library.source").document
    assert "versions @include(if: $withVersions) { nodes { id number fileName" in source
    assert "} pageInfo { hasNextPage endCursor } }" in source
    assert "@include" not in find_operation("library.sources").document
    passage = find_operation("library.passage").document
    assert "context { id ordinal text textHash }" in passage
    base = find_operation("knowledge_base.knowledge_base").document
    assert "sources @include(if: $withSources) { nodes { id title } pageInfo" in base
    assert "index { id state generation progress" in base


@pytest.mark.parametrize("operation", ALL, ids=lambda each: each.name)
def test_a_document_is_valid_and_within_the_limits_at_its_largest(operation: Operation) -> None:
    settings = Settings()
    prepared = Documents(schema._schema, settings).operation(operation.document, None)
    sizes = {"limit": MAX_LIMIT, "first": MAX_FIRST}
    prepared.cost.check(sizes, settings.max_query_cost)


@pytest.mark.parametrize("operation", ALL, ids=lambda each: each.name)
def test_schemas_are_json_schema_and_names_come_back(operation: Operation) -> None:
    Draft202012Validator.check_schema(dict(operation.input_schema))
    Draft202012Validator.check_schema(dict(operation.output_schema))
    assert operation.description
    assert all(each["description"] for each in operation.input_schema["properties"].values())
    for name in (*operation.input_schema["properties"], *operation.output_schema["properties"]):
        assert to_snake(to_camel(name)) == name


def test_a_new_root_field_is_an_operation_with_no_further_code() -> None:
    sdl = """
    type Query { shelfMark(sourceId: ID!, style: Style! = SHORT, extra: JSON): Mark, any: JSON }
    enum Style { "Few words." SHORT "All words." LONG }
    scalar JSON
    type Mark { text: String! parts: [Part!]! } type Part { at: Int mark: Mark! part: Part raw: JSON }
    type Mutation { renameIndexes(names: [String!]!): Int! }
    """
    made = [Operation(**each) for each in describe_operations(build_schema(sdl))]
    assert [each.name for each in made] == ["library.shelf_mark", "library.any", "knowledge_base.rename_indexes"]
    mark, _, rename = made
    assert mark.document == (
        "query shelfMark($sourceId: ID!, $style: Style, $extra: JSON) "
        "{ shelfMark(sourceId: $sourceId, style: $style, extra: $extra) { text parts { at raw } } }"
    )
    assert rename.document == "mutation renameIndexes($names: [String!]!) { renameIndexes(names: $names) }"
    free = {"own_Name": {"other_one": 1}}
    assert mark.variables({"source_id": "a", "extra": free}) == {"sourceId": "a", "extra": free}
    answer = {"shelfMark": {"text": "t", "parts": [{"at": None, "raw": {"camelCase": 1}}]}}
    assert mark.answer(answer) == {"text": "t", "parts": [{"at": None, "raw": {"camelCase": 1}}]}


@pytest.mark.parametrize(
    ("sdl", "why"),
    [
        ("type Query { read_it: Int }", "read_it becomes read_it, and that readIt"),
        ("type Query { one: Both } union Both = A | B type A { a: Int } type B { b: Int }", "Both is neither"),
        ("type Query { any(aB: Int, a_b: Int): Int }", "a_b becomes a_b, and that aB"),
    ],
)
def test_what_has_no_form_is_said_when_the_file_is_made(sdl: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        describe_operations(build_schema(sdl))


@pytest.mark.parametrize(
    ("name", "body", "argument", "part"),
    [
        (
            "library.retrieve",
            {"query": "a", "knowledge_base": "b"},
            "knowledge_base",
            "Did you mean knowledge_base_id?",
        ),
        (
            "library.retrieve",
            {"query": "a", "knowledgeBaseId": "b"},
            "knowledgeBaseId",
            "Did you mean knowledge_base_id",
        ),
        ("library.retrieve", {}, "query", "is required"),
        ("library.add_source", {"title": "a", "file": {"name": "a"}}, "file.media_type", "is required"),
        (
            "library.add_source",
            {"title": "a", "file": {"name": "a", "media_type": "b", "x": 1}},
            "file.x",
            "not a field",
        ),
        ("access.viewer", {"id": 1}, "id", "is not a field here."),
    ],
)
def test_a_name_that_graphql_would_pass_over_is_refused(
    name: str, body: dict[str, Any], argument: str, part: str
) -> None:
    with pytest.raises(InvalidInput, match=part) as refused:
        find_operation(name).variables(body)
    assert refused.value.argument == argument


def test_search_finds_by_name_description_and_field() -> None:
    assert search_operations("retrieve passages")[0].name == "library.retrieve"
    assert search_operations("why is a source not among the hits")[0].name == "library.explain_retrieval"
    assert search_operations("refresh indexes")[0].name == "knowledge_base.refresh_index"
    assert search_operations("revoke")[0].name == "access.revoke_access"
    assert search_operations("zebra") == []
    assert len(search_operations(" ")) == len(ALL)


async def run(caller: Caller, name: str, /, **body: Any) -> Any:
    """The answer of an operation, which must be what its output_schema says."""
    operation = find_operation(name)
    response = (await caller.post(operation.document, operation.variables(body))).json()
    assert "errors" not in response, response
    answer = operation.answer(response["data"])
    errors = [error.message for error in Draft202012Validator(dict(operation.output_schema)).iter_errors(answer)]
    assert errors == []
    return answer


async def test_operations_run_and_answer_as_their_schemas_say(world: World) -> None:
    manager = world.manager
    file = {"name": "rig.md", "media_type": "text/markdown", "text": "Harbor rigging needs care."}
    added = await run(manager, "library.add_source", title="Rigging", file=file)
    source = added["source"]
    assert (source["title"], source["private"], added["version"]["media_type"]) == ("Rigging", False, "text/markdown")
    made = await run(manager, "knowledge_base.create_knowledge_base", name="Base", source_ids=[source["id"]])
    base = made["knowledge_base"]
    assert (base["auto_refresh"], base["index"]) == (True, None)
    await run(manager, "knowledge_base.rebuild_index", knowledge_base_id=base["id"])
    await world.work()
    found = await run(world.reader, "library.retrieve", knowledge_base_id=base["id"], query="harbor rigging")
    assert list(found) == ["hits", "index", "notice"]
    assert [(hit["resource_id"], hit["source"]) for hit in found["hits"]] == [
        (source["id"], {"id": source["id"], "title": "Rigging"})
    ]
    assert await run(world.reader, "library.retrieve", query="harbor", source_ids=[]) == {
        "hits": [],
        "index": None,
        "notice": None,
    }
    await run(manager, "access.grant_access", subject="user:x", action="SOURCE_READ", source_id=source["id"])
    seen = await run(manager, "library.source", id=source["id"], with_versions=True, with_grants=True)
    assert [grant["subject"] for grant in seen["grants"]["nodes"]] == ["user:x"]
    assert "grants" not in await run(world.reader, "library.source", id=source["id"], with_versions=True)
    kept = await run(manager, "knowledge_base.knowledge_base", id=base["id"], with_sources=True, with_failures=True)
    assert kept["sources"]["nodes"] == [{"id": source["id"], "title": "Rigging"}]
    assert kept["index"]["failures"]["nodes"] == []
    unchanged = await run(manager, "library.update_source", id=source["id"], private=True)
    assert (unchanged["source"]["title"], unchanged["source"]["private"]) == ("Rigging", True)
    await run(manager, "library.explain_retrieval", query="harbor", source_id=source["id"])
    await run(manager, "library.sources", query="rigging")
    await run(manager, "knowledge_base.knowledge_bases")
    assert (await run(manager, "access.viewer"))["subject"] == "user:manager"


def test_the_file_is_read_where_it_is_installed() -> None:
    assert json.loads(Path(OPERATIONS_FILE).read_text())[0]["name"] == ALL[0].name
