"""The AuthZEN client (SPEC R12): what it asks, and what a real Cerbos answers."""

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from pydantic import HttpUrl, SecretStr

from app.access.authzen import AuthZenAuthorizer
from app.access.subject import Subject
from app.errors import AuthorizerMisconfigured, InvalidInput
from app.settings import Settings
from tests.access.authzen_service import (
    ADA,
    BOB,
    CREDENTIAL,
    OTHER_WORKSPACE,
    WORKSPACE,
    allow_all,
    asking,
    deciding,
    ids,
)
from tests.access.cerbos.server import running_cerbos
from tests.access.scripted_server import Received, ScriptedServer


@pytest.fixture(scope="module")
def cerbos_url() -> Iterator[str]:
    with running_cerbos() as url:
        yield url


async def test_cerbos_allows_and_denies_by_attributes_in_order(cerbos_url: str) -> None:
    hundred_and_twenty = ids(120)
    on_the_board = [str(source_id).endswith("0") for source_id in hundred_and_twenty]
    assert sum(on_the_board) == 7
    async with asking(cerbos_url, authzen_timeout_seconds=5) as authorizer:
        assert await authorizer.check(BOB, hundred_and_twenty) == on_the_board
        assert await authorizer.check(BOB, hundred_and_twenty[::-1]) == on_the_board[::-1]
        assert await authorizer.check(ADA, hundred_and_twenty) == [True] * 120
        assert await authorizer.check(Subject(WORKSPACE, "agent:bot", ADA.groups), ids(16)) == [False] * 16
        assert await authorizer.check(Subject(OTHER_WORKSPACE, "user:ada", ADA.groups), ids(16)) == [False] * 16


@pytest.mark.parametrize(
    "changes", [{"authzen_subject_properties": {}}, {"authzen_subject_properties": {"cerbos.roles": ["guest"]}}]
)
async def test_cerbos_denies_who_has_no_role(cerbos_url: str, changes: dict[str, Any]) -> None:
    async with asking(cerbos_url, authzen_timeout_seconds=5, **changes) as authorizer:
        assert await authorizer.check(ADA, ids(16)) == [False] * 16


async def test_a_batch_that_cerbos_finds_too_large_is_for_the_operator(
    cerbos_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with asking(cerbos_url, authzen_timeout_seconds=5, authzen_batch_size=51) as authorizer:
        with pytest.raises(AuthorizerMisconfigured):
            await authorizer.check(ADA, ids(51))
    errors = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert [message.split(".")[0] for message in errors] == ["The authorization service answered 400"]


async def test_the_question_is_authzen() -> None:
    subject = Subject(WORKSPACE, "agent:bot:7", frozenset({"group:b", "group:a"}))
    async with ScriptedServer(allow_all) as server, asking(f"{server.url}/pdp/") as authorizer:
        assert await authorizer.check(subject, ids(1)) == [True]
    received = server.requests[0]
    assert received.target == "/pdp/access/v1/evaluations"
    assert received.headers["authorization"] == f"Bearer {CREDENTIAL}"
    assert received.headers["content-type"] == "application/json"
    assert orjson.loads(received.body) == {
        "subject": {
            "type": "agent",
            "id": "bot:7",
            "properties": {
                "cerbos.roles": ["member"],
                "workspace_id": str(WORKSPACE),
                "groups": ["group:a", "group:b"],
            },
        },
        "action": {"name": "source.read"},
        "evaluations": [
            {
                "resource": {
                    "type": "source",
                    "id": "00000000-0000-0000-0000-000000000001",
                    "properties": {"shelf": "notice board", "workspace_id": str(WORKSPACE)},
                }
            }
        ],
        "options": {"evaluations_semantic": "execute_all"},
    }


async def test_settings_cannot_overrule_workspace_and_groups() -> None:
    forged = {"workspace_id": "x", "groups": ["group:root"]}
    changes = {"authzen_subject_properties": forged, "authzen_resource_properties": forged}
    async with ScriptedServer(allow_all) as server, asking(server.url, **changes) as authorizer:
        await authorizer.check(BOB, ids(1))
    question = orjson.loads(server.requests[0].body)
    assert question["subject"]["properties"] == {"workspace_id": str(WORKSPACE), "groups": []}
    assert question["evaluations"][0]["resource"]["properties"]["workspace_id"] == str(WORKSPACE)


async def test_nothing_is_asked_about_nothing_and_once_about_the_same() -> None:
    async with ScriptedServer(deciding(lambda source_id: source_id.int == 2)) as server:
        async with asking(server.url) as authorizer:
            assert await authorizer.check(ADA, []) == []
            assert server.requests == []
            one, two = ids(2)
            assert await authorizer.check(ADA, [two, one, two, two, one]) == [True, False, True, True, False]
        assert [len(orjson.loads(r.body)["evaluations"]) for r in server.requests] == [2]


async def test_chunks_go_side_by_side() -> None:
    async def after_a_while(received: Received, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.2)
        await deciding(lambda source_id: source_id.int % 3 == 0)(received, writer)

    async with ScriptedServer(after_a_while) as server, asking(server.url, authzen_attempts=1) as authorizer:
        assert await authorizer.check(ADA, ids(120)) == [n % 3 == 0 for n in range(1, 121)]
        assert sorted(len(orjson.loads(r.body)["evaluations"]) for r in server.requests) == [20, 50, 50]


async def test_the_client_serves_many_checks_over_few_connections() -> None:
    async with ScriptedServer(allow_all) as server, asking(server.url, authzen_timeout_seconds=5) as authorizer:
        answers = await asyncio.gather(*(authorizer.check(ADA, ids(3)) for _ in range(200)))
        assert answers == [[True] * 3] * 200
        assert server.connections == 64


@pytest.mark.parametrize("credential", ["a\nb", "é", "a\x7f"])
def test_a_credential_that_is_no_header_is_refused_at_the_start(credential: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        AuthZenAuthorizer(Settings(authzen_url=HttpUrl("http://pdp.example"), authzen_token=SecretStr(credential)))
    assert caught.value.message == "authzen_token: must be printable ASCII: it is sent as a header."
