"""What a newcomer is shown when the server is up: a first retrieval, the addresses, and tokens to try."""

import json
import shlex
import time
from textwrap import shorten
from typing import Any

import click
import httpx2

from app.cli.profile import announce
from app.sample import EXAMPLE_QUERIES, FIRST_RETRIEVAL
from app.sample.seeding import SampleToken, sample_tokens
from app.settings import Settings

READY_SECONDS = 60.0
POLL_SECONDS = 0.1
BASES = "{ knowledgeBases { nodes { id name } } }"
RETRIEVE = """query ($knowledgeBaseId: ID, $query: String!) {
  retrieve(knowledgeBaseId: $knowledgeBaseId, query: $query) {
    hits { source { title } ordinal snippet { text highlights { start } } }
  }
}"""
SHOWN_CHARACTERS = 100


def welcome(address: str, settings: Settings, shows_sample: bool) -> None:
    """Wait until the server answers, then print. It runs beside the server and never stops it."""
    with httpx2.Client(base_url=address, timeout=10.0) as client:
        if not _wait_until_ready(client):
            return
        if settings.embedded:
            announce(settings.data_dir, address)
        lines = [f"\ngctl serves at {address}"]
        if shows_sample:
            tokens = sample_tokens(settings)
            lines += [*_first_retrieval(client, tokens), *_tokens(tokens), *_queries()]
        lines += [
            "",
            f"page      {address}/",
            f"GraphiQL  {address}/graphql",
            f"ready     {address}/readyz",
            "Stop it with ^C.",
            "",
        ]
    click.echo("\n".join(lines))


def _wait_until_ready(client: httpx2.Client) -> bool:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        try:
            if client.get("/readyz").status_code == httpx2.codes.OK:
                return True
        except httpx2.TransportError:
            pass
        time.sleep(POLL_SECONDS)
    return False


def _first_retrieval(client: httpx2.Client, tokens: list[SampleToken]) -> list[str]:
    """A retrieval over HTTP, as anybody would make it, and its hits."""
    person, base, query = FIRST_RETRIEVAL
    token = next(token for token in tokens if token.subject == person).token
    bases = _ask(client, token, BASES, {})["knowledgeBases"]["nodes"]
    base_id = next(node["id"] for node in bases if node["name"] == base)
    hits = _ask(client, token, RETRIEVE, {"knowledgeBaseId": base_id, "query": query})["retrieve"]["hits"]
    document = "query ($q: String!, $kb: ID) { retrieve(query: $q, knowledgeBaseId: $kb) { hits { text } } }"
    body = json.dumps({"query": document, "variables": {"q": query, "kb": base_id}})
    return [
        "",
        f"{person} asks the knowledge base {base!r}: {query}",
        *(f"  {n}. {_line(hit)}" for n, hit in enumerate(hits, 1)),
        "",
        "The same with curl:",
        f"  curl -s {client.base_url}/graphql -H 'content-type: application/json' \\",
        f"    -H 'authorization: Bearer {token}' -d {shlex.quote(body)}",
    ]


def _line(hit: dict[str, Any]) -> str:
    """The source, and the words around the first one that matched; the passage's start where its title did."""
    text, marks = hit["snippet"]["text"], hit["snippet"]["highlights"]
    lead = marks[0]["start"] - SHOWN_CHARACTERS // 2 if marks else 0
    start = text.find(" ", lead) + 1 if lead > 0 else 0
    shown = shorten(text[start:], SHOWN_CHARACTERS, placeholder=" …")
    return f"{hit['source']['title']}, passage {hit['ordinal']}: {'… ' if start else ''}{shown}"


def _ask(client: httpx2.Client, token: str, query: str, variables: dict[str, Any]) -> dict[str, Any]:
    response = client.post(
        "/graphql", json={"query": query, "variables": variables}, headers={"authorization": f"Bearer {token}"}
    )
    data: dict[str, Any] = response.json()["data"]
    return data


def _tokens(tokens: list[SampleToken]) -> list[str]:
    lines = ["", "People of the sample library, each with a token that is good for 30 days:"]
    for _, label, token in tokens:
        lines += [f"  {label}", f"    {token}"]
    return lines


def _queries() -> list[str]:
    return ["", "Queries to try:", *(f"  {query}: {shows}" for query, shows in EXAMPLE_QUERIES)]
