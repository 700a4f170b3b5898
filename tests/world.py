"""A small world for a test: a workspace, sources with rights, knowledge bases, and callers who ask over HTTP."""

import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx2

from app.access.grants import Action, grant, revoke
from app.access.subject import Subject
from app.access.tokens import issue
from app.access.workspaces import ensure_workspace
from app.services import Services

MANAGER = "user:manager"
READER = "user:reader"
HIT = "chunkId resourceId resourceVersionId ordinal textHash snippetSafe rank text"
RETRIEVE = """
query R($kb: ID, $query: String!, $limit: Int! = 10, $ids: [ID!], $match: MatchMode! = ALL_WORDS) {
  retrieve(knowledgeBaseId: $kb, query: $query, limit: $limit, sourceIds: $ids, match: $match) {
    notice
    index { state generation }
    hits {
      chunkId resourceId resourceVersionId ordinal textHash snippetSafe rank text
      source { title }
      snippet { text highlights { start end } }
      highlights { start end }
    }
  }
}"""


class RefusedError(Exception):
    """The answer had errors: `errors` as they came, and the `code` of the first."""

    def __init__(self, errors: list[dict[str, Any]], status: int) -> None:
        super().__init__(errors)
        self.errors = errors
        self.status = status
        self.extensions: dict[str, Any] = errors[0].get("extensions", {})
        self.code: str = self.extensions.get("code", "")


@dataclass
class Caller:
    """Somebody with a token."""

    client: httpx2.AsyncClient
    address: str
    token: str | None

    async def post(self, query: str, variables: dict[str, Any] | None = None) -> httpx2.Response:
        headers = {} if self.token is None else {"authorization": f"Bearer {self.token}"}
        body = {"query": query, "variables": variables or {}}
        return await self.client.post(f"{self.address}/graphql", json=body, headers=headers)

    async def ask(self, query: str, /, **variables: Any) -> dict[str, Any]:
        """The data of an answer without errors. Raises RefusedError."""
        response = await self.post(query, variables)
        answer = response.json()
        if answer.get("errors"):
            raise RefusedError(answer["errors"], response.status_code)
        data: dict[str, Any] = answer["data"]
        return data

    async def change(self, mutation: str, selection: str, **fields: Any) -> dict[str, Any]:
        """Run a mutation with this `input`; its payload."""
        type_name = mutation[0].upper() + mutation[1:] + "Input"
        document = f"mutation M($input: {type_name}!) {{ {mutation}(input: $input) {{ {selection} }} }}"
        data = await self.ask(document, input=fields)
        payload: dict[str, Any] = data[mutation]
        return payload

    async def retrieve(self, query: str, kb: str | None = None, **arguments: Any) -> dict[str, Any]:
        """The whole Retrieval. `limit`, `ids` and `match` as GraphQL takes them."""
        data = await self.ask(RETRIEVE, query=query, kb=kb, **arguments)
        answer: dict[str, Any] = data["retrieve"]
        return answer

    async def titles(self, query: str, kb: str | None = None, **arguments: Any) -> list[str]:
        """The titles of the hits' sources, in order."""
        return [hit["source"]["title"] for hit in (await self.retrieve(query, kb, **arguments))["hits"]]

    async def hits(self, query: str, kb: str | None = None, **arguments: Any) -> list[tuple[str, int]]:
        """The hits as (title, ordinal), in order."""
        found = (await self.retrieve(query, kb, **arguments))["hits"]
        return [(hit["source"]["title"], hit["ordinal"]) for hit in found]


@dataclass
class World:
    """One workspace. `user:manager` manages and reads the Library, `user:reader` holds workspace.read."""

    services: Services
    address: str
    client: httpx2.AsyncClient
    workspace: str
    workspace_id: UUID
    sources: dict[str, str] = field(default_factory=dict)

    @classmethod
    @asynccontextmanager
    async def made(cls, services: Services, address: str) -> AsyncIterator["World"]:
        name = f"test-{uuid.uuid4()}"
        async with services.database.write() as session:
            workspace_id = await ensure_workspace(session, name)
            for action in (Action.LIBRARY_MANAGE, Action.LIBRARY_READ):
                await grant(session, workspace_id, MANAGER, action)
            await grant(session, workspace_id, READER, Action.WORKSPACE_READ)
        async with httpx2.AsyncClient(timeout=30) as client:
            yield cls(services, address, client, name, workspace_id)

    def caller(self, subject: str, *groups: str) -> Caller:
        token = issue(self.services.settings, subject, self.workspace, groups, timedelta(hours=1))
        return Caller(self.client, self.address, token)

    def subject(self, subject: str, *groups: str) -> Subject:
        return Subject(self.workspace_id, subject, frozenset(groups))

    @property
    def manager(self) -> Caller:
        return self.caller(MANAGER)

    @property
    def reader(self) -> Caller:
        return self.caller(READER)

    @property
    def nobody(self) -> Caller:
        return self.caller("user:nobody")

    async def add(
        self,
        title: str,
        text: str,
        description: str | None = None,
        *,
        private: bool = False,
        by: Caller | None = None,
        media_type: str = "text/markdown",
    ) -> str:
        """Add a source; its id, also in `sources` by its title."""
        payload = await (by or self.manager).change(
            "addSource",
            "source { id } version { id status statusReason passageCount }",
            title=title,
            description=description,
            private=private,
            file={"name": "file.md", "mediaType": media_type, "text": text},
        )
        assert payload["version"]["status"] == "INDEXED", payload["version"]
        self.sources[title] = payload["source"]["id"]
        return self.sources[title]

    async def knowledge_base(self, *titles: str, auto_refresh: bool = True) -> str:
        """A knowledge base of these sources, with an index that is READY; its id."""
        payload = await self.manager.change(
            "createKnowledgeBase",
            "knowledgeBase { id }",
            name="Base",
            sourceIds=[self.sources[title] for title in titles],
            autoRefresh=auto_refresh,
        )
        base_id: str = payload["knowledgeBase"]["id"]
        await self.manager.change("rebuildIndex", "index { id }", knowledgeBaseId=base_id)
        await self.work()
        return base_id

    async def work(self) -> None:
        """Do the jobs that are due, of this and every other test's workspace."""
        await self.services.worker.run_until_idle()

    async def grant(self, subject: str, action: str, source_id: str | None = None) -> None:
        async with self.services.database.write() as session:
            await grant(
                session, self.workspace_id, subject, Action(action), None if source_id is None else UUID(source_id)
            )

    async def revoke(self, subject: str, action: str, source_id: str | None = None) -> None:
        async with self.services.database.write() as session:
            await revoke(
                session, self.workspace_id, subject, Action(action), None if source_id is None else UUID(source_id)
            )


def ids(hits: Sequence[dict[str, Any]]) -> list[str]:
    return [hit["resourceId"] for hit in hits]
