"""Documents by their hash: Apollo's automatic persisted queries, and an allow-list.

https://www.apollographql.com/docs/apollo-server/performance/apq#protocol. A client sends `extensions.persistedQuery`
with the sha256 of a document in place of the document. The first time it is told PersistedQueryNotFound, and sends
both; from then on the hash is enough. Only a caller with a token can register, and only what it may run.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal, Protocol
from uuid import UUID

from starlette.requests import HTTPConnection

from app.access.subject import Subject
from app.errors import Forbidden, PersistedQueryNotFound, PersistedQueryNotSupported
from app.web.documents import sha256_of
from graphql_schema.http.requests import BadRequest, OperationRequest

Mode = Literal["off", "register", "only"]

_SHA256 = re.compile(r"[0-9a-f]{64}")


class Store(Protocol):
    """What app.web.documents.Documents does."""

    async def persisted(self, workspace_id: UUID, sha256: str) -> str | None: ...

    async def persist(self, workspace_id: UUID, document: str) -> None: ...

    async def trusted(self) -> Mapping[str, str]: ...


class PersistedDocuments:
    """Finds the document that a request stands for, or refuses it. Without a store the mode is `off`."""

    def __init__(self, mode: Mode, get_store: Callable[[HTTPConnection], Store] | None) -> None:
        self._mode: Mode = "off" if get_store is None else mode
        self._get_store = get_store

    async def resolve(
        self,
        request: OperationRequest,
        connection: HTTPConnection,
        subject: Subject | None,
        prepare: Callable[[OperationRequest], object],
    ) -> OperationRequest:
        """The request with its document. `prepare` raises for one that this caller may not run: it is not registered.

        Raises BadRequest, PersistedQueryNotFound, PersistedQueryNotSupported, and Forbidden for a document that is not
        on the allow-list.
        """
        sha256 = _named(request)
        if self._mode == "off" or self._get_store is None:
            if not request.query:
                raise PersistedQueryNotSupported
            return request
        if self._mode == "register" and sha256 is None:
            return request
        store = self._get_store(connection)
        if self._mode == "only":
            return await _trusted(store, request, sha256)
        if not request.query:
            return await _found(store, request, sha256 or "", subject)
        if subject is not None:
            prepare(request)
            await store.persist(subject.workspace_id, request.query)
        return request


async def _trusted(store: Store, request: OperationRequest, sha256: str | None) -> OperationRequest:
    """A text that is on the list may also be sent as it is."""
    document = (await store.trusted()).get(sha256 or sha256_of(request.query))
    if document is not None:
        return replace(request, query=document)
    if not request.query:
        raise PersistedQueryNotFound
    raise Forbidden("This server runs only the documents that its operator has registered.")


async def _found(store: Store, request: OperationRequest, sha256: str, subject: Subject | None) -> OperationRequest:
    document = (await store.trusted()).get(sha256)
    if document is None and subject is not None:
        document = await store.persisted(subject.workspace_id, sha256)
    if document is None:
        raise PersistedQueryNotFound
    return replace(request, query=document)


def _named(request: OperationRequest) -> str | None:
    """The hash that the request gives, checked against its document if it has one; None without the extension."""
    named = (request.extensions or {}).get("persistedQuery")
    if named is None:
        return None
    if not isinstance(named, dict) or named.get("version") != 1:
        raise BadRequest("extensions.persistedQuery must be an object with version 1.")
    sha256 = named.get("sha256Hash")
    if not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
        raise BadRequest("extensions.persistedQuery.sha256Hash must have 64 hexadecimal digits in lower case.")
    if request.query and sha256_of(request.query) != sha256:
        raise BadRequest("extensions.persistedQuery.sha256Hash is not the sha256 of the query.")
    return sha256
