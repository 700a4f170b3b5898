"""Which of the two media types a client gets, and which one is read."""

import pytest

from graphql_schema.http.negotiation import is_json, response_type

GRAPHQL = "application/graphql-response+json"
JSON = "application/json"


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", JSON),
        ("*/*", JSON),
        ("application/*", JSON),
        (JSON, JSON),
        (GRAPHQL, GRAPHQL),
        (f"{GRAPHQL}, {JSON}", GRAPHQL),
        (f"{JSON}, {GRAPHQL};q=0.9", JSON),
        (f"{GRAPHQL};q=0.9, {JSON};q=0.8", GRAPHQL),
        (f"{GRAPHQL};q=0.5, */*;q=0.8", JSON),
        (f"{GRAPHQL}, */*", GRAPHQL),
        (f"{JSON};q=0, */*", GRAPHQL),
        (f"{GRAPHQL.upper()}; charset=utf-8", GRAPHQL),
        (f"{JSON};q=0", None),
        (f"{GRAPHQL};q=many", None),
        ("text/html", None),
    ],
)
def test_the_answers_media_type(accept: str, expected: str | None) -> None:
    assert response_type(accept) == expected


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("application/json", True),
        ("Application/JSON; Charset=UTF-8", True),
        ('application/json; charset="utf-8"', True),
        ("application/json; charset=latin-1", False),
        ("application/graphql", False),
        ("text/plain", False),
        ("", False),
    ],
)
def test_the_requests_media_type(content_type: str, expected: bool) -> None:
    assert is_json(content_type) is expected
