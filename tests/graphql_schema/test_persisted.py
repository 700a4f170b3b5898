"""Documents by their hash: Apollo's protocol, and an allow-list (docs/schema.md)."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import click
import httpx2
import pytest
import websockets
from sqlalchemy import func, select

from app.cli.documents import read_documents
from app.models import PersistedDocument
from app.services import Services
from app.settings import Settings
from app.web import documents as store
from app.web.documents import Documents, distrust, sha256_of, trust
from graphql_schema.asgi import create
from tests.serving import serving
from tests.world import Caller, World

QUERY = "query Who { viewer { subject } }"
NOT_FOUND = {
    "errors": [
        {
            "message": "PersistedQueryNotFound",
            "extensions": {"code": "PERSISTED_QUERY_NOT_FOUND", "retryable": False},
        }
    ]
}


def named(sha256: str) -> dict[str, Any]:
    return {"persistedQuery": {"version": 1, "sha256Hash": sha256}}


async def post(caller: Caller, **body: Any) -> httpx2.Response:
    headers = {} if caller.token is None else {"authorization": f"Bearer {caller.token}"}
    return await caller.client.post(f"{caller.address}/graphql", json=body, headers=headers)


def fresh(world: World) -> str:
    """A document that nobody else registers."""
    return f"query W_{world.workspace_id.hex} {{ viewer {{ subject }} }}"


async def registered(world: World) -> int:
    async with world.services.database.read() as session:
        count = select(func.count()).where(PersistedDocument.workspace_id == world.workspace_id)
        return await session.scalar(count) or 0


@pytest.mark.parametrize("accept", ["application/json", "application/graphql-response+json"])
async def test_a_document_is_registered_by_sending_it_once(world: World, accept: str) -> None:
    world.client.headers["accept"] = accept
    query = fresh(world)
    sha256 = sha256_of(query)
    first = await post(world.reader, extensions=named(sha256))
    assert (first.status_code, first.json()) == (200, NOT_FOUND)
    expected = {"data": {"viewer": {"subject": "user:reader"}}}
    assert (await post(world.reader, query=query, extensions=named(sha256))).json() == expected
    assert (await post(world.reader, extensions=named(sha256))).json() == expected
    assert (await post(world.manager, extensions=named(sha256))).json()["data"]["viewer"]["subject"] == "user:manager"
    assert await registered(world) == 1


async def test_a_hash_is_enough_for_a_get(world: World) -> None:
    query = fresh(world)
    await post(world.reader, query=query, extensions=named(sha256_of(query)))
    parameters = {"extensions": json.dumps(named(sha256_of(query)))}
    got = await world.client.get(
        f"{world.address}/graphql", params=parameters, headers={"authorization": f"Bearer {world.reader.token}"}
    )
    assert got.json() == {"data": {"viewer": {"subject": "user:reader"}}}


async def test_another_process_finds_what_was_registered(world: World, settings: Settings) -> None:
    query = fresh(world)
    await post(world.reader, query=query, extensions=named(sha256_of(query)))
    async with serving(create(settings)) as address:
        world.address = address
        assert "data" in (await post(world.reader, extensions=named(sha256_of(query)))).json()


async def test_one_workspace_learns_nothing_of_anothers(world: World, services: Services, server: str) -> None:
    query = fresh(world)
    await post(world.reader, query=query, extensions=named(sha256_of(query)))
    async with World.made(services, server) as other:
        assert (await post(other.reader, extensions=named(sha256_of(query)))).json() == NOT_FOUND


async def test_strangers_register_nothing_and_find_nothing(world: World) -> None:
    stranger = Caller(world.client, world.address, None)
    query = "{ __typename }"
    answer = await post(stranger, query=query, extensions=named(sha256_of(query)))
    assert answer.json() == {"data": {"__typename": "Query"}}
    assert (await post(stranger, extensions=named(sha256_of(query)))).json() == NOT_FOUND
    mine = fresh(world)
    await post(world.reader, query=mine, extensions=named(sha256_of(mine)))
    assert (await post(stranger, extensions=named(sha256_of(mine)))).json() == NOT_FOUND
    assert await registered(world) == 1


SHA = "a" * 64


@pytest.mark.parametrize(
    ("extension", "query", "message"),
    [
        (named(SHA), QUERY, "extensions.persistedQuery.sha256Hash is not the sha256 of the query."),
        ({"persistedQuery": 1}, QUERY, "extensions.persistedQuery must be an object with version 1."),
        (
            {"persistedQuery": {"version": 2, "sha256Hash": SHA}},
            None,
            "extensions.persistedQuery must be an object with version 1.",
        ),
        (
            {"persistedQuery": {"version": 1, "sha256Hash": "A" * 64}},
            None,
            "extensions.persistedQuery.sha256Hash must have 64 hexadecimal digits in lower case.",
        ),
        (
            {"persistedQuery": {"version": 1, "sha256Hash": 5}},
            None,
            "extensions.persistedQuery.sha256Hash must have 64 hexadecimal digits in lower case.",
        ),
        ({"persistedQuery": None}, None, "There is no query."),
        ({}, None, "There is no query."),
    ],
)
async def test_what_is_no_hash_is_refused(world: World, extension: dict[str, Any], query: str, message: str) -> None:
    answer = await post(world.reader, query=query, extensions=extension)
    assert (answer.status_code, answer.json()["errors"][0]["message"]) == (400, message)
    assert await registered(world) == 0


@pytest.mark.parametrize(
    "query", ["{ nope }", "{ viewer { subject }", "{ " + "a: viewer { subject } " * 40 + "}", "subscription { x }"]
)
async def test_what_may_not_run_is_not_registered(world: World, query: str) -> None:
    answer = await post(world.reader, query=query, extensions=named(sha256_of(query)))
    assert answer.json()["errors"][0]["extensions"]["code"] in {"INVALID_INPUT", "QUERY_TOO_COMPLEX"}
    assert await registered(world) == 0


async def test_a_mutation_is_not_run_by_get(world: World) -> None:
    query = 'mutation { createKnowledgeBase(input: {name: "B"}) { knowledgeBase { id } } }'
    await post(world.manager, query=query, extensions=named(sha256_of(query)))
    got = await world.client.get(
        f"{world.address}/graphql",
        params={"extensions": json.dumps(named(sha256_of(query)))},
        headers={"authorization": f"Bearer {world.manager.token}"},
    )
    assert (got.status_code, got.headers["allow"]) == (405, "POST")


async def test_a_workspace_keeps_its_newest_documents(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MAX_PERSISTED", 3)
    kept = Documents(world.services.database)
    for n in range(5):
        await kept.persist(world.workspace_id, f"{{ a{n}: __typename }}")
    other = Documents(world.services.database)
    names = [sha256_of(f"{{ a{n}: __typename }}") for n in range(5)]
    found = [await other.persisted(world.workspace_id, name) is not None for name in names]
    assert found == [False, False, True, True, True]
    assert await registered(world) == 3


async def test_a_process_remembers_so_many_characters(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MAX_REMEMBERED_CHARACTERS", 60)
    kept = Documents(world.services.database)
    texts = [f"{{ a{n}: __typename }}" for n in range(4)]  # 18 characters each
    for text in texts[:3]:
        await kept.persist(world.workspace_id, text)
    assert await kept.persisted(world.workspace_id, sha256_of(texts[0])) == texts[0]
    await kept.persist(world.workspace_id, texts[3])
    assert list(kept._remembered.values()) == [texts[2], texts[0], texts[3]]
    assert kept._characters == 54
    assert await kept.persisted(world.workspace_id, sha256_of(texts[1])) == texts[1]
    await kept.persist(world.workspace_id, "{ b: __typename }" + " " * 60)
    assert (len(kept._remembered), kept._characters) == (0, 0)


@asynccontextmanager
async def serving_mode(world: World, settings: Settings, mode: str) -> AsyncIterator[None]:
    async with serving(create(settings.model_copy(update={"trusted_documents": mode}))) as address:
        world.address = address
        yield


async def test_a_server_that_takes_no_hashes_says_so(world: World, settings: Settings) -> None:
    async with serving_mode(world, settings, "off"):
        answer = await post(world.reader, extensions=named(sha256_of(QUERY)))
        assert (answer.status_code, answer.json()["errors"]) == (
            200,
            [
                {
                    "message": "PersistedQueryNotSupported",
                    "extensions": {"code": "PERSISTED_QUERY_NOT_SUPPORTED", "retryable": False},
                }
            ],
        )
        assert "data" in (await post(world.reader, query=QUERY, extensions=named(sha256_of(QUERY)))).json()
        assert await registered(world) == 0


@pytest.fixture
async def allowed(services: Services, world: World) -> AsyncIterator[str]:
    """A document that an operator registered."""
    document = fresh(world)
    async with services.database.write() as session:
        assert await trust(session, [document]) == 1
        assert await trust(session, [document]) == 0
    yield document
    async with services.database.write() as session:
        assert await distrust(session, [sha256_of(document)]) == 1
        assert await distrust(session, [sha256_of(document)]) == 0


async def test_only_what_an_operator_registered_runs(world: World, settings: Settings, allowed: str) -> None:
    async with serving_mode(world, settings, "only"):
        expected = {"data": {"viewer": {"subject": "user:reader"}}}
        assert (await post(world.reader, extensions=named(sha256_of(allowed)))).json() == expected
        assert (await post(world.reader, query=allowed)).json() == expected
        for body in (
            {"query": QUERY},
            {"query": QUERY, "extensions": named(sha256_of(QUERY))},
            {"query": "{ __schema { queryType { name } } }"},
        ):
            answer = await post(world.manager, **body)
            assert (answer.status_code, answer.json()) == (
                403,
                {
                    "errors": [
                        {
                            "message": "This server runs only the documents that its operator has registered.",
                            "extensions": {"code": "FORBIDDEN", "retryable": False},
                        }
                    ]
                },
            )
        assert (await post(world.reader, extensions=named(SHA))).json() == NOT_FOUND
        stranger = Caller(world.client, world.address, None)
        assert (await post(stranger, extensions=named(sha256_of(allowed)))).status_code == 401
        assert await registered(world) == 0


async def test_the_allow_list_holds_for_websockets_and_uploads_too(
    world: World, settings: Settings, allowed: str
) -> None:
    async with serving_mode(world, settings, "only"):
        said = []
        for query in (QUERY, allowed):
            async with websockets.connect(
                f"ws{world.address.removeprefix('http')}/graphql",
                subprotocols=[websockets.Subprotocol("graphql-transport-ws")],
                additional_headers={"authorization": f"Bearer {world.reader.token}"},
            ) as socket:
                await socket.send('{"type": "connection_init"}')
                assert json.loads(await socket.recv()) == {"type": "connection_ack"}
                await socket.send(json.dumps({"id": "1", "type": "subscribe", "payload": {"query": query}}))
                said.append(json.loads(await socket.recv()))
        assert (said[0]["type"], said[0]["payload"][0]["extensions"]["code"]) == ("error", "FORBIDDEN")
        assert (said[1]["type"], said[1]["payload"]["data"]) == ("next", {"viewer": {"subject": "user:reader"}})
        uploaded = await world.client.post(
            f"{world.address}/graphql",
            files={"operations": (None, json.dumps({"query": QUERY})), "map": (None, "{}")},
            headers={"authorization": f"Bearer {world.reader.token}", "graphql-require-preflight": "1"},
        )
        assert uploaded.json()["errors"][0]["extensions"]["code"] == "FORBIDDEN"


async def test_an_operators_document_is_known_in_every_workspace(
    world: World, settings: Settings, allowed: str
) -> None:
    async with serving_mode(world, settings, "register"):
        assert "data" in (await post(world.nobody, extensions=named(sha256_of(allowed)))).json()


async def test_a_document_that_is_taken_back_is_forgotten(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "TRUSTED_SECONDS", 0.0)
    document = fresh(world)
    kept = Documents(world.services.database)
    async with world.services.database.write() as session:
        await trust(session, [document])
    assert (await kept.trusted())[sha256_of(document)] == document
    async with world.services.database.write() as session:
        await distrust(session, [sha256_of(document)])
    assert sha256_of(document) not in await kept.trusted()


def test_documents_are_read_from_files_and_manifests(tmp_path: Path) -> None:
    (tmp_path / "a.graphql").write_text(QUERY)
    (tmp_path / "codegen.json").write_text(json.dumps({sha256_of(QUERY): QUERY}))
    operation = {"id": sha256_of(QUERY), "name": "Who", "type": "query", "body": QUERY}
    manifest = {"format": "apollo-persisted-query-manifest", "version": 1, "operations": [operation]}
    (tmp_path / "apollo.json").write_text(json.dumps(manifest))
    for name in ("a.graphql", "codegen.json", "apollo.json"):
        assert read_documents(tmp_path / name) == [QUERY]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.graphql", "{ viewer", "Syntax Error"),
        ("a.json", "{", "no document and no manifest"),
        ("a.json", "[]", "a manifest is a JSON object"),
        ("a.json", '{"abc": "{ viewer { subject } }"}', "abc is not the sha256 of its text"),
        ("a.json", '{"abc": 5}', "abc is no text"),
        ("a.json", '{"format": "apollo-persisted-query-manifest"}', "'operations'"),
        ("a.graphql", "#" * 100_001, "a document has 100001 characters, and 100000 are allowed"),
    ],
)
def test_what_is_no_document_is_named(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(click.ClickException) as refused:
        read_documents(tmp_path / name)
    assert str(tmp_path / name) in refused.value.message
    assert message in refused.value.message
