"""JSON Schema of scalars and enums."""

from typing import Any

from graphql import GraphQLEnumType, GraphQLType

from graphql_schema.operations.wording import Wording

_SCALARS: dict[str, dict[str, Any]] = {
    "Int": {"type": "integer"},
    "Float": {"type": "number"},
    "Boolean": {"type": "boolean"},
    "String": {"type": "string"},
    "ID": {"type": "string"},
    "DateTime": {"type": "string", "format": "date-time"},
    "Date": {"type": "string", "format": "date"},
}


def leaf_schema(type_: GraphQLType, wording: Wording, *, explained: bool = True) -> dict[str, Any]:
    """`explained` adds what each value of an enum means. A scalar that is not listed here can be anything."""
    if not isinstance(type_, GraphQLEnumType):
        return dict(_SCALARS.get(str(type_), {}))
    schema: dict[str, Any] = {"type": "string", "enum": list(type_.values)}
    if explained:
        schema["description"] = " ".join(
            f"{name}: {wording(value.description)}" for name, value in type_.values.items()
        )
    return schema


def nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """The same, or null."""
    if "type" in schema:
        schema = schema | {"type": [schema["type"], "null"]}
    return schema | {"enum": [*schema["enum"], None]} if "enum" in schema else schema
