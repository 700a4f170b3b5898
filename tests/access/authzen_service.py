"""What the tests of the AuthZEN client share: callers, sources, an honest service, and a client that asks it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import orjson
from pydantic import HttpUrl, SecretStr

from app.access.authzen import AuthZenAuthorizer
from app.access.subject import Subject
from app.settings import Settings
from tests.access.scripted_server import Received, Step, json_answer

WORKSPACE, OTHER_WORKSPACE = UUID(int=0xA), UUID(int=0xB)
CREDENTIAL = "credential-7f3a"
ADA = Subject(WORKSPACE, "user:ada", frozenset({"group:legal", "group:finance"}))
BOB = Subject(WORKSPACE, "user:bob")


def ids(count: int) -> list[UUID]:
    return [UUID(int=n) for n in range(1, count + 1)]


@asynccontextmanager
async def asking(url: str, **changes: Any) -> AsyncIterator[AuthZenAuthorizer]:
    defaults: dict[str, Any] = {
        "authzen_token": SecretStr(CREDENTIAL),
        "authzen_subject_properties": {"cerbos.roles": ["member"]},
        "authzen_resource_properties": {"shelf": "notice board"},
        "authzen_timeout_seconds": 1.0,
    }
    authorizer = AuthZenAuthorizer(Settings(authzen_url=HttpUrl(url), **(defaults | changes)))
    try:
        yield authorizer
    finally:
        await authorizer.aclose()


def deciding(decide: Callable[[UUID], bool]) -> Step:
    """An honest service."""

    async def step(received: Received, writer: asyncio.StreamWriter) -> None:
        asked = [UUID(e["resource"]["id"]) for e in orjson.loads(received.body)["evaluations"]]
        await json_answer({"evaluations": [{"decision": decide(source_id)} for source_id in asked]})(received, writer)

    return step


allow_all = deciding(lambda _: True)
