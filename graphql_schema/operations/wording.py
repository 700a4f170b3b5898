"""The schema's descriptions, for clients that know its fields by other names; and the limits that they state."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from graphql import GraphQLInputObjectType, GraphQLObjectType, GraphQLSchema

from app.operations import to_camel, to_snake

_QUOTED = re.compile(r"`([a-z][A-Za-z0-9]*)`")
_NUMBER = r"([0-9][0-9,]*)"
# A limit is told where people read it, in the description, which is made from the constant that is enforced.
_RANGE = re.compile(rf"\bfrom {_NUMBER} to {_NUMBER}\b")
_LENGTH = re.compile(rf"(?<!with ){_NUMBER} to {_NUMBER} characters")
_LONGEST = re.compile(rf"\b[Aa]t most {_NUMBER} characters")
_MOST_ITEMS = re.compile(rf"\b[Aa]t most {_NUMBER} ids\b")

AS_GRAPHQL_HAS_THEM = frozenset({"indexState", "requestId"})  # entries of an error, which clients are shown as it came


class Wording:
    """Descriptions with each name in backquotes as the client knows it: an operation's, or in snake_case.

    A name that a root field shares with another field, `source` or `text`, is the other's; one that no field and no
    argument has stays as it is.
    """

    def __init__(self, operation_names: Mapping[str, str], schema: GraphQLSchema) -> None:
        self._operations = operation_names
        self._fields = set(_field_names(schema)) - AS_GRAPHQL_HAS_THEM

    def __call__(self, description: str | None) -> str:
        return _QUOTED.sub(lambda match: f"`{self._known_as(match[1])}`", description or "")

    def _known_as(self, name: str) -> str:
        return to_snake(name) if name in self._fields else self._operations.get(name, name)


def _field_names(schema: GraphQLSchema) -> Iterator[str]:
    """The names of fields and arguments, but for those of the root fields themselves."""
    roots = {schema.query_type, schema.mutation_type, schema.subscription_type}
    for type_ in schema.type_map.values():
        if isinstance(type_, GraphQLInputObjectType):
            yield from type_.fields
        elif isinstance(type_, GraphQLObjectType):
            yield from (argument for field in type_.fields.values() for argument in field.args)
            yield from type_.fields if type_ not in roots else ()


def checked_name(name: str) -> str:
    """The name in snake_case. Raises ValueError for one that does not come back from there as it was."""
    snake = to_snake(name)
    if to_camel(snake) != name:
        raise ValueError(f"{name} becomes {snake}, and that {to_camel(snake)}")
    return snake


def limits(json_type: str, description: str | None) -> dict[str, Any]:
    """The limits that a description states, in the words of JSON Schema."""
    text = description or ""
    if json_type in {"integer", "number"} and (found := _RANGE.search(text)):
        return {"minimum": _whole(found[1]), "maximum": _whole(found[2])}
    if json_type == "string" and (found := _LENGTH.search(text)):
        return {"minLength": _whole(found[1]), "maxLength": _whole(found[2])}
    if json_type == "string" and (found := _LONGEST.search(text)):
        return {"maxLength": _whole(found[1])}
    if json_type == "array" and (found := _MOST_ITEMS.search(text)):
        return {"maxItems": _whole(found[1])}
    return {}


def _whole(digits: str) -> int:
    return int(digits.replace(",", ""))
