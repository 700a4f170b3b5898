"""Filling an empty database with the sample library, and what a newcomer is shown of it."""

from collections.abc import Iterator
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import select

from app.access.grants import Action, grant
from app.access.tokens import issue
from app.access.workspaces import ensure_workspace, find_workspace
from app.importing import Document, import_documents
from app.knowledge_bases.lifecycle import Work
from app.knowledge_bases.repository import create_knowledge_base, find_knowledge_base_named
from app.knowledge_bases.work import request_work
from app.library.service import NewFile
from app.models import Workspace
from app.sample import FIRST_RETRIEVAL, GRANTS, KNOWLEDGE_BASES, PEOPLE, WORKSPACE, documents
from app.services import Services
from app.settings import Settings

TOKEN_LIFE = timedelta(days=30)


class SampleToken(NamedTuple):
    """A token of one of the sample's people. `label` says who, and what this person sees."""

    subject: str
    label: str
    token: str


def sample_tokens(settings: Settings) -> list[SampleToken]:
    """A token for each of the sample's people, good for 30 days. Only where we sign tokens ourselves."""
    return [
        SampleToken(subject, f"{subject}: {sees}", issue(settings, subject, WORKSPACE, groups, TOKEN_LIFE))
        for subject, groups, sees in PEOPLE
    ]


async def is_empty(services: Services) -> bool:
    """Whether nobody has used the database yet."""
    async with services.database.read() as session:
        return await session.scalar(select(Workspace.id).limit(1)) is None


async def is_seeded(services: Services) -> bool:
    """Whether the sample library is in the database."""
    async with services.database.read() as session:
        workspace_id = await find_workspace(session, WORKSPACE)
        base = (
            await find_knowledge_base_named(session, workspace_id, FIRST_RETRIEVAL.knowledge_base)
            if workspace_id
            else None
        )
        return base is not None


async def seed(services: Services) -> None:
    """The sample's workspace, sources, grants and knowledge bases, its indexes built."""
    async with services.database.write() as session:
        workspace_id = await ensure_workspace(session, WORKSPACE)
    ids: dict[str, UUID] = {}
    async for outcome in import_documents(services, workspace_id, "user:owner", _sample_documents()):
        assert outcome.source_id is not None, outcome.reason
        ids[outcome.external_id] = outcome.source_id
    async with services.database.write() as session:
        for subject, action, stem in GRANTS:
            await grant(session, workspace_id, subject, Action(action), None if stem is None else ids[stem])
        for name, description, members in KNOWLEDGE_BASES:
            base_id = await create_knowledge_base(
                session,
                workspace_id,
                name=name,
                description=description,
                auto_refresh=True,
                source_ids=[ids[stem] for stem in members],
            )
            await request_work(session, workspace_id, base_id, Work.REBUILD)
    await services.worker.run_until_idle()


def _sample_documents() -> Iterator[Document]:
    for document in documents():
        yield Document(
            external_id=document.stem,
            file=NewFile(f"{document.stem}.md", "text/markdown", document.text.encode()),
            title=document.title,
            description=document.description,
            private=document.private,
            owner=document.owner,
        )
