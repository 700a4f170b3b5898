"""The short way to /graphql answers as the router does, and a fault there is told to nobody but the log."""

from typing import Any

import httpx2
from structlog.testing import capture_logs

from app.web.application import create_app
from tests.world import World


class _NoDoor:
    routes = ()

    def running(self) -> Any:
        raise NotImplementedError


class _Broken:
    async def __call__(self, *_: Any) -> None:
        raise RuntimeError("SELECT secret")


async def test_a_fault_of_the_endpoint_is_masked_and_has_its_line(world: World) -> None:
    app = create_app(world.services.settings, _Broken(), _NoDoor())
    transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
        with capture_logs() as logs:
            response = await client.post("/graphql", json={"query": "{ viewer { id } }"})
    assert (response.status_code, response.text) == (500, "Internal Server Error")
    assert [(entry["event"], entry["path"]) for entry in logs] == [("request", "/graphql")]


async def test_only_the_path_itself_is_short_cut(world: World) -> None:
    async with httpx2.AsyncClient(base_url=world.address) as client:
        assert (await client.post("/graphql", json={"query": "{ __typename }"})).status_code == 200
        assert (await client.post("/graphql/", json={"query": "{ __typename }"})).status_code == 307
        assert (await client.post("/graphqlx", json={"query": "{ __typename }"})).status_code == 404
