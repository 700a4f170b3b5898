"""Calling a resolver: what strawberry works out for every call, worked out once.

Strawberry looks at the type of each argument, wraps the resolver in two coroutines and a chain of extensions. Where a
field has no extension, and its arguments are scalars, enums or lists of them, none of that changes anything: the
values that graphql-core has coerced go to the resolver under their names in Python.
"""

import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

import strawberry
from graphql import GraphQLField, GraphQLObjectType, MiddlewareManager
from strawberry import Schema
from strawberry.schema.config import StrawberryConfig
from strawberry.schema.schema_converter import GraphQLCoreConverter
from strawberry.types.base import StrawberryList, StrawberryOptional, StrawberryType
from strawberry.types.enum import StrawberryEnumDefinition, has_enum_definition
from strawberry.types.field import StrawberryField
from strawberry.types.unset import UNSET

Resolver: TypeAlias = Callable[..., Any]

_SCALARS = (str, int, float, bool, strawberry.ID)


class Resolvers(MiddlewareManager):
    """graphql-core asks it for each resolver that it calls; strawberry's own are answered with shorter ones."""

    def __init__(self, schema: Schema) -> None:
        super().__init__()
        self._shorter: dict[Resolver, Resolver] = {}
        for type_ in schema._schema.type_map.values():
            for field in type_.fields.values() if isinstance(type_, GraphQLObjectType) else ():
                resolver = shorter(field, schema.config)
                if field.resolve is not None and resolver is not None:
                    self._shorter[field.resolve] = resolver

    def shorter(self, field: GraphQLField) -> Resolver | None:
        """The shorter resolver of a field; it returns an awaitable. None where strawberry's own is called."""
        return None if field.resolve is None else self._shorter.get(field.resolve)

    def get_field_resolver(self, field_resolver: Resolver) -> Resolver:
        return self._shorter.get(field_resolver, field_resolver)


class Told(MiddlewareManager):
    """Says what a resolver that has run returned or raised, to the executor that asks for it, and that asks first."""

    def __init__(self, resolvers: MiddlewareManager) -> None:
        super().__init__()
        self.value: Any = None
        self.error: Exception | None = None
        self._resolvers = resolvers
        self._asked = False

    def get_field_resolver(self, field_resolver: Resolver) -> Resolver:
        if self._asked:
            return self._resolvers.get_field_resolver(field_resolver)
        self._asked = True
        return self._again

    async def _again(self, *_: Any, **__: Any) -> Any:
        """A coroutine, as the resolver's was: what that returned is not awaited again."""
        if self.error is not None:
            raise self.error
        return self.value


def shorter(field: GraphQLField, config: StrawberryConfig) -> Resolver | None:
    """What calls the coroutine function behind a field as strawberry does; None where that takes more than names."""
    definition = field.extensions.get(GraphQLCoreConverter.DEFINITION_BACKREF)
    if type(definition) is not StrawberryField or definition.extensions or definition.base_resolver is None:
        return None
    asked = definition.base_resolver
    method: Any = asked.wrapped_func
    if not inspect.iscoroutinefunction(method) or asked.parent_parameter or asked.root_parameter:
        return None
    if not all(_is_plain(argument.type) for argument in definition.arguments):
        return None
    names = {config.name_converter.from_argument(each): each.python_name for each in definition.arguments}
    lists = [each.python_name for each in definition.arguments if isinstance(_item(each.type), StrawberryList)]
    own = bool(asked.self_parameter)
    info_name = asked.info_parameter and asked.info_parameter.name

    def resolve(source: Any, info: Any, **arguments: Any) -> Any:
        given = {names[name]: value for name, value in arguments.items()}
        for name in lists:  # graphql-core gives the same default to every request
            if given.get(name, UNSET) is not UNSET and given[name] is not None:
                given[name] = list(given[name])
        if info_name:
            given[info_name] = config.info_class(info, definition)
        return method(source, **given) if own else method(**given)

    return resolve


def _is_plain(type_: StrawberryType | type) -> bool:
    """Whether strawberry takes values of this type as graphql-core gives them."""
    item = _item(type_)
    leaf = _item(item.of_type) if type(item) is StrawberryList else item
    return leaf in _SCALARS or isinstance(leaf, StrawberryEnumDefinition) or has_enum_definition(leaf)


def _item(type_: StrawberryType | type) -> StrawberryType | type:
    return type_.of_type if type(type_) is StrawberryOptional else type_
