"""What an operation answers: the selection of its document, and the JSON Schema of what comes back, from one walk.

All fields of the root field's type are selected, objects in objects, with these bounds:

- A *record* is a type that a query finds by its id: a source, a knowledge base. It is selected in full as the root
  field's own answer, in a mutation's payload and as a node of the root field's page; anywhere else only its `id` and
  its `title` or `name`.
- A page has `nodes` and `pageInfo`. A page inside of a record costs as much as all its nodes, and may be refused to
  who may read the record: it is selected in the answer of the one record alone, and behind a flag, `withVersions`.
- A type is not entered again below itself, nor a field that needs arguments.
"""

from collections.abc import Collection, Iterator
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
TITLES = ("title", "name")


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
        return self._selected(root, _Place(in_full=True, pages=get_named_type(root.type) in self._records))

    def of_mutation(self, root: GraphQLField) -> Selected:
        """Raises ValueError as `of_query` does."""
        return self._selected(root, _Place(in_full=True, payload=True))

    def _selected(self, root: GraphQLField, place: "_Place") -> Selected:
        walk = _Walk(self._records, self._wording)
        text, schema = walk.enter(root.type, place)
        return Selected(text, schema, walk.flags)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a type stands.

    A record here is selected `in_full`, or only named; `payload` is a mutation's own type; `pages` can be asked for.
    """

    in_full: bool = False
    payload: bool = False
    pages: bool = False
    above: tuple[GraphQLObjectType, ...] = ()

    def below(self, type_: GraphQLObjectType) -> "_Place":
        in_full = self.payload or (self.in_full and _is_page(type_))
        return _Place(in_full, pages=self.pages and not _is_page(type_), above=(*self.above, type_))


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
        for name, field in self._fields(type_, place):
            text, schema = self.enter(field.type, place.below(type_))
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

    def _fields(self, type_: GraphQLObjectType, place: _Place) -> Iterator[tuple[str, GraphQLField]]:
        """The fields that are selected at this place."""
        fields = type_.fields
        if type_ in self._records and not place.in_full:
            fields = {name: fields[name] for name in ("id", *_title(type_))}
        elif _is_page(type_):
            fields = {name: fields[name] for name in PAGE}
        for name, field in fields.items():
            inner = get_named_type(field.type)
            if any(is_required_argument(argument) for argument in field.args.values()):
                continue
            if inner in (*place.above, type_) or (_is_page(inner) and not place.pages):
                continue
            yield name, field


def _title(type_: GraphQLObjectType) -> list[str]:
    return [name for name in TITLES if name in type_.fields][:1]


def _is_page(type_: GraphQLNamedType) -> bool:
    return isinstance(type_, GraphQLObjectType) and type_.fields.keys() >= set(PAGE)
