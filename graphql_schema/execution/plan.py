"""A plan: which parts of an operation are only read, and how."""

from collections.abc import Callable
from typing import Any, TypeAlias

from graphql import (
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLResolveInfo,
    GraphQLSchema,
    is_leaf_type,
)
from graphql.execution.collect_fields import CollectedFields, FieldDetails

from graphql_schema.execution.readers import PlainField, Reader, getter, leaf_reader, list_reader, object_reader
from graphql_schema.execution.resolvers import Resolvers
from graphql_schema.execution.straight import Straight

Fields: TypeAlias = dict[str, list[FieldDetails]]
Collect: TypeAlias = Callable[[GraphQLObjectType, list[FieldDetails]], CollectedFields]


class Plan:
    """What all requests share that run one operation under the same conditions. Filled as values are met.

    What graphql-core collects is known by its identity, so it is kept: `_collected` by its type and fields, and in it
    every list and dictionary whose id is a key below.

    `straight`: how the operation runs without an executor; None until a value of its field was met, and where it can't.
    """

    def __init__(self, schema: GraphQLSchema, resolvers: Resolvers) -> None:
        self.straight: Straight | None = None
        self._looked = False
        self._schema = schema
        self._resolvers = resolvers
        self._root: Fields | None = None
        self._collected: dict[tuple[int, int], CollectedFields] = {}
        self._readers: dict[tuple[int, int], Reader | None] = {}
        self._halves: dict[int, tuple[list[PlainField], Fields]] = {}

    def root(self, fields: Fields) -> Fields:
        """The root's fields, as they were collected the first time."""
        if self._root is None:
            self._root = fields
        return self._root

    def look(self, info: GraphQLResolveInfo[Any], read: Reader | None) -> None:
        """Look once whether the operation runs without an executor. `info` and `read` are those of a field of the root.

        Not one of several fields, which run side by side.
        """
        if self._looked:
            return
        self._looked = True
        field = self._schema.get_field(info.parent_type, info.field_name)
        resolve = None if field is None else self._resolvers.shorter(field)
        if field and resolve and read and len(self._root or ()) == 1:
            self.straight = Straight.of(info, field, resolve, read)

    def collected(self, type_: GraphQLObjectType, details: list[FieldDetails], collect: Collect) -> CollectedFields:
        """What stands below a field: collected once."""
        key = (id(type_), id(details))
        found = self._collected.get(key)
        if found is None:
            found = self._collected[key] = collect(type_, details)
        return found

    def reader(self, type_: GraphQLOutputType, details: list[FieldDetails], collect: Collect) -> Reader | None:
        """What reads values of this type; None when a part of them takes more than reading."""
        key = (id(type_), id(details))
        if key not in self._readers:
            try:
                self._readers[key] = self._made(type_, details, collect, required=False)
            except Exception:  # a condition below that cannot be decided: graphql-core says so, in its place
                self._readers[key] = None
        return self._readers[key]

    def halves(self, parent: GraphQLObjectType, fields: Fields, collect: Collect) -> tuple[list[PlainField], Fields]:
        """The fields of a selection that are only read, and the others."""
        found = self._halves.get(id(fields))
        if found is None:
            plain: list[PlainField] = []
            others: Fields = {}
            for key, details in fields.items():
                field = self._plain(parent, key, details, collect)
                if field is None:
                    others[key] = details
                else:
                    plain.append(field)
            found = self._halves[id(fields)] = (plain, others)
        return found

    def _plain(
        self, parent: GraphQLObjectType, key: str, details: list[FieldDetails], collect: Collect
    ) -> PlainField | None:
        name = details[0].node.name.value
        if name == "__typename":
            return PlainField(key, lambda _: parent.name, list)
        field = self._schema.get_field(parent, name)
        get = None if field is None else getter(field)
        read = None if field is None or get is None else self.reader(field.type, details, collect)
        return None if get is None or read is None else PlainField(key, get, read)

    def _made(
        self, type_: GraphQLOutputType, details: list[FieldDetails], collect: Collect, *, required: bool
    ) -> Reader | None:
        if isinstance(type_, GraphQLNonNull):
            return self._made(type_.of_type, details, collect, required=True)
        if isinstance(type_, GraphQLList):
            item = self._made(type_.of_type, details, collect, required=False)
            return None if item is None else list_reader(item, required=required)
        if is_leaf_type(type_):
            return leaf_reader(type_, required=required)
        if not isinstance(type_, GraphQLObjectType) or type_.is_type_of is not None:
            return None
        plain, others = self.halves(type_, collect(type_, details).grouped_field_set, collect)
        return None if others else object_reader(plain, required=required)
