"""The read check asked of a service of its own: whoever it is, it decides or the field fails (SPEC R12)."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from pydantic import HttpUrl

from app.access.grants import Action, grant
from app.models import SearchIndex, Workspace
from app.services import Services
from app.settings import Settings
from graphql_schema.asgi import create
from tests.access.authzen_service import WORKSPACE
from tests.access.cerbos.server import running_cerbos
from tests.access.filling import Draft, fill, served, shelve
from tests.access.scripted_server import ScriptedServer, answer, hang, json_answer, reset
from tests.serving import serving
from tests.world import READER, World

UNDECIDED = {"code": "AUTHORIZATION_UNAVAILABLE", "retryable": True}
MISCONFIGURED = {"code": "AUTHORIZATION_UNAVAILABLE", "retryable": False}


@pytest.mark.parametrize(
    ("step", "extensions"),
    [
        pytest.param(answer(503), UNDECIDED, id="down"),
        pytest.param(reset, UNDECIDED, id="breaks"),
        pytest.param(hang, UNDECIDED, id="slow"),
        pytest.param(json_answer({"evaluations": []}), UNDECIDED, id="nonsense"),
        pytest.param(json_answer({"evaluations": [{"decision": "yes"}]}), UNDECIDED, id="no decision"),
        pytest.param(answer(401), MISCONFIGURED, id="wants another credential"),
        pytest.param(answer(404), MISCONFIGURED, id="is somewhere else"),
        pytest.param(json_answer({"evaluations": [{"decision": False}]}), None, id="denies"),
        pytest.param(json_answer({"evaluations": [{"decision": True}]}), "served", id="allows"),
    ],
)
async def test_a_service_that_decides_or_does_not(
    settings: Settings, services: Services, step: Any, extensions: Any
) -> None:
    async with ScriptedServer(step) as service:
        changes = {"authzen_url": HttpUrl(service.url), "authzen_timeout_seconds": 0.3}
        async with (
            serving(create(settings.model_copy(update=changes))) as address,
            World.made(services, address) as world,
        ):
            await shelve(world, 1)
            response = (
                await world.reader.post('{ viewer { subject } retrieve(query: "quayside") { hits { ordinal } } }')
            ).json()
        assert response["data"]["viewer"] == {"subject": READER}
        if extensions in (None, "served"):
            assert response["data"]["retrieve"] == {"hits": [{"ordinal": 0}] if extensions else []}
        else:
            assert response["data"]["retrieve"] is None
            assert [error["extensions"] for error in response["errors"]] == [extensions]


async def test_cerbos_decides_for_the_whole_product(settings: Settings, services: Services) -> None:
    """Its policy (cerbos/policies/source.yaml): members read what ends in 0; the finance group all; agents nothing."""
    with running_cerbos() as url:
        changes = {
            "authzen_url": HttpUrl(url),
            "authzen_timeout_seconds": 5.0,
            "authzen_subject_properties": {"cerbos.roles": ["member"]},
            "authzen_resource_properties": {"shelf": "notice board"},
        }
        async with (
            serving(create(settings.model_copy(update=changes))) as address,
            World.made(services, address) as made,
        ):
            # The workspace that the policy is about, in place of the one that was made.
            async with services.database.write() as session:
                session.add(Workspace(id=WORKSPACE, name="cerbos"))
                await session.flush()
                session.add(SearchIndex(workspace_id=WORKSPACE, id=WORKSPACE, generation=1, state="READY"))
                await session.flush()
                for subject in ("user:ada", "user:bob", "agent:bot"):
                    await grant(session, WORKSPACE, subject, Action.WORKSPACE_READ)
            world = replace(made, workspace="cerbos", workspace_id=WORKSPACE)
            drafts = [Draft(f"Ledger {n}", f"Quayside {'crane ' * n}", "user:owner", id=UUID(int=n)) for n in range(64)]
            secret = Draft("Secret", "Quayside.", "user:owner", private=True, id=UUID(int=0x100))
            await fill(services, WORKSPACE, [*drafts, secret])
            on_the_board = [str(UUID(int=n)) for n in (0x00, 0x10, 0x20, 0x30)]
            everything = [str(draft.id) for draft in drafts]
            assert await served(world, 3, who="user:bob") == on_the_board[:3]
            assert await served(world, 50, who="user:bob") == on_the_board
            finance = await world.caller("user:ada", "group:finance").retrieve("quayside", limit=50)
            assert [hit["resourceId"] for hit in finance["hits"]] == everything[:50]
            # What the service would allow is still not admitted, and what is admitted it still denies.
            assert await served(world, 50, "secret", who="user:bob") == []
            assert await served(world, 50, who="agent:bot") == []
            assert await served(world, 50, who="user:nobody") == []
