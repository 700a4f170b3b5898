"""What one operation may cost: hostile ones are refused before they cost anything, useful ones are not."""

import json
from typing import Any

import pytest
from graphql import get_introspection_query

from app.settings import Settings
from graphql_schema.limits import Documents
from tests.graphql_schema.door import SCHEMA, Door


def chain(length: int, step: str, on: str, last: str) -> str:
    """Fragments F0 to F<length>, each with `step` where {next} is the one after it."""
    links = [f"fragment F{n} on {on} {{ {step.format(next=f'...F{n + 1}')} }}" for n in range(length)]
    return " ".join([*links, f"fragment F{length} on {on} {{ {last} }}"])


def nested(field: str, times: int, leaf: str) -> str:
    return f"{field} {{ " * times + leaf + " }" * times


def repeated(text: str, times: int) -> str:
    return "{ " + " ".join(text.format(n=n) for n in range(times)) + " }"


STANDARD = get_introspection_query()
LISTED = '{ retrieve(query: "a", limit: %s) { name } }'

# name: (query, variables, code, the end of the message or a part of it)
HOSTILE: dict[str, tuple[str, dict[str, Any] | None, str, str]] = {
    "alias flood": (repeated("a{n}: viewer", 600), None, "QUERY_TOO_COMPLEX", "31 aliases or more"),
    "aliases hidden in fragments": (
        "{ item { ...F0 } } " + chain(5, "a: child {{ {next} }} b: child {{ {next} }}", "Item", "name"),
        None,
        "QUERY_TOO_COMPLEX",
        "31 aliases or more",
    ),
    "aliased searches": (
        repeated('a{n}: retrieve(query: "{n}", limit: 50) {{ name items {{ name }} }}', 30),
        None,
        "QUERY_TOO_COMPLEX",
        "The operation may cost 33030, and 10000 is allowed",
    ),
    "deep nesting": (
        "{ " + nested("item", 1, nested("child", 90, "name")) + " }",
        None,
        "QUERY_TOO_COMPLEX",
        "16 fields deep",
    ),
    "nesting hidden in fragments": (
        "{ item { ...F0 } } " + chain(60, "child {{ {next} }}", "Item", "name"),
        None,
        "QUERY_TOO_COMPLEX",
        "16 fields deep",
    ),
    "inline fragments in each other": (
        "{ " + nested("...", 190, "viewer") + " }",
        None,
        "QUERY_TOO_COMPLEX",
        "nests 101",
    ),
    "nesting past the parser": (
        "{ " + nested("item", 300, "name") + " }",
        None,
        "QUERY_TOO_COMPLEX",
        "nested too deeply",
    ),
    "fragment chain": ("{ ...F0 } " + chain(200, "{next}", "Query", "viewer"), None, "QUERY_TOO_COMPLEX", "nests 101"),
    "fragment bomb": (
        "{ ...F0 } " + chain(90, "{next} {next}", "Query", "viewer"),
        None,
        "QUERY_TOO_COMPLEX",
        "1035 times or more",
    ),
    "fragment bomb of different fields": (
        "{ item { ...F0 } } " + chain(12, "child {{ {next} }} items {{ {next} }}", "Item", "name"),
        None,
        "QUERY_TOO_COMPLEX",
        "spreads out to 5001 selections",
    ),
    "fragment cycle": (
        "{ ...A } fragment A on Query { ...B } fragment B on Query { viewer ...A }",
        None,
        "INVALID_INPUT",
        "Cannot spread fragment 'A' within itself via 'B'.",
    ),
    "fragment of itself": (
        "{ item { ...A } } fragment A on Item { child { ...A } }",
        None,
        "INVALID_INPUT",
        "Cannot spread fragment 'A' within itself.",
    ),
    "one field over and over": (repeated("viewer", 1_900), None, "QUERY_TOO_COMPLEX", "1035 times or more"),
    "one object over and over": (
        repeated("item {{ name child {{ name }} }}", 200),
        None,
        "QUERY_TOO_COMPLEX",
        "1012 times or more",
    ),
    "one field with other arguments": (
        repeated('a: item(name: "{n}") {{ name }}', 180),
        None,
        "QUERY_TOO_COMPLEX",
        "31 aliases or more",
    ),
    "many fragments of one field": (
        repeated("...F{n}", 120) + " ".join(f"fragment F{n} on Query {{ item {{ name }} }}" for n in range(120)),
        None,
        "QUERY_TOO_COMPLEX",
        "times or more",
    ),
    "directive flood": ("{ viewer " + "@skip(if: false) " * 280 + "}", None, "QUERY_TOO_COMPLEX", "280 directives"),
    "unknown directive flood": ("{ viewer " + "@x " * 900 + "}", None, "QUERY_TOO_COMPLEX", "900 directives"),
    "unknown field flood": (repeated("nope{n}", 1_900), None, "QUERY_TOO_COMPLEX", "51 fields or more that"),
    "token flood": (repeated("viewer", 100_000 // 8), None, "QUERY_TOO_COMPLEX", "more than 2000 tokens"),
    "comment flood": ("#\n" * 40_000 + "{ viewer }", None, "QUERY_TOO_COMPLEX", "more than 1000 comments"),
    "ten megabytes": ("{ viewer } #" + "x" * 10_000_000, None, "INVALID_INPUT", "larger than 1000000 bytes"),
    "a megabyte of spaces": (" " * 900_000 + "{ viewer }", None, "QUERY_TOO_COMPLEX", "900010 characters"),
    "a long string": (
        '{ item(name: "' + "x" * 900_000 + '") { name } }',
        None,
        "QUERY_TOO_COMPLEX",
        "characters, and 100000 are allowed",
    ),
    "a long name": ("{ " + "x" * 99_000 + " }", None, "INVALID_INPUT", "Cannot query field 'xxx"),
    "a lone surrogate": (
        '{ item(name: "' + "\\u0041" * 10_000 + '\\ud800") { name } }',
        None,
        "INVALID_INPUT",
        "Unicode",
    ),
    "a huge integer": (LISTED % ("9" * 90_000), None, "INVALID_INPUT", "Int"),
    "sizes in each other": (
        "{ items(first: 50) { items(first: 50) { items(first: 50) { name } } } }",
        None,
        "QUERY_TOO_COMPLEX",
        "may cost 127551,",
    ),
    "a deep variable": (
        'query ($n: [ID!]) { retrieve(query: "a", sourceIds: $n) { name } }',
        {"n": json.loads("[" * 900 + "]" * 900)},
        "QUERY_TOO_COMPLEX",
        "more than 20 levels deep",
    ),
    "a wide variable": (
        'query ($n: [ID!]) { retrieve(query: "a", sourceIds: $n) { name } }',
        {"n": [1] * 400_000},
        "QUERY_TOO_COMPLEX",
        "400001 values",
    ),
    "many variables": (
        "query (" + " ".join(f"$v{n}: Int" for n in range(450)) + ") { viewer }",
        None,
        "INVALID_INPUT",
        "Variable '$v0' is never used.",
    ),
    "many operations": (
        " ".join(f"query Q{n} {{ viewer }}" for n in range(300)),
        None,
        "INVALID_INPUT",
        "several operations",
    ),
    "introspection of introspection": (
        "{ __schema { types { fields { type { fields { type { fields { type { name } } } } } } } } }",
        None,
        "INVALID_INPUT",
        "Maximum introspection depth exceeded",
    ),
    "introspection aliased": (
        STANDARD.replace("__schema {", " ".join(f"s{n}: __schema {{ ...S }}" for n in range(20)) + " __schema {")
        + " fragment S on __Schema { types { ...FullType } }",
        None,
        "QUERY_TOO_COMPLEX",
        "entries of the schema or more",
    ),
    "ofType bomb": (
        '{ __type(name: "Item") { ' + nested("ofType", 90, "name") + " } }",
        None,
        "QUERY_TOO_COMPLEX",
        "Introspection is nested 21 fields deep",
    ),
    "an empty selection": ("{ }", None, "INVALID_INPUT", "Syntax Error"),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_operation_is_refused(name: str) -> None:
    query, variables, code, part = HOSTILE[name]
    response = await Door().post(query, variables)
    errors = response.json()["errors"]
    assert list(response.json()) == ["errors"]
    assert (response.status_code, errors[0]["extensions"]["code"]) == (413 if "megabytes" in name else 400, code)
    assert part in errors[0]["message"]
    if code == "QUERY_TOO_COMPLEX":
        assert len(errors) == 1
        assert errors[0]["extensions"] == {"code": code, "retryable": False}


@pytest.mark.parametrize(
    ("query", "variables"),
    [
        (LISTED % 2_000_000_000, None),
        ("query ($n: Int!) " + LISTED % "$n", {"n": 2_000_000_000}),
        ("query ($n: Int! = 99999) " + LISTED % "$n", None),
    ],
)
async def test_a_size_that_no_field_takes_costs_no_more_than_the_largest(
    query: str, variables: dict[str, Any] | None
) -> None:
    """It is the field that refuses it, as INVALID_INPUT and with its own limit (SPEC R13)."""
    answer = (await Door().post(query, variables)).json()
    assert answer["data"] == {"retrieve": None}
    assert answer["errors"][0]["extensions"]["code"] == "INVALID_INPUT"
    assert "from 1 to 100" in answer["errors"][0]["message"]


async def data_of(query: str, variables: dict[str, Any] | None = None, **settings: Any) -> Any:
    return (await Door(**settings).post(query, variables)).json()


@pytest.mark.parametrize(("depth", "allowed"), [(15, True), (16, False)])
async def test_the_depth_limit_is_exact(depth: int, allowed: bool) -> None:
    answer = await data_of("{ item { " + nested("child", depth - 2, "name") + " } }")
    assert ("data" in answer) is allowed


@pytest.mark.parametrize(("times", "allowed"), [(30, True), (31, False)])
async def test_the_alias_limit_is_exact_and_counts_fragments_where_they_are_spread(times: int, allowed: bool) -> None:
    spread = "{ " + " ".join(f"a{n}: item {{ ...F }}" for n in range(times // 2)) + " b: viewer" * (times % 2) + " }"
    answer = await data_of(spread + " fragment F on Item { n: name }")
    assert ("data" in answer) is allowed


@pytest.mark.parametrize(
    ("query", "variables", "cost"),
    [
        ("{ viewer }", {}, 1),
        ("{ viewer item { name } }", {}, 3),
        ("{ items { name } }", {}, 1 + 20),
        ("{ items(first: 3) { name items(first: 2) { name } } }", {}, 1 + 3 * (1 + 1 + 2)),
        ("{ items(first: 0) { name } }", {}, 1 + 1),
        ("query ($n: Int!) { items(first: $n) { name } }", {"n": 7}, 1 + 7),
        ("query ($n: Int!) { items(first: $n) { name } }", {"n": 7.0}, 1 + 7),
        ("query ($n: Int! = 5) { items(first: $n) { name } }", {}, 1 + 5),
        ("query ($n: Int! = 5) { items(first: $n) { name } }", {"n": 7}, 1 + 7),
        ("query ($n: Int! = 5) { items(first: $n) { name } }", {"n": "7"}, 1 + 5),
        ("query ($n: Int!) { items(first: $n) { items(first: $n) { name } } }", {"n": 7}, 1 + 7 * (1 + 7)),
        ("{ items(first: 3) { ...F } } fragment F on Item { name ... { child { name } } }", {}, 1 + 3 * 3),
        (STANDARD, {}, 0),
    ],
)
def test_what_an_operation_costs(query: str, variables: dict[str, Any], cost: int) -> None:
    assert Documents(SCHEMA._schema, Settings()).operation(query, None).cost.total(variables) == cost


@pytest.mark.parametrize(("cost", "allowed"), [(22, True), (21, False)])
async def test_the_cost_limit_is_exact(cost: int, allowed: bool) -> None:
    query = "query ($n: Int!) { items(first: $n) { name } }"
    answer = await data_of(query, {"n": 21}, max_query_cost=cost)
    assert ("data" in answer) is allowed


async def test_the_token_limit_is_exact() -> None:
    assert "data" in await data_of("{ viewer }", max_query_tokens=3)
    assert "errors" in await data_of("{ viewer }", max_query_tokens=2)


@pytest.mark.parametrize("max_query_depth", [5, 15])
async def test_the_introspection_that_every_tool_sends_is_answered(max_query_depth: int) -> None:
    answer = await data_of(STANDARD, max_query_depth=max_query_depth)
    assert answer["data"]["__schema"]["queryType"]["name"] == "Query"
