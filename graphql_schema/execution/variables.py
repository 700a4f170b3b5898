"""The variables of a request: values of plain scalars are looked at, for all else graphql-core is asked."""

from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any, NamedTuple

from graphql import (
    GraphQLError,
    GraphQLNonNull,
    GraphQLSchema,
    OperationDefinitionNode,
    VariableDefinitionNode,
    get_variable_values,
)
from graphql.execution.get_variable_signature import GraphQLVariableSignature, get_variable_signature
from graphql.execution.values import VariableValues, VariableValueSource
from graphql.pyutils import Undefined

from graphql_schema.execution.readers import UNCHANGED, WITHIN

MAX_ERRORS = 50  # graphql-core's own default


class _Variable(NamedTuple):
    """`types` are the exact types whose values, within bounds, coerce to themselves; `optional`: it may be left out."""

    name: str
    signature: GraphQLVariableSignature
    types: frozenset[type]
    within: Callable[[Any], bool] | None
    optional: bool


class Variables:
    """The variables that one operation defines."""

    def __init__(self, schema: GraphQLSchema, operation: OperationDefinitionNode) -> None:
        self._schema = schema
        self._definitions = operation.variable_definitions or ()
        self._known = [_variable(schema, definition) for definition in self._definitions]

    def coerced(self, inputs: Mapping[str, Any]) -> VariableValues | list[GraphQLError]:
        """The values that a request sends, coerced, or what is wrong with them."""
        values = VariableValues({}, {})
        for variable in self._known:
            value = inputs.get(variable.name, Undefined)
            if value is Undefined and variable.optional:
                values.sources[variable.name] = VariableValueSource(variable.signature)
                continue
            if type(value) not in variable.types or not (
                variable.within is None or value is None or variable.within(value)
            ):
                return get_variable_values(self._schema, self._definitions, dict(inputs), max_errors=MAX_ERRORS)
            values.sources[variable.name] = VariableValueSource(variable.signature, value)
            values.coerced[variable.name] = value
        return values


def _variable(schema: GraphQLSchema, definition: VariableDefinitionNode) -> _Variable:
    signature = get_variable_signature(schema, definition)
    assert isinstance(signature, GraphQLVariableSignature)  # the document is valid
    required = isinstance(signature.type, GraphQLNonNull)
    type_: Any = signature.type.of_type if isinstance(signature.type, GraphQLNonNull) else signature.type
    types = {UNCHANGED[type_]} if type_ in UNCHANGED else set()
    types |= {NoneType} if types and not required else set()
    optional = not required and definition.default_value is None
    return _Variable(signature.name, signature, frozenset(types), WITHIN.get(type_), optional)
