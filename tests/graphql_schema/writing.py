"""Writes random documents for a schema: fragments, aliases, conditions, variables, arguments, wherever they fit."""

import random
from collections.abc import Callable
from typing import Any

from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLField,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
    get_named_type,
    is_leaf_type,
    is_non_null_type,
)

# What stands for an argument of a field: GraphQL text, or None to leave it to the writer.
Values = Callable[[random.Random, str, str], str | None]
PLAIN = {
    "Int": ("1", "2", "3"),
    "String": ('"a"', '"b"'),
    "ID": ('"a"',),
    "Boolean": ("true", "false"),
    "Float": ("1.5",),
}


class Writer:
    """One document: `text`, and the names of the variables in it. All variables are Boolean and stand in conditions."""

    def __init__(self, schema: GraphQLSchema, chance: random.Random, values: Values, *, size: int = 30) -> None:
        self._schema, self._chance, self._values = schema, chance, values
        self._left = size
        self._aliases = 0
        self._fragments: list[str] = []
        self._variables: dict[str, str] = {}
        assert schema.query_type is not None
        body = self._selection(schema.query_type, 5)
        declared = ", ".join(f"${name}: {type_}" for name, type_ in self._variables.items())
        self.text = " ".join([f"query{f'({declared})' if declared else ''} {{ {body} }}", *self._fragments])

    def variables(self) -> dict[str, Any]:
        """Values for them: good ones, now and then none, null or a wrong one."""
        sent = {name: self._chance.random() < 0.5 for name in self._variables if self._chance.random() < 0.9}
        if sent and self._chance.random() < 0.1:
            sent[self._chance.choice(list(sent))] = self._chance.choice([None, "yes", []])  # type: ignore[assignment]
        return sent

    def _selection(self, type_: GraphQLNamedType, depth: int) -> str:
        return " ".join(self._piece(type_, depth) for _ in range(self._chance.choice([1, 2, 3, 4])))

    def _piece(self, type_: GraphQLNamedType, depth: int) -> str:
        self._left -= 1
        fields = type_.fields if isinstance(type_, GraphQLObjectType | GraphQLInterfaceType) else {}
        usable = [(name, field) for name, field in fields.items() if self._may_stand(field, depth)]
        draw = self._chance.random()
        if draw < 0.07 or not usable:
            return self._chance.choice(["__typename", "kind: __typename"])
        if draw < 0.25 and depth > 0 and self._left > 0:
            return self._fragment(type_, depth - 1)
        return self._field(*self._chance.choice(usable), depth)

    def _may_stand(self, field: GraphQLField, depth: int) -> bool:
        return is_leaf_type(get_named_type(field.type)) or (depth > 0 and self._left > 0)

    def _fragment(self, type_: GraphQLNamedType, depth: int) -> str:
        on = type_
        if isinstance(type_, GraphQLInterfaceType | GraphQLUnionType):
            on = self._chance.choice([type_, *self._schema.get_possible_types(type_)])
        if self._chance.random() < 0.5:
            condition = f" on {on.name}" if on is not type_ or self._chance.random() < 0.5 else ""
            return f"...{condition}{self._condition()} {{ {self._selection(on, depth)} }}"
        name = f"F{len(self._fragments)}"
        self._fragments.append("")
        self._fragments[int(name[1:])] = f"fragment {name} on {on.name} {{ {self._selection(on, depth)} }}"
        return f"...{name}{self._condition()}"

    def _field(self, name: str, field: GraphQLField, depth: int) -> str:
        arguments = self._arguments(name, field)
        alias = ""
        # two fields of one key must be the same field with the same arguments, and be told apart if they are not
        if arguments or self._chance.random() < 0.2:
            self._aliases += 1
            alias = f"a{self._aliases}: "
        type_ = get_named_type(field.type)
        below = "" if is_leaf_type(type_) else f" {{ {self._selection(type_, depth - 1)} }}"
        return f"{alias}{name}{arguments}{self._condition()}{below}"

    def _arguments(self, field_name: str, field: GraphQLField) -> str:
        given = {
            name: value
            for name, argument in field.args.items()
            if (value := self._value(field_name, name, argument)) is not None
        }
        return f"({', '.join(f'{name}: {value}' for name, value in given.items())})" if given else ""

    def _value(self, field_name: str, name: str, argument: GraphQLArgument) -> str | None:
        value = self._values(self._chance, field_name, name)
        needed = is_non_null_type(argument.type) and argument.default_value is None
        if value is not None or (not needed and self._chance.random() < 0.7):
            return value
        type_ = get_named_type(argument.type)
        if isinstance(type_, GraphQLEnumType):
            return str(self._chance.choice(list(type_.values)))
        return self._chance.choice(PLAIN[type_.name]) if type_.name in PLAIN else None

    def _condition(self) -> str:
        if self._chance.random() > 0.15:
            return ""
        names = self._chance.sample(["skip", "include"], self._chance.choice([1, 1, 2]))
        return "".join(f" @{name}(if: {self._truth()})" for name in names)

    def _truth(self) -> str:
        if self._chance.random() < 0.4:
            return self._chance.choice(["true", "false"])
        name, type_ = self._chance.choice([("x", "Boolean!"), ("y", "Boolean! = true"), ("z", "Boolean = true")])
        self._variables[name] = type_
        return f"${name}"
