"""Where both halves meet: what uvicorn serves."""

import gc

from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request

from app.access.authorizers import Authorizer
from app.logs import configure_logs
from app.settings import Settings
from app.web.application import create_app
from app.web.callers import Callers
from app.web.documents import Documents
from app.web.graphiql import Page, graphiql_page
from app.web.visitors import offered
from graphql_schema.context import Context
from graphql_schema.http import GraphQLOverHTTP
from graphql_schema.mcp import McpDoor
from graphql_schema.schema import schema

GC_OBJECTS = 20_000


async def get_context(connection: HTTPConnection) -> Context:
    """A fresh context for one operation. Raises Unauthenticated for a token that is not good."""
    callers: Callers = connection.state.callers
    caller = await callers.of(connection.scope)
    if caller is None:
        return Context(connection.state.services, None)
    return Context(connection.state.services, caller.subject, caller.workspace)


def get_documents(connection: HTTPConnection) -> Documents:
    """The server's store of documents that are named by their hash."""
    documents: Documents = connection.state.documents
    return documents


def create(settings: Settings, authorizer: Authorizer | None = None) -> Starlette:
    """The server of these settings; `authorizer` decides in place of the one that they name."""

    def graphiql(request: Request) -> Page:
        return graphiql_page(tokens=[(label, token) for _, label, token in offered(settings, request)])

    page = graphiql if settings.graphiql else None
    graphql = GraphQLOverHTTP(schema, get_context, settings, page, get_documents)
    return create_app(settings, graphql, McpDoor(graphql.operations, get_context, settings), authorizer)


def app() -> Starlette:
    """The server of the environment's settings: uvicorn's factory."""
    settings = Settings()
    configure_logs(settings)
    server = create(settings)
    # What is there now stays: collections need not go through it again and again. What a request makes is mostly gone
    # when it ends, and Python's usual 700 objects have it looked through several times before. No gain was measured.
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_OBJECTS, 10, 10)
    return server
