"""The memory of the operations that were found good."""

import pytest

from app.errors import QueryTooComplex
from app.settings import Settings
from graphql_schema.errors import RequestErrors
from graphql_schema.limits import Documents
from graphql_schema.limits.documents import MAX_OPERATIONS, MAX_REMEMBERED_CHARACTERS
from tests.graphql_schema.door import SCHEMA


def documents() -> Documents:
    return Documents(SCHEMA._schema, Settings())


def test_a_good_operation_is_remembered_by_its_text_and_name() -> None:
    kept = documents()
    query = "query A { viewer } query B { viewer }"
    assert kept.operation(query, "A") is kept.operation(query, "A")
    assert kept.operation(query, "A") is not kept.operation(query, "B")


@pytest.mark.parametrize(
    ("length", "same"), [(MAX_REMEMBERED_CHARACTERS, True), (MAX_REMEMBERED_CHARACTERS + 1, False)]
)
def test_a_long_text_is_not_kept(length: int, same: bool) -> None:
    kept, query = documents(), "{ viewer }".ljust(length)
    assert (kept.operation(query, None) is kept.operation(query, None)) is same


def test_the_one_that_was_used_longest_ago_is_forgotten_first() -> None:
    kept = documents()
    first = kept.operation("{ a0: viewer }", None)
    second = kept.operation("{ a1: viewer }", None)
    for n in range(2, MAX_OPERATIONS):
        kept.operation(f"{{ a{n}: viewer }}", None)
    assert kept.operation("{ a0: viewer }", None) is first
    kept.operation("{ viewer }", None)
    assert kept.operation("{ a0: viewer }", None) is first
    assert kept.operation("{ a1: viewer }", None) is not second


@pytest.mark.parametrize(
    "query", ["{", "{ nope }", "{ ...A } fragment A on Query { ...A }", "{ " + "a: viewer " * 31 + "}"]
)
def test_what_was_refused_is_refused_again_and_never_kept(query: str) -> None:
    kept = documents()
    for _ in range(2):
        with pytest.raises((RequestErrors, QueryTooComplex)):
            kept.operation(query, None)
    assert len(kept._known) == 0
