"""GraphQL over HTTP as one ASGI application (SPEC R21).

GET for queries, POST for queries and mutations, multipart POST for uploads, no batches. Statuses and media types are
those of https://graphql.github.io/graphql-over-http/draft/; a refusal at any stage has a JSON body with `errors` whose
`extensions.code` says why (SPEC R22).
"""

from collections.abc import Awaitable, Callable, Collection

import orjson
import structlog
from graphql import OperationType
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from strawberry import Schema

from app.errors import Unauthenticated
from app.settings import Settings
from app.web.graphiql import Page
from graphql_schema.http.connection import Connected
from graphql_schema.http.negotiation import GRAPHQL_RESPONSE, JSON, response_type
from graphql_schema.http.operations import ONE_ANSWER, QUERIES, Answer, Caller, Operations, refusal
from graphql_schema.http.persisted import PersistedDocuments, Store
from graphql_schema.http.requests import BadRequest, ClientGone, OperationRequest, read_request, request_id
from graphql_schema.http.uploads import is_upload, read_upload
from graphql_schema.http.websocket import TransportWS

log = structlog.stdlib.get_logger(__name__)


class GraphQLOverHTTP:
    """The endpoint. `get_context` makes a fresh context for each operation, or raises Unauthenticated.

    `page` is what a browser gets that opens the address without a query; None: no page. `get_documents` gives the
    store of documents that are named by their hash; None: there is none.
    """

    def __init__(
        self,
        schema: Schema,
        get_context: Callable[[Request], Awaitable[Caller]],
        settings: Settings,
        page: Callable[[Request], Page] | None = None,
        get_documents: Callable[[HTTPConnection], Store] | None = None,
    ) -> None:
        self.operations = Operations(schema, settings)
        self._get_context = get_context
        self._settings = settings
        self._page = page
        self._documents = PersistedDocuments(settings.trusted_documents, get_documents)
        self._websocket = TransportWS(self.operations, get_context, self._documents)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
            return
        request = Request(scope)
        try:
            response = await self._respond(request, receive)
        except ClientGone:
            log.info("client_gone", request_id=request_id(request))
            return
        await response(scope, receive, send)

    async def _respond(self, request: Request, receive: Receive) -> ASGIApp:
        media_type = response_type(
            ",".join([value.decode("latin-1") for name, value in request.scope["headers"] if name == b"accept"])
        )
        if self._page is not None and _wants_page(request):
            page = self._page(request)
            return Response(page.html, media_type="text/html", headers=page.headers)
        try:
            answer = await self._answer(request, receive, media_type)
            return _Response(answer, media_type or JSON)
        except ClientGone:
            raise
        except Exception as error:
            return _Response(refusal(error, request_id(request)), media_type or JSON)

    async def _answer(self, request: Request, receive: Receive, media_type: str | None) -> Answer:
        if request.method not in {"GET", "POST"}:
            raise BadRequest("Use GET or POST.", 405, {"allow": "GET, POST"})
        if media_type is None:
            raise BadRequest(f"The answer is {GRAPHQL_RESPONSE} or {JSON}, and Accept takes neither.", 406)
        if is_upload(request):
            return await self._answer_upload(request, receive)
        asked = await read_request(request, receive, self._settings.max_body_bytes)
        async with Connected(receive):
            context = await self._get_context(request)
            kinds = QUERIES if request.method == "GET" else ONE_ANSWER
            return await self._run(asked, request, context, kinds)

    async def _answer_upload(self, request: Request, receive: Receive) -> Answer:
        """The caller is asked for before the body is read: it is large, and fills the disk."""
        context = await self._get_context(request)
        if context.subject is None:
            raise Unauthenticated("Uploads need a token: send the header `Authorization: Bearer …`.")
        async with read_upload(request, receive, self._settings) as asked, Connected(receive):
            return await self._run(asked, request, context, ONE_ANSWER)

    async def _run(
        self, asked: OperationRequest, request: Request, context: Caller, kinds: Collection[OperationType]
    ) -> Answer:
        """Find the document of a request that names it by its hash, and run it."""
        asked = await self._documents.resolve(
            asked, request, context.subject, lambda whole: self.operations.prepare(whole, context, kinds)
        )
        return await self.operations.run(asked, context, request_id(request), kinds)


def _wants_page(request: Request) -> bool:
    return (
        request.method == "GET"
        and "text/html" in request.headers.get("accept", "")
        and "query" not in request.query_params
    )


class _Response:
    """An answer on its way. Starlette's Response works out of each header what is known here."""

    def __init__(self, answer: Answer, media_type: str) -> None:
        self._body = orjson.dumps(answer.body)
        # A JSON client of the old kind gets 200 for whatever is about its document (section 6.4.1).
        self._status = 200 if answer.about_the_document and media_type == JSON else answer.status
        self._headers = [
            (b"content-type", f"{media_type}; charset=utf-8".encode()),
            (b"cache-control", b"no-store"),
            *[(name.encode(), value.encode()) for name, value in answer.headers.items()],
            (b"content-length", b"%d" % len(self._body)),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        await send({"type": "http.response.start", "status": self._status, "headers": self._headers})
        await send({"type": "http.response.body", "body": self._body})
