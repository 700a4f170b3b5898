"""A Starlette route that runs the statements of a retrieval and dumps the rows: what no GraphQL server can undercut.

It verifies no token, measures no cost and writes no log; asyncpg's own pools, with their defaults. Like the product it
remembers where a caller's questions to a knowledge base are searched, and keeps the plans that the product keeps.
"""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from uuid import UUID

import asyncpg
import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.access.authorizers import DatabaseAuthorizer
from app.database import ANY_SIZE, KEPT_PLANS, PLANNER, HotStatement
from app.query import parse
from app.retrieval.repository import statement
from app.retrieval.sizes import _COUNT, SMALL
from app.retrieval.statements import INDEX_COLUMNS, Form, scopes

SCOPES = HotStatement(scopes(), keep_plan=True)
_remembered: dict[tuple[str, ...], Any] = {}
_sizes: dict[UUID, int] = {}


class Plans(NamedTuple):
    """Where statements run, pools or connections: those with a plan for each call, and those whose plan is kept."""

    made: Any
    kept: Any

    async def run(self, statement: HotStatement, **parameters: object) -> Any:
        place = self.kept if statement.keep_plan else self.made
        return await place.fetch(statement.sql, *statement.arguments(parameters))


async def search(plans: Plans, workspace_id: UUID, scope: Mapping[str, Any], *, words: bool) -> HotStatement:
    """The search as the product writes it for the knowledge base of this row of SCOPES."""
    index_id, open_read = scope["index_id"], scope["open_read"]
    if index_id not in _sizes:
        (row,) = await plans.run(_COUNT, workspace_id=workspace_id, index_id=index_id)
        _sizes[index_id] = row["passages"]
    return statement(Form(words, open_read, sources=True, keep_plan=_sizes[index_id] <= SMALL[open_read]))


async def retrieve(plans: Plans, asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The two statements, one after the other; the hits as rows."""
    caller = {"workspace_id": UUID(asked["workspace"]), "subjects": asked["subjects"]}
    query = parse(asked["query"])
    key = (asked["kb"], *asked["subjects"])
    if key not in _remembered:
        (_remembered[key],) = await plans.run(SCOPES, **caller, knowledge_base_ids=[UUID(asked["kb"])])
    scope = _remembered[key]
    found = await plans.run(
        await search(plans, caller["workspace_id"], scope, words=bool(query.terms)),
        **caller,
        knowledge_base_id=scope["knowledge_base_id"],
        index_id=scope["index_id"],
        **{name: scope[name] for name in INDEX_COLUMNS},
        all_words=query.all_words,
        title_key=query.title_key,
        limit=asked["limit"],
        source_ids=None,
        denied=[],
    )
    if not found[0]["as_assumed"]:
        raise RuntimeError("the library is at rest")
    if found[0]["step"] is None:
        return []
    ids = list({row["source_id"] for row in found})
    readable = {row["id"] for row in await plans.run(DatabaseAuthorizer._READABLE, **caller, ids=ids)}
    return [
        {
            "chunkId": row["passage_id"],
            "resourceId": row["source_id"],
            "resourceVersionId": row["version_id"],
            "ordinal": row["ordinal"],
            "textHash": row["text_hash"],
            "text": row["text"],
            "rank": row["rank"],
            "source": {"title": row["title"]},
        }
        for row in found
        if row["source_id"] in readable
    ]


async def _route(request: Request) -> Response:
    hits = await retrieve(request.app.state.plans, orjson.loads(await request.body()))
    return Response(orjson.dumps({"hits": hits}, default=str), media_type="application/json")


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    async with _pool(PLANNER) as made, _pool(KEPT_PLANS) as kept:
        app.state.plans = Plans(made, kept)
        yield


def _pool(settings: Mapping[str, str]) -> Any:
    return asyncpg.create_pool(
        os.environ["BENCHMARK_URL"], min_size=2, server_settings=settings, max_cacheable_statement_size=ANY_SIZE
    )


def app() -> Starlette:
    return Starlette(routes=[Route("/retrieve", _route, methods=["POST"])], lifespan=_lifespan)
