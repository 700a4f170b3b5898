"""GraphQL over HTTP: the right status and a typed JSON error, whatever arrives (SPEC R21, R22, R26)."""

import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import pytest
import strawberry
from strawberry.extensions import SchemaExtension
from structlog.testing import capture_logs

from app.settings import Settings
from app.web.graphiql import Page
from graphql_schema.http import Operations
from tests.graphql_schema.door import Door, Query, invalid

GRAPHQL = "application/graphql-response+json"
JSON = "application/json"


async def send(
    method: str, address: str = "/graphql", *, body: Any = None, **headers: str
) -> tuple[int, Any, dict[str, str]]:
    async with Door(max_body_bytes=2_000).client(**headers) as client:
        response = await client.request(method, address, content=body)
    return response.status_code, response.json(), dict(response.headers)


BAD_POSTS = [
    (b"", "The body is not JSON in UTF-8: see line 1, column 1."),
    (b"{", "The body is not JSON in UTF-8: see line 1, column 2."),
    (b'{"query": "\xff"}', "The body is not JSON in UTF-8: see line 1, column 1."),
    (b'"{ viewer }"', "The body must be a JSON object."),
    (b"null", "The body must be a JSON object."),
    (b'[{"query": "{ viewer }"}]', "Batches are not answered: send one operation in a request."),
    (b"[]", "Batches are not answered: send one operation in a request."),
    (b"{}", "There is no query."),
    (b'{"query": ""}', "There is no query."),
    (b'{"qeury": "{ viewer }"}', "There is no query."),
    (b'{"query": 1}', "query must be a string."),
    (b'{"query": "{ viewer }", "operationName": {}}', "operationName must be a string."),
    (b'{"query": "{ viewer }", "variables": []}', "variables must be an object."),
    (b'{"query": "{ viewer }", "variables": "{}"}', "variables must be an object."),
    (b'{"query": "{ viewer }", "extensions": 0}', "extensions must be an object."),
]


@pytest.mark.parametrize("accept", [GRAPHQL, JSON])
@pytest.mark.parametrize(("body", "message"), BAD_POSTS)
async def test_a_post_without_a_graphql_request_is_400_in_either_media_type(
    body: bytes, message: str, accept: str
) -> None:
    status, answer, headers = await send("POST", body=body, accept=accept, **{"content-type": JSON})
    assert (status, headers["content-type"]) == (400, f"{accept}; charset=utf-8")
    assert answer == invalid(message)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "There is no query."),
        ("query=", "There is no query."),
        ("query={viewer}&query={viewer}", "query was sent twice."),
        ("query=%ff", "The query string is not URL-encoded UTF-8."),
        ("query={viewer}&variables=[]", "variables must be an object."),
        ("query={viewer}&variables={", "variables is not JSON: see line 1, column 2."),
        ("query={viewer}&extensions=1", "extensions must be an object."),
    ],
)
async def test_a_get_without_a_graphql_request_is_400(query: str, message: str) -> None:
    status, answer, _ = await send("GET", "/graphql?" + quote(query, safe="=&%"))
    assert (status, answer) == (400, invalid(message))


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ({}, "The Content-Type must be application/json, in UTF-8."),
        ({"content-type": "text/plain"}, "The Content-Type must be application/json, in UTF-8."),
        ({"content-type": JSON, "content-encoding": "gzip"}, "Compressed bodies are not read."),
    ],
)
async def test_a_body_of_another_kind_is_415(headers: dict[str, str], message: str) -> None:
    status, answer, _ = await send("POST", body=b'{"query": "{ viewer }"}', **headers)
    assert (status, answer) == (415, invalid(message))


async def test_an_accept_that_takes_neither_media_type_is_406() -> None:
    status, answer, headers = await send("GET", "/graphql?query={viewer}", accept="text/html")
    assert (status, headers["content-type"]) == (406, "application/json; charset=utf-8")
    assert answer == invalid(f"The answer is {GRAPHQL} or {JSON}, and Accept takes neither.")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
async def test_another_method_is_405_and_told_the_right_ones(method: str) -> None:
    status, answer, headers = await send(method)
    assert (status, headers["allow"], answer) == (405, "GET, POST", invalid("Use GET or POST."))


async def test_a_mutation_by_get_is_405_and_is_not_run() -> None:
    status, answer, headers = await send("GET", "/graphql?query=mutation{rename(name:%22x%22){name}}")
    assert (status, headers["allow"], answer) == (405, "POST", invalid("Mutations are sent with POST."))


async def test_a_subscription_by_post_is_told_where_to_go() -> None:
    response = await Door().post("subscription { count(to: 1) }")
    message = "Subscriptions run over a websocket, by the graphql-transport-ws protocol."
    assert (response.status_code, response.json()) == (400, invalid(message))


async def test_get_takes_variables_and_the_operations_name() -> None:
    query = quote("query A($n: String!) { item(name: $n) { name } } query B { viewer }")
    for name, data in [("A", {"item": {"name": "é"}}), ("B", {"viewer": "user:ada"})]:
        variables = quote('{"n": "é"}')
        status, answer, _ = await send(
            "GET", f"/graphql?query={query}&operationName={name}&variables={variables}&x=1&x=2"
        )
        assert (status, answer) == (200, {"data": data})


async def test_a_document_with_many_errors_is_one_line_in_the_log() -> None:
    with capture_logs() as logs:
        response = await Door().post("{ a b c }")
    assert len(response.json()["errors"]) == 3
    assert logs == [
        {"event": "document_refused", "log_level": "info", "code": "INVALID_INPUT", "request_id": "r-1", "errors": 3}
    ]


