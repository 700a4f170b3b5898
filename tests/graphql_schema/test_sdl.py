"""What the schema promises to those who read it and generate code from it (SPEC section 6)."""

from collections.abc import Iterator

import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNamedType,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLOutputType,
    build_schema,
    get_named_type,
)

from graphql_schema.schema import SDL_FILE
from tests.graphql_schema.changes import RELEASED_FILE, report

SDL = SDL_FILE.read_text()
SCHEMA = build_schema(SDL)
TYPES = [type_ for name, type_ in SCHEMA.type_map.items() if not name.startswith("__")]

# Lists that cannot grow without end: what bounds each.
BOUNDED = {
    "Retrieval.hits": "limit, at most 50",
    "RetrievalExplanation.gates": "there are twelve",
    "RetrievalGate.missing": "the words of one query",
    "NearestPassage.missing": "the words of one query",
    "Hit.highlights": "the words of one passage",
    "Snippet.highlights": "the words of 300 characters",
    "Passage.context": "limit, at most 21",
    "Viewer.groups": "the token",
    "Viewer.actions": "the enum's values",
}


def described(type_: GraphQLNamedType) -> Iterator[tuple[str, str | None]]:
    """Whatever of a type may have a description: its name and that."""
    yield type_.name, type_.description
    if isinstance(type_, GraphQLEnumType):
        for name, value in type_.values.items():
            yield f"{type_.name}.{name}", value.description
    elif isinstance(type_, GraphQLInputObjectType):
        for name, input_field in type_.fields.items():
            yield f"{type_.name}.{name}", input_field.description
    elif isinstance(type_, GraphQLObjectType):
        for name, field in type_.fields.items():
            yield f"{type_.name}.{name}", field.description
            for argument_name, argument in field.args.items():
                yield f"{type_.name}.{name}({argument_name})", argument.description


BUILT_IN = {"String", "Int", "Float", "Boolean", "ID"}


def test_everything_is_described() -> None:
    bare = [
        name
        for type_ in TYPES
        if type_.name not in BUILT_IN
        for name, description in described(type_)
        if not (description or "").strip()
    ]
    assert bare == []


def test_descriptions_are_sentences() -> None:
    fragments = [
        (name, description)
        for type_ in TYPES
        if type_.name not in BUILT_IN
        for name, description in described(type_)
        if description and (description[0].islower() or description.rstrip()[-1] not in ".:")
    ]
    assert fragments == []


def fields() -> Iterator[tuple[str, GraphQLOutputType]]:
    for type_ in TYPES:
        if isinstance(type_, GraphQLObjectType):
            yield from ((f"{type_.name}.{name}", field.type) for name, field in type_.fields.items())


def test_a_list_that_can_grow_is_a_connection() -> None:
    lists = {name for name, type_ in fields() if isinstance(_nullable(type_), GraphQLList)}
    growing = {name for name in lists if not name.split(".")[0].endswith("Connection")}
    assert growing == set(BOUNDED)


def test_a_connection_is_paged_by_first_and_after() -> None:
    for type_ in TYPES:
        for name, field in (type_.fields if isinstance(type_, GraphQLObjectType) else {}).items():
            if get_named_type(field.type).name.endswith("Connection"):
                assert {"first", "after"} <= set(field.args), f"{type_.name}.{name}"
    connections = [t for t in TYPES if isinstance(t, GraphQLObjectType) and t.name.endswith("Connection")]
    assert connections
    for connection in connections:
        assert {name: str(field.type) for name, field in connection.fields.items()} == {
            "edges": f"[{connection.name.removesuffix('Connection')}Edge!]!",
            "nodes": f"[{connection.name.removesuffix('Connection')}!]!",
            "pageInfo": "PageInfo!",
        }


def test_a_mutation_has_one_input_and_a_payload_of_its_own() -> None:
    assert SCHEMA.mutation_type is not None
    for name, field in SCHEMA.mutation_type.fields.items():
        title = name[0].upper() + name[1:]
        assert {argument: str(value.type) for argument, value in field.args.items()} == {"input": f"{title}Input!"}
        assert str(field.type) == f"{title}Payload!"


def test_ids_are_ids() -> None:
    """Whatever is an id, or a list of ids, has the type ID."""
    for name, type_ in fields():
        last = name.rsplit(".", 1)[1]
        assert (get_named_type(type_).name == "ID") == (last == "id" or last.endswith(("Id", "Ids"))), name


def _nullable(type_: GraphQLOutputType) -> GraphQLOutputType:
    return type_.of_type if isinstance(type_, GraphQLNonNull) else type_


def test_no_client_of_the_released_schema_breaks() -> None:
    breaking, dangerous, _ = report(RELEASED_FILE.read_text(), SDL)
    assert breaking == [], (
        f"Clients would break. Dangerous beside that: {dangerous}. If it must be (docs/schema.md): "
        "python -m tests.graphql_schema.changes --release"
    )


@pytest.mark.parametrize(
    ("old", "new", "breaking", "dangerous", "safe"),
    [
        (
            "type Query { a: Int b: Int }",
            "type Query { a: Int }",
            ["FIELD_REMOVED: Field Query.b was removed."],
            [],
            [],
        ),
        (
            "type Query { a: E } enum E { X }",
            "type Query { a: E } enum E { X Y }",
            [],
            ["VALUE_ADDED_TO_ENUM: Enum value E.Y was added."],
            [],
        ),
        ("type Query { a: Int }", "type Query { a: Int b: Int }", [], [], ["FIELD_ADDED: Field Query.b was added."]),
        ("type Query { a: Int }", '"Described." type Query { a: Int }', [], [], []),
    ],
)
def test_changes_are_told_apart(old: str, new: str, breaking: list[str], dangerous: list[str], safe: list[str]) -> None:
    assert report(old, new) == (breaking, dangerous, safe)
