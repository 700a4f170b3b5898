"""Variables and arguments reach a resolver as graphql-core and strawberry would have them, the shorter way too."""

import enum
import json
from typing import Annotated, Any

import pytest
import strawberry
from graphql import ExecutionResult, GraphQLObjectType

from app.settings import Settings
from graphql_schema.execution import Execution
from graphql_schema.execution.resolvers import shorter
from graphql_schema.limits import Documents
from graphql_schema.schema import schema


@strawberry.enum
class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@strawberry.input
class Shape:
    sides: int = 3


@strawberry.type
class Query:
    @strawberry.field
    async def told(
        self,
        info: strawberry.Info[str, None],
        text: str = "none",
        whole: int = 7,
        part: Annotated[float | None, strawberry.argument(name="fraction")] = None,
        yes: bool | None = strawberry.UNSET,
        some_id: strawberry.ID | None = strawberry.UNSET,
        colour: Colour = Colour.RED,
        colours: list[Colour] | None = None,
        words: list[str] = ["a"],  # noqa: B006 what strawberry copies
        gaps: list[str | None] | None = None,
    ) -> str:
        words.append("mine")
        return repr((info.context, info.field_name, text, whole, part, yes, some_id, colour, colours, words, gaps))

    @strawberry.field
    async def shaped(self, shape: Shape) -> str:
        return repr(shape)

    @strawberry.field
    async def parental(self, given: strawberry.Parent[object], text: str) -> str:
        return f"{given} {text}"


SCHEMA = strawberry.Schema(query=Query)
DOCUMENTS = Documents(SCHEMA._schema, Settings())
FAST, PLAIN = Execution(SCHEMA, fast=True), Execution(SCHEMA, fast=False)

TYPES = {
    "text": ("String!", "String", 'String! = "default"'),
    "whole": ("Int!", "Int! = 5"),
    "fraction": ("Float!", "Float", "Float = 0.5"),
    "yes": ("Boolean!", "Boolean", "Boolean = true"),
    "someId": ("ID!", "ID"),
    "colour": ("Colour!", "Colour! = BLUE"),
    "colours": ("[Colour!]", "[Colour!]! = [BLUE, RED]"),
    "words": ("[String!]!", "[String!]"),
}
VALUES = (None, "", "a", "\ud800", 0, 1, -(2**31), 2**31, 2**70, 0.5, 1.0, 1e308, float("inf"), True, False)
VALUES += ("RED", "red", [], ["RED"], ["a", "b"], [None], {}, {"a": 1})  # type: ignore[assignment]  # of any type


async def _told(execution: Execution, text: str, variables: dict[str, Any]) -> str:
    running = execution.run(DOCUMENTS.operation(text, None), "the context", variables)
    result = running if isinstance(running, ExecutionResult) else await running
    errors = [
        (error.message, error.path, [tuple(place) for place in error.locations or []]) for error in result.errors or []
    ]
    return json.dumps({"data": result.data, "errors": errors}, default=repr)


@pytest.mark.parametrize(("name", "type_"), [(name, type_) for name, types in TYPES.items() for type_ in types])
async def test_a_variable_is_coerced_alike(name: str, type_: str) -> None:
    text = f"query ($it: {type_}) {{ told({name}: $it) }}"
    wrong = right = 0
    for variables in ({}, {}, *({"it": value} for value in VALUES)):
        first, again = await _told(FAST, text, variables), await _told(FAST, text, variables)
        plain = await _told(PLAIN, text, variables)
        assert first == again == plain, variables
        wrong += '"data": null' in plain
        right += '"errors": []' in plain
    assert wrong
    assert right


async def test_arguments_in_the_document_are_alike() -> None:
    for arguments in (
        "",
        '(text: "x", whole: 1, fraction: 2.5, yes: null, someId: 3, colour: BLUE, colours: [RED], words: ["b", "c"])',
        "(colours: RED, words: [])",
        "(fraction: null, colours: null)",
    ):
        text = f'{{ one: told{arguments} two: told{arguments} shaped(shape: {{}}) parental(text: "x") }}'
        fast = await _told(FAST, text, {})
        assert fast == await _told(PLAIN, text, {})
        assert "mine" in fast
        assert "'mine', 'mine'" not in fast  # a default is nobody's to change


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "(whole: 1, fraction: 2.5, colour: BLUE)",
        '(text: $it, words: ["b"])',
        '(words: ["b", $it])',
        '(gaps: ["b", $it])',
    ],
)
async def test_arguments_of_an_only_field_are_alike(arguments: str) -> None:
    asked = 'query ($it: String! = "d")' if "$it" in arguments else "query"
    text = f"{asked} {{ told{arguments} }}"
    for variables in ({}, {"it": "given"}, {}):
        told = [await _told(execution, text, variables) for execution in (FAST, FAST, PLAIN)]
        assert told[0] == told[1] == told[2]
        assert "'mine'" in told[0]
        assert "'mine', 'mine'" not in told[0]


def test_which_resolvers_are_called_the_shorter_way() -> None:
    """All that have arguments of plain types; an input object is strawberry's to make."""

    def left(of: strawberry.Schema, type_: str) -> set[str]:
        object_ = of._schema.type_map[type_]
        assert isinstance(object_, GraphQLObjectType)
        return {name for name, field in object_.fields.items() if shorter(field, of.config) is None}

    assert left(SCHEMA, "Query") == {"shaped", "parental"}
    assert left(schema, "Query") == set()
    assert "addSource" in left(schema, "Mutation")