def test_a_schema_whose_extensions_would_not_run_is_refused() -> None:
    extended = strawberry.Schema(query=Query, extensions=[SchemaExtension])
    with pytest.raises(ValueError, match="extensions and operation directives are not run"):
        Operations(extended, Settings())


async def test_several_operations_without_a_name_are_refused() -> None:
    response = await Door().post("query A { viewer } query B { viewer }")
    message = "The document has several operations: name one in operationName."
    assert (response.status_code, response.json()) == (400, invalid(message))


@pytest.mark.parametrize("size", [2_000, 2_001])
async def test_the_body_limit_counts_what_arrives(size: int) -> None:
    """In chunks, so without a Content-Length to go by."""
    body = json.dumps({"query": "{ viewer }"}).encode().ljust(size)

    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, size, 100):
            yield body[start : start + 100]

    status, answer, _ = await send("POST", body=chunks(), **{"content-type": JSON})
    if size == 2_000:
        assert (status, answer) == (200, {"data": {"viewer": "user:ada"}})
    else:
        assert (status, answer) == (413, invalid("The body is larger than 2000 bytes."))


async def test_a_declared_length_over_the_limit_is_not_even_read() -> None:
    read: list[bytes] = []

    async def body() -> AsyncIterator[bytes]:
        read.append(b"x")
        yield b"x" * 2_001

    status, answer, _ = await send("POST", body=body(), **{"content-type": JSON, "content-length": "2001"})
    assert (status, answer, read) == (413, invalid("The body is larger than 2000 bytes."), [])


@pytest.mark.parametrize(("accept", "status"), [(GRAPHQL, 400), (JSON, 200)])
@pytest.mark.parametrize(
    ("query", "variables"),
    [("{", None), ("{ nope }", None), ("query ($n: Int!) { items(first: $n) { name } }", {"n": "x"})],
)
async def test_a_document_that_is_not_executed_is_400_or_for_old_clients_200(
    query: str, variables: dict[str, Any] | None, accept: str, status: int
) -> None:
    response = await Door().post(query, variables, accept=accept)
    assert response.status_code == status
    assert list(response.json()) == ["errors"]
    assert response.json()["errors"][0]["extensions"]["code"] == "INVALID_INPUT"


# who is asking


async def test_a_bad_token_is_401_with_a_challenge() -> None:
    response = await Door().post("{ __typename }", authorization="Bearer eve")
    assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")
    assert response.json() == {
        "errors": [
            {"message": "The token is not valid.", "extensions": {"code": "UNAUTHENTICATED", "retryable": False}}
        ]
    }


async def anonymous(query: str, **settings: Any) -> tuple[int, Any]:
    async with Door(**settings).client() as client:
        del client.headers["authorization"]
        response = await client.post("/graphql", json={"query": query})
        return response.status_code, response.json()


@pytest.mark.parametrize(
    "query",
    [
        "{ __typename }",
        "{ a: __typename ...F } fragment F on Query { __schema { queryType { name } } }",
        '{ ... on Query { ... { __type(name: "Item") { name } } } }',
        "mutation { __typename }",
    ],
)
async def test_without_a_token_introspection_is_answered(query: str) -> None:
    status, answer = await anonymous(query)
    assert status == 200
    assert "errors" not in answer


@pytest.mark.parametrize(
    "query",
    [
        "{ viewer }",
        "{ __typename viewer }",
        "{ __schema: viewer }",
        "{ __typename ...F } fragment F on Query { ...G } fragment G on Query { viewer }",
        "{ ... on Query { ... @include(if: true) { viewer } } }",
        "{ viewer @skip(if: true) }",
        'mutation { rename(name: "x") { name } }',
    ],
)
async def test_without_a_token_nothing_else_is(query: str) -> None:
    status, answer = await anonymous(query)
    assert (status, answer["errors"][0]["extensions"]["code"]) == (401, "UNAUTHENTICATED")
    assert list(answer) == ["errors"]


@pytest.mark.parametrize("query", ["{ __typename }", "{ nope }", "{"])
async def test_with_introspection_closed_a_stranger_learns_nothing(query: str) -> None:
    status, answer = await anonymous(query, anonymous_introspection=False)
    assert (status, answer["errors"][0]["extensions"]["code"]) == (401, "UNAUTHENTICATED")


async def test_every_operation_gets_a_context_of_its_own() -> None:
    door = Door()
    await door.post("{ viewer }")
    await door.post("{ viewer }")
    first, second = door.contexts
    assert first is not second


# the page


async def test_a_browser_gets_the_page_and_everyone_else_the_api() -> None:
    door = Door(page=lambda _: Page("<!doctype html>", {"content-security-policy": "default-src 'none'"}))
    html = "text/html,application/xhtml+xml,*/*;q=0.8"
    async with door.client(accept=html) as browser:
        page = await browser.get("/graphql")
        api = await browser.get("/graphql", params={"query": "{ viewer }"})
    async with door.client() as client:
        missing = await client.get("/graphql")
    assert (page.text, page.headers["content-type"]) == ("<!doctype html>", "text/html; charset=utf-8")
    assert page.headers["content-security-policy"] == "default-src 'none'"
    assert api.json() == {"data": {"viewer": "user:ada"}}
    assert missing.json() == invalid("There is no query.")


async def test_the_token_is_never_logged() -> None:
    with capture_logs() as logs:
        await Door().post("{ nope }")
        await Door().post("{ broken }", authorization="Bearer hunter2")
    assert "hunter2" not in repr(logs)
    assert "nope" not in repr(logs)
