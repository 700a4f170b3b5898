"""Readers: from a column of values to a column of what the answer shows of them.

A reader that meets anything but good values raises, whatever the exception: then graphql-core does the value over.
"""

import inspect
from collections.abc import Callable, Sequence
from math import isfinite
from operator import attrgetter
from types import CoroutineType, NoneType
from typing import Any, NamedTuple, TypeAlias

from graphql import (
    GraphQLBoolean,
    GraphQLField,
    GraphQLFloat,
    GraphQLID,
    GraphQLInt,
    GraphQLLeafType,
    GraphQLString,
)
from graphql.pyutils import Undefined
from strawberry.execution import optimized_is_awaitable
from strawberry.schema.schema_converter import GraphQLCoreConverter
from strawberry.types.field import StrawberryField

Column: TypeAlias = list[Any]
Reader: TypeAlias = Callable[[Column], Column]

# What these scalars return as it is: values of exactly this type, and within these bounds.
UNCHANGED: dict[GraphQLLeafType, type] = {
    GraphQLString: str,
    GraphQLID: str,
    GraphQLBoolean: bool,
    GraphQLInt: int,
    GraphQLFloat: float,
}
WITHIN: dict[GraphQLLeafType, Callable[[Any], bool]] = {
    GraphQLInt: range(-(2**31), 2**31).__contains__,
    GraphQLFloat: isfinite,
}


class Unread(Exception):  # no error of anyone's
    """A value that is left to graphql-core."""


class PlainField(NamedTuple):
    """A field that is only read: its key in the answer, how its value is got from an object, how a column is read."""

    key: str
    get: Callable[[Any], Any]
    read: Reader


def getter(field: GraphQLField) -> Callable[[Any], Any] | None:
    """How strawberry gets a field's value when that is an attribute, or a method without arguments; else None."""
    definition = field.extensions.get(GraphQLCoreConverter.DEFINITION_BACKREF)
    if type(definition) is not StrawberryField or definition.extensions:
        return None
    if definition.is_basic_field:
        return attrgetter(definition.python_name) if definition.default_resolver is getattr else None
    method = definition.base_resolver and definition.base_resolver.wrapped_func
    if not inspect.isfunction(method) or inspect.iscoroutinefunction(method) or definition.is_async:
        return None
    return _called(method) if list(inspect.signature(method).parameters) == ["self"] else None


def _called(method: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def get(source: Any) -> Any:
        value = method(source)
        if isinstance(value, CoroutineType):
            value.close()  # graphql-core will call the method again, and await that
            raise Unread
        return value

    return get


def leaf_reader(type_: GraphQLLeafType, *, required: bool) -> Reader:
    coerce = type_.coerce_output_value
    unchanged = {UNCHANGED[type_]} if type_ in UNCHANGED else set()
    unchanged |= {NoneType} if unchanged and not required else set()
    within = WITHIN.get(type_)

    def leaf(value: Any) -> Any:
        if value is None and not required:
            return None
        if value is None or value is Undefined or isinstance(value, Exception) or optimized_is_awaitable(value):
            raise Unread
        coerced = coerce(value)
        if coerced is None or coerced is Undefined:
            raise Unread
        return coerced

    def read(column: Column) -> Column:
        if unchanged.issuperset(map(type, column)) and (
            within is None or all(map(within, column if required else [v for v in column if v is not None]))
        ):
            return column
        return list(map(leaf, column))

    return read


def list_reader(items: Reader, *, required: bool) -> Reader:
    def one(value: Any) -> Column | None:
        if type(value) is list or type(value) is tuple:
            return items(list(value))  # a copy: the answer holds no list of anyone else's
        if value is None and not required:
            return None
        raise Unread

    return lambda column: list(map(one, column))


def object_reader(fields: Sequence[PlainField], *, required: bool) -> Reader:
    made = _maker([field.key for field in fields]) if fields else None
    objects: set[type] = set()  # types whose instances are neither errors nor awaitable

    def vet(value: Any) -> None:
        if value is None or value is Undefined or isinstance(value, Exception) or optimized_is_awaitable(value):
            raise Unread
        objects.add(type(value))

    def read(column: Column) -> Column:
        types = set(map(type, column))
        if NoneType in types and not required:
            found = iter(read([value for value in column if value is not None]))
            return [None if value is None else next(found) for value in column]
        if not types <= objects:
            for value in column:
                vet(value)
        if made is None:
            return [{} for _ in column]
        return made([field.read(list(map(field.get, column))) for field in fields])

    return read


def _maker(keys: Sequence[str]) -> Callable[[Sequence[Column]], Column]:
    """From columns of one length to dictionaries with these keys: written out, it takes a third of `dict(zip(…))`."""
    names = [f"_{number}" for number in range(len(keys))]
    members = ", ".join(f"{key!r}: {name}" for key, name in zip(keys, names, strict=True))
    row = ", ".join(names)
    made: Callable[[Sequence[Column]], Column] = eval(  # noqa: S307  keys are GraphQL's names, and quoted
        f"lambda columns: [{{{members}}} for {row}, in zip(*columns, strict=True)]"
    )
    return made
