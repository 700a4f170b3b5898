"""Many sources at once: the rows that adding and reading them one by one would leave, in a handful of statements.

Texts become passages and words by the product's own functions. tests/access/test_nothing_leaks.py shows that what was
filled in is found by those who may read it.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import insert

from app.database import WriteSession
from app.knowledge_bases.indexing import SAMPLES, searchable
from app.library.passages import StoredPassage, cut, save_passages
from app.library.splitting import Span
from app.models import IndexMember, IndexPosting, Source, SourceGrant, SourceVersion, VersionAccess, new_id
from app.services import Services
from app.words import title_key, title_vector
from tests.world import READER, World

NEVER = datetime(2999, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Draft:
    """A source as it is to be, with one version of one passage, or of none where there is no text."""

    title: str
    text: str
    owner: str
    private: bool = False
    active: bool = True
    available: bool = True
    kept: bool = True
    id: UUID = field(default_factory=new_id)
    version_id: UUID = field(default_factory=new_id)

    @property
    def passages(self) -> list[StoredPassage]:
        return cut(self.id, self.version_id, self.text, [Span(0, len(self.text))] if self.text else [])

    @property
    def source(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "title": self.title,
            "private": self.private,
            "owner": self.owner,
            "lifecycle": "ACTIVE" if self.active else "DELETING",
            "availability": "AVAILABLE" if self.available else "UNAVAILABLE",
            # What is being deleted from the start is never purged: hundreds of jobs would keep other tests waiting.
            "run_after": datetime.now(UTC) if self.active else NEVER,
            "title_key": title_key(self.title),
            "title_tsv": title_vector(self.title, None),
        }

    @property
    def version(self) -> dict[str, Any]:
        content = self.text.encode()
        return {
            "id": self.version_id,
            "source_id": self.id,
            "number": 1,
            "file_name": "file.md",
            "media_type": "text/markdown",
            "size": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
            "kept": self.kept,
            "status": "INDEXED",
            "passage_count": 1 if self.text else 0,
        }

    @property
    def access(self) -> dict[str, Any]:
        return {
            "version_id": self.version_id,
            "source_id": self.id,
            "private": self.private,
            "active": self.active,
            "available": self.available,
            "kept": self.kept,
        }


async def fill(services: Services, workspace_id: UUID, drafts: Sequence[Draft]) -> None:
    """Add the sources to the workspace, their files stored, and indexed in its own index."""
    for content in {draft.text.encode() for draft in drafts}:
        await services.files.put(workspace_id, content)
    async with services.database.write() as session:
        await fill_rows(session, workspace_id, drafts)


async def fill_rows(session: WriteSession, workspace_id: UUID, drafts: Sequence[Draft]) -> None:
    """The same in a transaction of the caller's, without the files."""
    found = {draft.id: searchable(draft.passages) for draft in drafts}
    owners = [{"subject": d.owner, "source_id": d.id, "owner": True} for d in drafts]
    postings = [
        {"index_id": workspace_id, "source_id": p.source_id, "version_id": p.version_id}
        | {"passage_id": p.id, "ordinal": 0, "sample": p.id.int % SAMPLES, "tsv": vector}
        for passages in found.values()
        for p, vector in passages
    ]
    members = [
        {
            "index_id": workspace_id,
            "source_id": draft.id,
            "version_id": draft.version_id,
            "first_passage_id": found[draft.id][0].passage.id if draft.text else None,
            "passage_count": len(found[draft.id]),
        }
        for draft in drafts
    ]
    await _insert(session, workspace_id, Source, [draft.source for draft in drafts])
    await _insert(session, workspace_id, SourceGrant, owners)
    await _insert(session, workspace_id, SourceVersion, [draft.version for draft in drafts])
    await _insert(session, workspace_id, VersionAccess, [draft.access for draft in drafts])
    await save_passages(session, workspace_id, [p for passages in found.values() for p, _ in passages])
    await _insert(session, workspace_id, IndexMember, members)
    await _insert(session, workspace_id, IndexPosting, postings)


async def _insert(session: WriteSession, workspace_id: UUID, table: Any, rows: Sequence[dict[str, Any]]) -> None:
    if rows:
        await session.execute(insert(table), [{"workspace_id": workspace_id} | row for row in rows])


async def shelve(world: World, count: int, *, private: bool = False) -> list[str]:
    """So many sources by the quayside, the best match first: their ids in that order."""
    # One passage each, every one with one word more than the one before: they rank in this order.
    drafts = [
        Draft(f"Ledger {n}", f"Quayside {' '.join(['crane'] * n)}", "user:owner", private=private) for n in range(count)
    ]
    await fill(world.services, world.workspace_id, drafts)
    return [str(draft.id) for draft in drafts]


async def served(world: World, limit: int = 10, query: str = "quayside", who: str = READER) -> list[str]:
    found = await world.caller(who).retrieve(query, limit=limit)
    return [hit["resourceId"] for hit in found["hits"]]
