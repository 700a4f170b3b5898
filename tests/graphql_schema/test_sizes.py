"""Every size that a field takes is refused beyond its limit by the field itself: the cost of one is counted as if."""

import re

import pytest
from graphql import GraphQLNonNull, GraphQLObjectType

from graphql_schema.limits.cost import LARGEST, SIZES
from graphql_schema.schema import schema

SIZED = [
    (type_name, field_name, argument)
    for type_name, type_ in schema._schema.type_map.items()
    if isinstance(type_, GraphQLObjectType) and not type_name.startswith("__")
    for field_name, field in type_.fields.items()
    for argument in field.args
    if argument in SIZES
]


@pytest.mark.parametrize(("type_name", "field_name", "argument"), SIZED)
def test_a_size_says_its_limit(type_name: str, field_name: str, argument: str) -> None:
    type_ = schema._schema.type_map[type_name]
    assert isinstance(type_, GraphQLObjectType)
    described = type_.fields[field_name].args[argument]
    assert isinstance(described.type, GraphQLNonNull)
    limit = re.search(r"from 1 to (\d+)", described.description or "")
    assert limit, described.description
    assert int(limit[1]) <= LARGEST
