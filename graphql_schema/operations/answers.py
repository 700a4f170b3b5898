"""What an operation answers: the selection of its document, and the JSON Schema of what comes back, from one walk.

All of an answer is selected, objects in objects. What ends it are *entities*, types with an `id`, and *records*, those
entities that a query finds by that id: a source, a knowledge base, a passage.

- An entity is in full where it is what was asked for: as the root field's own type, in a mutation's payload, as a node
  of the root field's page; and, if it is no record, inside of an entity that is in full: the index of a knowledge base.
- Anywhere else an entity is named: by its `id` and its title, name, number or state. One without any of these is left
  out; in a list, which would have nothing else, it has its scalars.
- A page has `nodes` and `pageInfo`. A page inside of a record costs as much as all its nodes, and may be refused to
  who may read the record: it is selected in the answer of that one record alone, and behind a flag, `withVersions`.
- A field that needs arguments is left out, and a type below itself.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from graphql import (
    GraphQLField,
    GraphQLList,
    GraphQLNamedType,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLSchema,
    get_named_type,
    is_leaf_type,
    is_required_argument,
)

from graphql_schema.operations.leaves import leaf_schema, nullable
from graphql_schema.operations.wording import Wording, checked_name

PAGE = ("nodes", "pageInfo")
TITLES = ("title", "name", "number", "state")


@dataclass(frozen=True, slots=True)
class Selected:
    """`text` is the selection set with its braces, empty for a scalar; `flags` the variables that include pages.

    A flag's value is its description.
    """

    text: str
    schema: dict[str, Any]
    flags: dict[str, str]


class Answers:
    """The answers of one schema's root fields."""

    def __init__(self, schema: GraphQLSchema, wording: Wording) -> None:
        fields = (schema.query_type.fields if schema.query_type else {}).values()
        self._records = {get_named_type(each.type) for each in fields if set(each.args) == {"id"}}
        self._wording = wording

    def of_query(self, root: GraphQLField) -> Selected:
        """Raises ValueError for a union or an interface: an answer has one shape, and clients are told which."""
        return self._selected(
            root, _Place(asked_for=True, in_full=True, pages=get_named_type(root.type) in self._records)
        )

    def of_mutation(self, root: GraphQLField) -> Selected:
        """Raises ValueError as `of_query` does."""
        return self._selected(root, _Place(asked_for=True, in_full=True, payload=True))

    def _selected(self, root: GraphQLField, place: "_Place") -> Selected:
        walk = _Walk(self._records, self._wording)
        text, schema = walk.enter(root.type, place)
        return Selected(text, schema, walk.flags)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a type stands. An entity here is `in_full`, and so is a record if it is `asked_for`.

    `payload`: this is a mutation's own type. `pages`: they can be included. `listed`: this is an item of a list.
    """

    asked_for: bool = False
    in_full: bool = False
    payload: bool = False
    pages: bool = False
    listed: bool = False
    above: tuple[GraphQLObjectType, ...] = ()


class _Walk:
    def __init__(self, records: Collection[GraphQLNamedType], wording: Wording) -> None:
        self.flags: dict[str, str] = {}
        self._records = records
        self._wording = wording

    def enter(self, type_: GraphQLOutputType, place: _Place) -> tuple[str, dict[str, Any]]:
        """The selection of a type with its braces, and the schema of its values."""
        if isinstance(type_, GraphQLNonNull):
            return self._non_null(type_.of_type, place)
        text, schema = self._non_null(type_, place)
        return text, nullable(schema)

    def _non_null(self, type_: GraphQLOutputType, place: _Place) -> tuple[str, dict[str, Any]]:
        if isinstance(type_, GraphQLList):
            text, items = self.enter(type_.of_type, place)
            return text, {"type": "array", "items": items}
        if isinstance(type_, GraphQLObjectType):
            return self._object(type_, place)
        if not is_leaf_type(type_):
            raise ValueError(f"{type_} is neither an object nor a scalar: an operation has no form for it")
        return "", leaf_schema(type_, self._wording, explained=False)

    def _object(self, type_: GraphQLObjectType, place: _Place) -> tuple[str, dict[str, Any]]:
        texts: list[str] = []
        properties: dict[str, Any] = {}
        required: list[str] = []
        for name, field in self._fields(type_, place).items():
            text, schema = self.enter(field.type, self._below(type_, place, field))
            properties[checked_name(name)] = schema | {"description": self._wording(field.description)}
            if _is_page(get_named_type(field.type)):
                texts.append(f"{name} @include(if: ${self._flag(name, field)}){text}")
            else:
                texts.append(f"{name}{text}")
                required.append(checked_name(name))
        return f" {{ {' '.join(texts)} }}", {"type": "object", "properties": properties, "required": required}

    def _flag(self, name: str, field: GraphQLField) -> str:
        flag = f"with{name[0].upper()}{name[1:]}"
        self.flags[flag] = f"Also answer `{checked_name(name)}`. {self._wording(field.description)}"
        return flag

    def _below(self, type_: GraphQLObjectType, place: _Place, field: GraphQLField) -> _Place:
        page = _is_page(type_)
        asked_for = place.payload or (page and place.asked_for)
        return _Place(
            asked_for=asked_for,
            in_full=asked_for or (place.in_full if page else _is_entity(type_) and self._is_in_full(type_, place)),
            pages=place.pages and not page,
            listed=_is_list(field.type),
            above=(*place.above, type_),
        )

    def _is_in_full(self, type_: GraphQLNamedType, place: _Place) -> bool:
        if not _is_entity(type_):
            return True
        return place.asked_for or (place.in_full and type_ not in self._records and type_ not in place.above)

    def _fields(self, type_: GraphQLObjectType, place: _Place) -> dict[str, GraphQLField]:
        """The fields that are selected of a type at this place."""
        if _is_page(type_):
            return {name: type_.fields[name] for name in PAGE}
        if not self._is_in_full(type_, place):
            return _title(type_) or _scalars(type_)
        return {name: field for name, field in type_.fields.items() if self._is_selected(type_, place, field)}

    def _is_selected(self, type_: GraphQLObjectType, place: _Place, field: GraphQLField) -> bool:
        inner = get_named_type(field.type)
        if any(is_required_argument(argument) for argument in field.args.values()):
            return False
        if not isinstance(inner, GraphQLObjectType):
            return True
        if _is_page(inner):
            return place.pages
        below = self._below(type_, place, field)
        if inner in below.above:
            return below.listed and not self._is_in_full(inner, below)
        return below.listed or self._is_in_full(inner, below) or bool(_title(inner))


def _title(type_: GraphQLObjectType) -> dict[str, GraphQLField]:
    """What an entity is named by; nothing if it has no such field."""
    title = next((name for name in TITLES if name in type_.fields), None)
    return {} if title is None else {name: type_.fields[name] for name in ("id", title)}


def _scalars(type_: GraphQLObjectType) -> dict[str, GraphQLField]:
    return {name: field for name, field in type_.fields.items() if is_leaf_type(get_named_type(field.type))}


def _is_entity(type_: GraphQLNamedType) -> bool:
    return isinstance(type_, GraphQLObjectType) and "id" in type_.fields


def _is_page(type_: GraphQLNamedType) -> bool:
    return isinstance(type_, GraphQLObjectType) and type_.fields.keys() >= set(PAGE)


def _is_list(type_: GraphQLOutputType) -> bool:
    return isinstance(type_.of_type if isinstance(type_, GraphQLNonNull) else type_, GraphQLList)
