"""From a version's text to rows that can be searched: cut into passages, each with its tsvector. No I/O."""

import asyncio
from uuid import UUID

from app.knowledge_bases.indexing import Searchable, searchable
from app.library.passages import cut
from app.library.splitting import split


async def prepare(source_id: UUID, version_id: UUID, text: str) -> list[Searchable]:
    return await asyncio.to_thread(_prepare, source_id, version_id, text)


def _prepare(source_id: UUID, version_id: UUID, text: str) -> list[Searchable]:
    return searchable(cut(source_id, version_id, text, split(text)))
