"""A Starlette route that runs the statements of a retrieval and dumps the rows: what no GraphQL server can undercut.

It verifies no token, measures no cost and writes no log; asyncpg's own pool, with its defaults.
"""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import asyncpg
import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.access.authorizers import DatabaseAuthorizer
from app.database import PLANNER, HotStatement
from app.library.sources import _BY_ID
from app.query import parse
from app.retrieval.repository import _SCOPES, _SEARCH


async def retrieve(connection: Any, asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The four statements, one after the other, on a pool or a connection; the hits as rows."""

    async def run(statement: HotStatement, **parameters: object) -> Any:
        return await connection.fetch(statement.sql, *statement.arguments(caller | parameters))

    caller = {"workspace_id": UUID(asked["workspace"]), "subjects": asked["subjects"]}
    query = parse(asked["query"])
    (scope,) = await run(_SCOPES, knowledge_base_ids=[UUID(asked["kb"])])
    found = await run(
        _SEARCH[bool(query.terms)],
        index_id=scope["index_id"],
        open_read=scope["open_read"],
        all_words=query.all_words,
        title_key=query.title_key,
        limit=asked["limit"],
        source_ids=None,
        denied=[],
    )
    ids = list({row["source_id"] for row in found})
    readable = {row["id"] for row in await run(DatabaseAuthorizer._READABLE, ids=ids)}
    titles = {row["id"]: row["title"] for row in await run(_BY_ID, ids=ids)}
    return [
        {
            "chunkId": row["passage_id"],
            "resourceId": row["source_id"],
            "resourceVersionId": row["version_id"],
            "ordinal": row["ordinal"],
            "textHash": row["text_hash"],
            "text": row["text"],
            "rank": row["rank"],
            "source": {"title": titles[row["source_id"]]},
        }
        for row in found
        if row["source_id"] in readable
    ]


async def _route(request: Request) -> Response:
    hits = await retrieve(request.app.state.pool, orjson.loads(await request.body()))
    return Response(orjson.dumps({"hits": hits}, default=str), media_type="application/json")


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    async with asyncpg.create_pool(os.environ["BENCHMARK_URL"], min_size=2, server_settings=PLANNER) as pool:
        app.state.pool = pool
        yield


def app() -> Starlette:
    return Starlette(routes=[Route("/retrieve", _route, methods=["POST"])], lifespan=_lifespan)
