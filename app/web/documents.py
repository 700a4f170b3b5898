"""The store of GraphQL documents that are named by the sha256 of their text: PostgreSQL, and what a process remembers.

Two kinds. *Persisted* documents are a workspace's own: its clients register them by sending them (Apollo's automatic
persisted queries), and of no other workspace's can anything be told. *Trusted* documents are an operator's, for all.
"""

import hashlib
import time
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping
from uuid import UUID

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert

from app.database import Database, WriteSession
from app.models import PersistedDocument, TrustedDocument

MAX_PERSISTED = 1_000  # documents of one workspace; one more, and the oldest leaves
MAX_REMEMBERED_CHARACTERS = 10_000_000  # of persisted documents, in one process
TRUSTED_SECONDS = 10.0  # until a process sees what an operator registered or removed


def sha256_of(document: str) -> str:
    """The name of a document: the sha256 of its UTF-8, 64 hexadecimal digits."""
    return hashlib.sha256(document.encode()).hexdigest()


class Documents:
    """One process's view of the store."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._remembered: OrderedDict[tuple[UUID, str], str] = OrderedDict()
        self._characters = 0
        self._trusted: Mapping[str, str] = {}
        self._trusted_until = 0.0

    async def persisted(self, workspace_id: UUID, sha256: str) -> str | None:
        """The workspace's document of that name; None where it was never registered, or was crowded out."""
        known = self._remembered.get((workspace_id, sha256))
        if known is not None:
            self._remembered.move_to_end((workspace_id, sha256))
            return known
        async with self._database.read() as session:
            found = await session.scalar(
                select(PersistedDocument.document).where(
                    PersistedDocument.workspace_id == workspace_id, PersistedDocument.sha256 == sha256
                )
            )
        if found is not None:
            self._remember(workspace_id, sha256, found)
        return found

    async def persist(self, workspace_id: UUID, document: str) -> None:
        """Register a document of the workspace. What this process remembers costs no statement."""
        sha256 = sha256_of(document)
        if (workspace_id, sha256) in self._remembered:
            return
        async with self._database.write() as session:
            await session.execute(
                insert(PersistedDocument)
                .values(workspace_id=workspace_id, sha256=sha256, document=document)
                .on_conflict_do_nothing()
            )
            await _crowd_out(session, workspace_id)
        self._remember(workspace_id, sha256, document)

    async def trusted(self) -> Mapping[str, str]:
        """All trusted documents by their names, as they were at most TRUSTED_SECONDS ago."""
        if time.monotonic() >= self._trusted_until:
            async with self._database.read() as session:
                rows = await session.execute(select(TrustedDocument.sha256, TrustedDocument.document))
                self._trusted = dict(rows.all())
            self._trusted_until = time.monotonic() + TRUSTED_SECONDS
        return self._trusted

    def _remember(self, workspace_id: UUID, sha256: str, document: str) -> None:
        key = (workspace_id, sha256)
        self._characters += len(document) - len(self._remembered.pop(key, ""))
        self._remembered[key] = document
        while self._characters > MAX_REMEMBERED_CHARACTERS:
            _, forgotten = self._remembered.popitem(last=False)
            self._characters -= len(forgotten)


async def _crowd_out(session: WriteSession, workspace_id: UUID) -> None:
    of_workspace = PersistedDocument.workspace_id == workspace_id
    newest = (
        select(PersistedDocument.registered_at)
        .where(of_workspace)
        .order_by(PersistedDocument.registered_at.desc())
        .offset(MAX_PERSISTED - 1)
        .limit(1)
        .scalar_subquery()
    )
    await session.execute(delete(PersistedDocument).where(of_workspace, PersistedDocument.registered_at < newest))


async def trust(session: WriteSession, documents: Iterable[str]) -> int:
    """Register documents for all workspaces; how many were new."""
    added = 0
    for document in documents:
        row = insert(TrustedDocument).values(sha256=sha256_of(document), document=document)
        result = await session.scalars(row.on_conflict_do_nothing().returning(TrustedDocument.sha256))
        added += len(result.all())
    return added


async def distrust(session: WriteSession, names: Collection[str]) -> int:
    """Take trusted documents back; how many there were."""
    gone = await session.scalars(
        delete(TrustedDocument).where(TrustedDocument.sha256.in_(names)).returning(TrustedDocument.sha256)
    )
    return len(gone.all())


async def count_trusted(session: WriteSession) -> int:
    """How many documents operators have registered."""
    return await session.scalar(select(func.count()).select_from(TrustedDocument)) or 0
