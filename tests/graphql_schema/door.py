"""A small schema behind the real endpoint: what the door does is tested apart from what the product does."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import httpx2
import strawberry
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp

from app.access.subject import Subject
from app.errors import IndexNotReady, InvalidInput, NotFound, Unauthenticated
from app.settings import Settings
from app.web.graphiql import Page
from graphql_schema.http import GraphQLOverHTTP

ADA = Subject(UUID(int=1), "user:ada")
TOKEN = {"authorization": "Bearer ada"}


def _fault() -> Exception:
    return RuntimeError("SELECT secret FROM /etc/passwd")


@dataclass
class Events:
    """What the resolvers see and do; a test reads and sets it."""

    started: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    release: asyncio.Event = field(default_factory=asyncio.Event)
    raises: Exception = field(default_factory=_fault)


@dataclass
class Context:
    subject: Subject | None
    events: Events

    def abandon(self) -> None:
        """Nothing of this schema outlives its resolvers."""


Info = strawberry.Info[Context, None]


def _checked(first: int) -> int:
    if first > 100:
        raise InvalidInput("first", "must be from 1 to 100.")
    return first


@strawberry.type
class Item:
    name: str

    @strawberry.field
    def items(self, first: int = 20) -> list["Item"]:
        return [Item(name=f"{self.name}.{n}") for n in range(_checked(first))]

    @strawberry.field
    def child(self) -> "Item":
        return Item(name=f"{self.name}'")


@strawberry.type
class Query:
    @strawberry.field
    def viewer(self, info: Info) -> str:
        return info.context.subject.id if info.context.subject else "nobody"

    @strawberry.field
    def item(self, name: str = "a") -> Item | None:
        return Item(name=name)

    @strawberry.field
    def items(self, first: int = 20) -> list[Item]:
        return [Item(name=str(n)) for n in range(_checked(first))]

    @strawberry.field
    def retrieve(self, query: str, limit: int = 10, source_ids: list[strawberry.ID] | None = None) -> list[Item] | None:
        return [] if source_ids == [] else [Item(name=query)] * _checked(limit)

    @strawberry.field
    async def wait(self, info: Info) -> str | None:
        events = info.context.events
        events.started.set()
        try:
            await events.release.wait()
        except asyncio.CancelledError:
            events.cancelled.set()
            raise
        return "waited"

    @strawberry.field
    def refused(self, how: str) -> str | None:
        raise {
            "missing": NotFound("source"),
            "input": InvalidInput("limit", "must be from 1 to 50"),
            "index": IndexNotReady("STALE", "REFRESH"),
        }[how]

    @strawberry.field
    def broken(self, info: Info) -> str | None:
        raise info.context.events.raises

    @strawberry.field
    def broken_and_needed(self, info: Info) -> str:
        raise info.context.events.raises

    @strawberry.field
    def unserializable(self) -> int | None:
        return "not a number: hunter2"  # type: ignore[return-value]  # that is the point


@strawberry.type
class Mutation:
    @strawberry.mutation
    def rename(self, name: str) -> Item:
        return Item(name=name)


@strawberry.type
class Subscription:
    @strawberry.subscription
    async def count(self, to: int) -> AsyncGenerator[int, None]:
        for n in range(to):
            yield n

    @strawberry.subscription
    async def fails(self, info: Info) -> AsyncGenerator[int, None]:
        yield 1
        raise info.context.events.raises


SCHEMA = strawberry.Schema(query=Query, mutation=Mutation, subscription=Subscription)


def invalid(message: str) -> dict[str, Any]:
    """The answer to a request that holds no GraphQL request."""
    return {"errors": [{"message": message, "extensions": {"code": "INVALID_INPUT", "retryable": False}}]}


class Door:
    """The endpoint at /graphql, its events, and a client that talks to it in process."""

    def __init__(self, page: Callable[[Request], Page] | None = None, **settings: Any) -> None:
        self.events = Events()
        self.contexts: list[Context] = []
        self.endpoint = GraphQLOverHTTP(SCHEMA, self._context, Settings(**settings), page)
        self.app: ASGIApp = Starlette(
            routes=[Route("/graphql", self.endpoint), WebSocketRoute("/graphql", self.endpoint)]
        )

    async def _context(self, request: Request) -> Context:
        token = request.headers.get("authorization")
        if token not in {None, "Bearer ada"}:
            raise Unauthenticated("The token is not valid.")
        context = Context(ADA if token else None, self.events)
        self.contexts.append(context)
        return context

    def client(self, **headers: str) -> httpx2.AsyncClient:
        """Signed in as Ada, and taking graphql-response+json, unless `headers` say otherwise."""
        transport = httpx2.ASGITransport(self._with_request_id)
        defaults = {"accept": "application/graphql-response+json", **TOKEN}
        return httpx2.AsyncClient(transport=transport, base_url="http://test", headers=defaults | headers)

    async def _with_request_id(self, scope: Any, receive: Any, send: Any) -> None:
        scope.setdefault("state", {})["request_id"] = "r-1"
        await self.app(scope, receive, send)

    async def post(self, query: str, variables: dict[str, Any] | None = None, **headers: str) -> httpx2.Response:
        async with self.client(**headers) as client:
            return await client.post("/graphql", json={"query": query, "variables": variables})
