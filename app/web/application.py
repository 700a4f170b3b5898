"""The web application: routes, middleware and what lives as long as it does, in one readable place."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Protocol

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.types import ASGIApp

from app.access.authorizers import Authorizer
from app.access.tokens import TokenVerifier
from app.services import open_services
from app.settings import Settings
from app.web.assets import Assets
from app.web.authentication import Authenticator
from app.web.callers import Callers
from app.web.direct import Direct
from app.web.documents import Documents
from app.web.graphiql import STATIC_FOLDER, STATIC_URL
from app.web.health import healthz, readyz
from app.web.page import library_page
from app.web.requests import RequestLog
from app.web.working import working


class Door(Protocol):
    """A part of the server with routes of its own, and with something that runs while they answer."""

    @property
    def routes(self) -> Sequence[BaseRoute]: ...

    def running(self) -> AbstractAsyncContextManager[None]: ...


def create_app(settings: Settings, graphql: ASGIApp, mcp: Door, authorizer: Authorizer | None = None) -> Starlette:
    """The whole server of these settings. `graphql` and `mcp` find `services` and `callers` in their scope's state.

    `authorizer` decides in place of the one that the settings name.
    """

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[Mapping[str, Any]]:
        async with AsyncExitStack() as stack:
            services = await stack.enter_async_context(open_services(settings, authorizer, use_replicas=True))
            verifier = TokenVerifier(settings)
            stack.push_async_callback(verifier.aclose)
            if settings.worker_in_server:
                await stack.enter_async_context(working(services.worker))
            await stack.enter_async_context(mcp.running())
            yield {
                "services": services,
                "callers": Callers(Authenticator(verifier), services.database),
                "documents": Documents(services.database),
            }

    routes: list[BaseRoute] = [
        Route("/", library_page(settings)),
        Route("/graphql", graphql),
        WebSocketRoute("/graphql", graphql),
        *mcp.routes,
        Route("/healthz", healthz),
        Route("/readyz", readyz),
        Mount(STATIC_URL, Assets(directory=STATIC_FOLDER)),
    ]
    middleware = [Middleware(RequestLog), Middleware(Direct, path="/graphql", endpoint=graphql)]
    return Starlette(routes=routes, middleware=middleware, lifespan=lifespan)
