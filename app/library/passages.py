"""Passages: written once with their version, read by id."""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import select

from app.database import ReadSession, WriteSession
from app.library.bulk import insert_rows
from app.library.splitting import Span
from app.models import Passage, new_id

# Rows sent to the database in one statement.
BATCH = 1_000


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """`text` is `[start, end)` of the version's text, in code points; `text_hash` the sha256 hex of its UTF-8 (R14)."""

    id: UUID
    source_id: UUID
    version_id: UUID
    ordinal: int
    start: int
    end: int
    text: str
    text_hash: str


def cut(source_id: UUID, version_id: UUID, text: str, spans: Sequence[Span]) -> list[StoredPassage]:
    """The passages of a version's text, numbered from 0, with new ids."""
    return [
        StoredPassage(
            id=new_id(),
            source_id=source_id,
            version_id=version_id,
            ordinal=ordinal,
            start=span.start,
            end=span.end,
            text=text[span.start : span.end],
            text_hash=hashlib.sha256(text[span.start : span.end].encode()).hexdigest(),
        )
        for ordinal, span in enumerate(spans)
    ]


async def save_passages(session: WriteSession, workspace_id: UUID, passages: Sequence[StoredPassage]) -> None:
    for first in range(0, len(passages), BATCH):
        batch = passages[first : first + BATCH]
        await insert_rows(
            session,
            Passage,
            {
                "id": [passage.id for passage in batch],
                "source_id": [passage.source_id for passage in batch],
                "version_id": [passage.version_id for passage in batch],
                "ordinal": [passage.ordinal for passage in batch],
                "start_offset": [passage.start for passage in batch],
                "end_offset": [passage.end for passage in batch],
                "text": [passage.text for passage in batch],
                "text_hash": [passage.text_hash for passage in batch],
            },
            workspace_id=workspace_id,
        )


async def find_passages(
    session: ReadSession, workspace_id: UUID, version_id: UUID, ordinals: Collection[int]
) -> list[StoredPassage]:
    """The passages of a version with these ordinals, in order. Who may read them is the caller's to ask first."""
    rows = await session.scalars(
        select(Passage)
        .where(
            Passage.workspace_id == workspace_id,
            Passage.version_id == version_id,
            Passage.ordinal.in_(ordinals),
        )
        .order_by(Passage.ordinal)
    )
    return [
        StoredPassage(
            id=row.id,
            source_id=row.source_id,
            version_id=row.version_id,
            ordinal=row.ordinal,
            start=row.start_offset,
            end=row.end_offset,
            text=row.text,
            text_hash=row.text_hash,
        )
        for row in rows
    ]
