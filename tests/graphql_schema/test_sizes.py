"""Every field says the largest size it takes, and refuses a larger one: its cost is counted as if it did (cost.py)."""

import re

import pytest
from graphql import GraphQLNonNull, GraphQLObjectType

from graphql_schema.limits.cost import LARGEST, SIZES
from graphql_schema.schema import schema
from tests.world import World

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


# Where each field is asked for one more than the largest size that any takes.
ASKED = {
    ("Query", "retrieve"): '{ retrieve(query: "quay", limit: 101) { notice } }',
    ("Query", "explainRetrieval"): '{ explainRetrieval(query: "quay", sourceId: "%(source)s", limit: 101) { found } }',
    ("Query", "sources"): "{ sources(first: 101) { nodes { id } } }",
    ("Query", "knowledgeBases"): "{ knowledgeBases(first: 101) { nodes { id } } }",
    ("Source", "versions"): '{ source(id: "%(source)s") { versions(first: 101) { nodes { id } } } }',
    ("Source", "grants"): '{ source(id: "%(source)s") { grants(first: 101) { nodes { subject } } } }',
    ("SourceVersion", "passages"): (
        '{ source(id: "%(source)s") { latestVersion { passages(first: 101) { nodes { id } } } } }'
    ),
    ("Passage", "context"): '{ retrieve(query: "quay") { hits { passage { context(limit: 101) { id } } } } }',
    ("Index", "failures"): (
        '{ knowledgeBase(id: "%(base)s") { index { failures(first: 101) { nodes { reason } } } } }'
    ),
    ("KnowledgeBase", "sources"): '{ knowledgeBase(id: "%(base)s") { sources(first: 101) { nodes { id } } } }',
}


async def test_every_field_refuses_a_size_beyond_the_largest(world: World) -> None:
    assert set(ASKED) == {(type_name, field_name) for type_name, field_name, _ in SIZED}
    source = await world.add("Quays", "The quay is swept.")
    ids = {"source": source, "base": await world.knowledge_base("Quays")}
    refused = {}
    for field, query in ASKED.items():
        answer = (await world.manager.post(query % ids)).json()
        refused[field] = [error["extensions"]["code"] for error in answer.get("errors", [])]
    assert refused == {field: ["INVALID_INPUT"] for field in ASKED}
