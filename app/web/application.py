"""The web application: routes, middleware and what lives as long as it does, in one readable place."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from app.access.authorizers import Authorizer
from app.access.tokens import TokenVerifier
from app.services import open_services
from app.settings import Settings
from app.web.authentication import Authenticator
from app.web.callers import Callers
from app.web.graphiql import STATIC_FOLDER, STATIC_URL
from app.web.health import healthz, readyz
from app.web.requests import RequestLog
from app.web.working import working


def create_app(settings: Settings, graphql: ASGIApp, authorizer: Authorizer | None = None) -> Starlette:
    """The whole server of these settings. `graphql` finds `services` and `callers` in its scope's state.

    `authorizer` decides in place of the one that the settings name.
    """

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[Mapping[str, Any]]:
        async with AsyncExitStack() as stack:
            services = await stack.enter_async_context(open_services(settings, authorizer))
            verifier = TokenVerifier(settings)
            stack.push_async_callback(verifier.aclose)
            if settings.worker_in_server:
                await stack.enter_async_context(working(services.worker))
            yield {"services": services, "callers": Callers(Authenticator(verifier), services.database)}

    routes: list[BaseRoute] = [
        Route("/graphql", graphql),
        WebSocketRoute("/graphql", graphql),
        Route("/healthz", healthz),
        Route("/readyz", readyz),
        Mount(STATIC_URL, StaticFiles(directory=STATIC_FOLDER)),
    ]
    return Starlette(routes=routes, middleware=[Middleware(RequestLog)], lifespan=lifespan)
