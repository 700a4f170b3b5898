"""A short way to the endpoint that answers nearly every request."""

from collections.abc import Awaitable

from starlette.types import ASGIApp, Receive, Scope, Send


class Direct:
    """Hands HTTP requests for one path to their endpoint, all else to Starlette's exception middleware and router.

    Those try the routes in turn and wrap `send` once more, for what such an endpoint has no use for: it takes no part
    of its path, and raises no HTTPException. Any other exception goes to ServerErrorMiddleware from here as from there.
    """

    def __init__(self, app: ASGIApp, path: str, endpoint: ASGIApp) -> None:
        self._app = app
        self._path = path
        self._endpoint = endpoint

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        straight = scope["type"] == "http" and scope["path"] == self._path
        return (self._endpoint if straight else self._app)(scope, receive, send)
