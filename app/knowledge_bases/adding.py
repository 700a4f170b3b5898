"""Adding many sources that are read already: the rows of all of them in one statement a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from app.database import WriteSession
from app.knowledge_bases.indexing import Searchable, save_postings
from app.library.bulk import insert_rows
from app.library.passages import save_passages
from app.library.sources import named_columns
from app.library.versions import FileFacts
from app.models import IndexMember, Source, SourceGrant, SourceVersion, VersionAccess


@dataclass(frozen=True, slots=True)
class ReadSource:
    """A new source and its first version, whose text is prepared. Texts as the checks return them.

    `notes` is what should be known of the text; the passages have the ids of source and version in them.
    """

    source_id: UUID
    version_id: UUID
    title: str
    description: str | None
    private: bool
    owner: str
    external_id: str | None
    file: FileFacts
    notes: str | None
    passages: Sequence[Searchable]


async def add_read_sources(session: WriteSession, workspace_id: UUID, added: Sequence[ReadSource]) -> None:
    """Add them, searchable in the whole workspace when the transaction ends; no knowledge base holds them yet.

    Raises IntegrityError if an external id is taken.
    """
    await _add_sources(session, workspace_id, added)
    ids = {"source_id": [source.source_id for source in added], "version_id": [source.version_id for source in added]}
    await insert_rows(
        session,
        VersionAccess,
        ids | {"private": [source.private for source in added]},
        workspace_id=workspace_id,
        active=True,
        available=True,
        kept=True,
    )
    passages = [passage for source in added for passage in source.passages]
    await save_passages(session, workspace_id, [passage for passage, _ in passages])
    await insert_rows(
        session,
        IndexMember,
        ids
        | {
            "first_passage_id": [source.passages[0].passage.id if source.passages else None for source in added],
            "passage_count": [len(source.passages) for source in added],
        },
        workspace_id=workspace_id,
        index_id=workspace_id,
    )
    await save_postings(session, workspace_id, workspace_id, passages)


async def _add_sources(session: WriteSession, workspace_id: UUID, added: Sequence[ReadSource]) -> None:
    named = [named_columns(source.title, source.description) for source in added]
    await insert_rows(
        session,
        Source,
        {
            "id": [source.source_id for source in added],
            **{name: [columns[name] for columns in named] for name in named[0]},
            "private": [source.private for source in added],
            "owner": [source.owner for source in added],
            "external_id": [source.external_id for source in added],
        },
        workspace_id=workspace_id,
    )
    await insert_rows(
        session,
        SourceGrant,
        {"subject": [source.owner for source in added], "source_id": [source.source_id for source in added]},
        workspace_id=workspace_id,
        owner=True,
    )
    await insert_rows(
        session,
        SourceVersion,
        {
            "id": [source.version_id for source in added],
            "source_id": [source.source_id for source in added],
            "file_name": [source.file.name for source in added],
            "media_type": [source.file.media_type for source in added],
            "size": [source.file.size for source in added],
            "sha256": [source.file.sha256 for source in added],
            "status_reason": [source.notes for source in added],
            "passage_count": [len(source.passages) for source in added],
        },
        workspace_id=workspace_id,
        number=1,
        status="INDEXED",
    )
