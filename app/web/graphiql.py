"""GraphiQL, the page that a browser gets at /graphql. It loads nothing from elsewhere (SPEC R21).

Its files come with the package (app/web/build.py). A build that could not fetch them serves a page that names a CDN,
with the hashes of the same files, and says so.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TypedDict

STATIC_URL = "/static"  # where the application mounts STATIC_FOLDER
STATIC_FOLDER = Path(__file__).parent / "static"

_CDN = "https://cdn.jsdelivr.net/npm"
_ICON = "data:image/svg+xml," + (
    "%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    "%3Cpath d='M8 1l6 3.5v7L8 15l-6-3.5v-7z' fill='none' stroke='%23d60690' stroke-width='1.5'/%3E%3C/svg%3E"
)


class _File(TypedDict):
    package: str
    path: str
    integrity: str


@dataclass(frozen=True, slots=True)
class Page:
    """An HTML page and the headers that it is served with."""

    html: str
    headers: Mapping[str, str]


def graphiql_page(
    endpoint: str = "/graphql", tokens: Sequence[tuple[str, str]] = (), folder: Path = STATIC_FOLDER
) -> Page:
    """The page for the API at `endpoint`.

    `tokens` are (label, token) pairs that a picker offers for the Authorization header. They are readable by whoever
    opens the page: give them for the sample library on a loopback address, and nowhere else.
    """
    files = _files()
    local = all((folder / "graphiql" / name).is_file() for name in files)
    tags = [_tag(name, file, local=local) for name, file in files.items()]
    html = _HTML.format(
        icon=_ICON,
        static=STATIC_URL,
        tags="\n    ".join(tags),
        endpoint=escape(endpoint),
        tokens=escape(json.dumps([{"label": label, "token": token} for label, token in tokens])),
        notice="" if local else _NOTICE,
    )
    return Page(html, _headers("'self'" if local else f"'self' {_CDN}/"))


def _files() -> dict[str, _File]:
    files: dict[str, _File] = json.loads(Path(__file__).with_name("graphiql.json").read_text())
    return files


def _tag(name: str, file: _File, *, local: bool) -> str:
    url = f"{STATIC_URL}/graphiql/{name}" if local else f"{_CDN}/{file['package']}/{file['path']}"
    checked = f'integrity="{file["integrity"]}" crossorigin="anonymous"'
    if name.endswith(".css"):
        return f'<link rel="stylesheet" href="{url}" {checked}>'
    return f'<script defer src="{url}" {checked}></script>'


def _headers(sources: str) -> dict[str, str]:
    policy = {
        "default-src": "'none'",
        "script-src": sources,
        "style-src": sources,
        "font-src": "data:",
        "img-src": "'self' data:",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return {
        "content-security-policy": "; ".join(f"{directive} {value}" for directive, value in policy.items()),
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
    }


_NOTICE = (
    '<p id="notice">This installation was built without GraphiQL\'s files, so this page loads them from a CDN. '
    "Build it where npm's registry can be reached to have a page that needs no internet.</p>"
)

_HTML = """<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>GraphiQL</title>
    <link rel="icon" href="{icon}">
    {tags}
    <link rel="stylesheet" href="{static}/graphiql.css">
    <script defer src="{static}/graphiql.js"></script>
  </head>
  <body>
    {notice}
    <div id="graphiql" data-endpoint="{endpoint}" data-tokens="{tokens}">
      <noscript>GraphiQL needs JavaScript. The API itself takes POST requests at {endpoint}.</noscript>
    </div>
  </body>
</html>
"""
