"""The web page at `/`: a Library, its knowledge bases and a Retrieval view, all through the API (SPEC R25).

The server gives an empty page; static/page/ fills it, with the answers that /graphql gives to the visitor's own token.
"""

import json
from collections.abc import Awaitable, Callable
from html import escape

from starlette.requests import Request
from starlette.responses import Response

from app.settings import Settings
from app.web.graphiql import STATIC_URL
from app.web.visitors import offered

_FOLDER = f"{STATIC_URL}/page"
_STYLES = ("base", "controls", "frame", "pieces", "forms", "retrieval")
_ICON = "data:image/svg+xml," + (
    "%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' "
    "fill='%23195e63'/%3E%3Cpath d='M4 4.5h8M4 8h8M4 11.5h5' stroke='white' stroke-width='1.6' "
    "stroke-linecap='round'/%3E%3C/svg%3E"
)
_POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "connect-src": "'self'",  # the websocket of this origin too (CSP 3)
    "form-action": "'none'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
    "require-trusted-types-for": "'script'",  # text becomes text nodes, never markup
    "trusted-types": "'none'",
}
HEADERS = {
    "content-security-policy": "; ".join(f"{directive} {value}" for directive, value in _POLICY.items()),
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}


def library_page(settings: Settings) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint of the page for a server of these settings."""

    async def endpoint(request: Request) -> Response:
        return Response(_html(settings, request), media_type="text/html", headers=HEADERS)

    return endpoint


def _html(settings: Settings, request: Request) -> str:
    people = [each._asdict() for each in offered(settings, request)]
    return _HTML.format(
        icon=_ICON,
        styles="\n    ".join(f'<link rel="stylesheet" href="{_FOLDER}/{name}.css">' for name in _STYLES),
        folder=_FOLDER,
        max_file_bytes=settings.max_file_bytes,
        people=escape(json.dumps(people)),
        graphiql='<a href="/graphql">GraphiQL</a>' if settings.graphiql else "",
    )


_HTML = """<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>gctl</title>
    <link rel="icon" href="{icon}">
    {styles}
    <script type="module" src="{folder}/main.js"></script>
  </head>
  <body data-max-file-bytes="{max_file_bytes}" data-people="{people}">
    <a class="skip" href="#main">Skip to the content</a>
    <header id="top"></header>
    <main id="main" tabindex="-1">
      <noscript><p>This page needs JavaScript. The API behind it takes POST requests at /graphql.</p></noscript>
    </main>
    <footer>{graphiql}</footer>
    <div id="status" role="status"></div>
    <div id="said" role="status" class="visually-hidden"></div>
  </body>
</html>
"""
