"""JSON Schema of what an operation takes."""

from collections.abc import Mapping
from typing import Any

from graphql import (
    GraphQLArgument,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNonNull,
    get_named_type,
    is_required_argument,
    is_required_input_field,
    value_from_ast_untyped,
)

from graphql_schema.operations.leaves import leaf_schema, nullable
from graphql_schema.operations.wording import Wording, checked_name, limits


def input_schema(inputs: Mapping[str, GraphQLArgument | GraphQLInputField], wording: Wording) -> dict[str, Any]:
    """The object with these fields and no others. What has a default, or may be null, is not required."""
    return {
        "type": "object",
        "properties": {
            checked_name(name): _property(value, wording) for name, value in inputs.items() if _is_json(value)
        },
        "required": [checked_name(name) for name, value in inputs.items() if _is_required(value)],
        "additionalProperties": False,
    }


def _property(value: GraphQLArgument | GraphQLInputField, wording: Wording) -> dict[str, Any]:
    schema = _type_schema(value.type, wording)
    own = limits(_first_type(schema), value.description)
    description = " ".join(filter(None, [wording(value.description), schema.pop("description", "")]))
    schema |= {"description": description, **own}
    if value.default is not None and value.default.literal is not None:
        schema["default"] = value_from_ast_untyped(value.default.literal)
    return schema


def _type_schema(type_: GraphQLInputType, wording: Wording) -> dict[str, Any]:
    if isinstance(type_, GraphQLNonNull):
        return _non_null(type_.of_type, wording)
    return nullable(_non_null(type_, wording))


def _non_null(type_: GraphQLInputType, wording: Wording) -> dict[str, Any]:
    if isinstance(type_, GraphQLList):
        return {"type": "array", "items": _type_schema(type_.of_type, wording)}
    if isinstance(type_, GraphQLInputObjectType):
        return input_schema(type_.fields, wording) | {"description": wording(type_.description)}
    return leaf_schema(type_, wording)


def _is_json(value: GraphQLArgument | GraphQLInputField) -> bool:
    """A file beside the request is nothing that JSON could hold."""
    return get_named_type(value.type).name != "Upload"


def _is_required(value: GraphQLArgument | GraphQLInputField) -> bool:
    return is_required_argument(value) if isinstance(value, GraphQLArgument) else is_required_input_field(value)


def _first_type(schema: Mapping[str, Any]) -> str:
    type_ = schema.get("type", "")
    return str(type_[0] if isinstance(type_, list) else type_)
