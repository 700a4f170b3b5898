"""The schema's descriptions, for clients that know its fields by other names; and the limits that they state."""

import re
from collections.abc import Mapping
from typing import Any

from graphql import GraphQLInputObjectType, GraphQLInterfaceType, GraphQLObjectType, GraphQLSchema

from app.operations import to_camel, to_snake

_QUOTED = re.compile(r"`([a-z][A-Za-z0-9]*)`")
_NUMBER = r"([0-9][0-9,]*)"
# A limit is told where people read it, in the description, which is made from the constant that is enforced.
_RANGE = re.compile(rf"\bfrom {_NUMBER} to {_NUMBER}\b")
_LENGTH = re.compile(rf"(?<!with ){_NUMBER} to {_NUMBER} characters")
_LONGEST = re.compile(rf"\b[Aa]t most {_NUMBER} characters")
_MOST_ITEMS = re.compile(rf"\b[Aa]t most {_NUMBER} ids\b")


class Wording:
    """Descriptions with each name in backquotes as the client knows it: an operation's, or in snake_case.

    A name that a root field shares with another field, `source` or `text`, stays as it is.
    """

    def __init__(self, operation_names: Mapping[str, str], schema: GraphQLSchema) -> None:
        roots = {schema.query_type, schema.mutation_type, schema.subscription_type}
        shared = {
            name
            for type_ in schema.type_map.values()
            if isinstance(type_, GraphQLObjectType | GraphQLInterfaceType | GraphQLInputObjectType)
            if type_ not in roots
            for name in type_.fields
        }
        self._operations = {name: operation for name, operation in operation_names.items() if name not in shared}

    def __call__(self, description: str | None) -> str:
        def reworded(match: re.Match[str]) -> str:
            return f"`{self._operations.get(match[1]) or to_snake(match[1])}`"

        return _QUOTED.sub(reworded, description or "")


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
