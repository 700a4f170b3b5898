"""The product's schema behind strawberry's own view: no remembered operations, no plans, no limits."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.websockets import WebSocket
from strawberry.asgi import GraphQL

from app.access.tokens import TokenVerifier
from app.services import open_services
from app.settings import Settings
from app.web.authentication import Authenticator
from app.web.callers import Callers
from graphql_schema.asgi import get_context
from graphql_schema.context import Context
from graphql_schema.schema import schema


class View(GraphQL[Context, None]):
    async def get_context(self, request: Request | WebSocket, response: Response | WebSocket) -> Context:  # noqa: ARG002
        return await get_context(request)


@asynccontextmanager
async def _lifespan(_: Starlette) -> AsyncIterator[Mapping[str, Any]]:
    settings = Settings()
    async with open_services(settings) as services:
        callers = Callers(Authenticator(TokenVerifier(settings)), services.database)
        yield {"services": services, "callers": callers}


def app() -> Starlette:
    return Starlette(routes=[Route("/graphql", View(schema, graphql_ide=None))], lifespan=_lifespan)
