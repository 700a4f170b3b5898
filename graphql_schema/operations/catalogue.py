"""The operations of a schema, and the file that clients read them from."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from graphql import (
    GraphQLArgument,
    GraphQLField,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLNonNull,
    GraphQLSchema,
)

from app.operations import FILE_NAME
from graphql_schema.operations.answers import Answers, Selected
from graphql_schema.operations.inputs import input_schema
from graphql_schema.operations.wording import Wording, checked_name

OPERATIONS_FILE = Path(__file__).parents[1] / FILE_NAME

# The room of a field: the first whose words its name has, else the Library.
ROOMS: tuple[tuple[str, frozenset[str]], ...] = (
    ("knowledge_base", frozenset({"knowledge", "index", "indexes"})),
    ("access", frozenset({"access", "grant", "grants", "viewer"})),
)
ELSEWHERE = "library"

Inputs = Mapping[str, GraphQLArgument | GraphQLInputField]


def operations_json(schema: GraphQLSchema) -> str:
    """The text of operations.json."""
    return json.dumps(describe_operations(schema), indent=1, ensure_ascii=False) + "\n"


def describe_operations(schema: GraphQLSchema) -> list[dict[str, Any]]:
    """The fields of app.operations.Operation for each query and mutation, in the order of the schema.

    `schema` must be one that was built from SDL: its defaults are literals. Raises ValueError for what has no form
    here: a name that is lost on the way to snake_case and back, a union or interface in an answer.
    """
    wording = Wording(operation_names(schema), schema)
    answers = Answers(schema, wording)
    return [_operation(kind, name, field, answers, wording) for kind, name, field in _root_fields(schema)]


def operation_names(schema: GraphQLSchema) -> dict[str, str]:
    """The operation's name by the root field's."""
    return {name: _operation_name(name) for _, name, _ in _root_fields(schema)}


def _root_fields(schema: GraphQLSchema) -> Iterator[tuple[str, str, GraphQLField]]:
    for kind, root in (("read", schema.query_type), ("write", schema.mutation_type)):
        for name, field in (root.fields if root else {}).items():
            yield kind, name, field


def _operation_name(field_name: str) -> str:
    name = checked_name(field_name)
    room = next((room for room, words in ROOMS if words & set(name.split("_"))), ELSEWHERE)
    return f"{room}.{name}"


def _operation(kind: str, name: str, field: GraphQLField, answers: Answers, wording: Wording) -> dict[str, Any]:
    inputs = _inputs(field)
    selected = answers.of_query(field) if kind == "read" else answers.of_mutation(field)
    body = input_schema(inputs, wording)
    for flag, description in selected.flags.items():
        if flag in inputs:
            raise ValueError(f"{name} has an argument {flag}, which is the name of a list to include")
        body["properties"][checked_name(flag)] = {"type": "boolean", "description": description, "default": False}
    return {
        "name": _operation_name(name),
        "kind": kind,
        "description": wording(field.description),
        "field": name,
        "document": _document(kind, name, field, inputs, selected),
        "input_schema": body,
        "output_schema": selected.schema,
    }


def _inputs(field: GraphQLField) -> Inputs:
    """What stands at the top of the body. The input object of a mutation gives place to its fields."""
    inner = _only_input(field)
    return field.args if inner is None else inner.fields


def _only_input(field: GraphQLField) -> GraphQLInputObjectType | None:
    if list(field.args) != ["input"]:
        return None
    type_ = field.args["input"].type
    inner = type_.of_type if isinstance(type_, GraphQLNonNull) else type_
    return inner if isinstance(inner, GraphQLInputObjectType) else None


def _document(kind: str, name: str, field: GraphQLField, inputs: Inputs, selected: Selected) -> str:
    """The document whose variables are the body: a name that the body leaves out is one that was not sent."""
    variables = [f"${each}: {_variable_type(value)}" for each, value in inputs.items()]
    variables += [f"${flag}: Boolean! = false" for flag in selected.flags]
    values = ", ".join(f"{each}: ${each}" for each in inputs)
    if _only_input(field) is not None:
        values = f"input: {{{values}}}"
    keyword = "query" if kind == "read" else "mutation"
    declared = f"({', '.join(variables)})" if variables else ""
    given = f"({values})" if values else ""
    return f"{keyword} {name}{declared} {{ {name}{given}{selected.text} }}"


def _variable_type(value: GraphQLArgument | GraphQLInputField) -> str:
    """Nullable where there is a default: else the variable would have to be sent."""
    type_ = value.type
    if isinstance(type_, GraphQLNonNull) and value.default is not None:
        return str(type_.of_type)
    return str(type_)
