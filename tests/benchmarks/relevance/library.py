"""A library on a database of its own, filled through the product and asked through the product."""

import contextlib
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from app.access.grants import Action, grant
from app.access.subject import Subject
from app.access.workspaces import ensure_workspace
from app.importing import import_documents
from app.knowledge_bases.lifecycle import Work
from app.knowledge_bases.repository import create_knowledge_base
from app.knowledge_bases.work import request_work
from app.retrieval.request import MAX_LIMIT, MAX_QUERY_CHARACTERS, MatchMode, retrieve_request
from app.retrieval.service import Answer
from app.services import Services, open_services
from app.settings import Settings
from tests.benchmarks.relevance.collections import documents

READER = "user:reader"


@contextlib.asynccontextmanager
async def own_services() -> AsyncIterator[Services]:
    """The product on an embedded server that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="gctl-relevance-", ignore_cleanup_errors=True) as folder:
        settings = Settings.model_validate(
            {
                "database_url": None,
                "data_dir": Path(folder) / "data",
                "log_level": "warning",
                "statement_timeout_ms": 60_000,
            }
        )
        async with open_services(settings) as services:
            yield services


@dataclass(frozen=True)
class Searched:
    """A collection in a knowledge base of its own. `names`: the external id of each source."""

    services: Services
    subject: Subject
    base_id: UUID
    names: dict[UUID, str]

    async def ranking(self, query: str, match: MatchMode) -> list[str]:
        """The documents of the first 50 hits, each at the place of its best one."""
        hits = await self.hits(query, match)
        return list(dict.fromkeys(hits))

    async def hits(self, query: str, match: MatchMode) -> list[str]:
        """The documents of the first 50 hits, in order, as often as they have one."""
        request = retrieve_request(
            query=query[:MAX_QUERY_CHARACTERS],
            knowledge_base_id=str(self.base_id),
            limit=MAX_LIMIT,
            match=match,
        )

        async def check(sources: object) -> list[bool]:
            return await self.services.authorizer.check(self.subject, list(sources))  # type: ignore[call-overload]

        (answer,) = await self.services.retrieval.answers(self.subject, [request], check)
        assert isinstance(answer, Answer), answer
        return [self.names[hit.source_id] for hit in answer.hits]


async def searched(services: Services, data: Path, name: str, *, with_title: bool) -> Searched:
    """Import a collection and build its index."""
    async with services.database.write() as session:
        workspace_id = await ensure_workspace(session, f"{name}-{with_title}")
        await grant(session, workspace_id, READER, Action.WORKSPACE_READ)
    names: dict[UUID, str] = {}
    async for outcome in import_documents(services, workspace_id, "user:owner", documents(data, name, with_title)):
        assert outcome.source_id is not None, outcome
        names[outcome.source_id] = outcome.external_id
    async with services.database.write() as session:
        base_id = await create_knowledge_base(
            session, workspace_id, name=name, description=None, auto_refresh=True, source_ids=list(names)
        )
        await request_work(session, workspace_id, base_id, Work.REBUILD)
    await services.worker.run_until_idle()
    return Searched(services, Subject(workspace_id, READER), base_id, names)
