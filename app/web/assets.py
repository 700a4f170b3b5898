"""The files of the pages: served as they are, never guessed at, and never older than the server."""

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope


class Assets(StaticFiles):
    """A browser asks each time whether a file is still the one it has: modules of two releases never meet."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["cache-control"] = "no-cache"
        response.headers["x-content-type-options"] = "nosniff"
        return response
