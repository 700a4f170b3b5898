"""Building: what an index should hold beside what it holds, and the copying of the difference.

The workspace's own index holds every source at its newest indexed version. A knowledge base's index should hold those
of its sources that are in there, at the same version. So refresh, rebuild and repair are one and the same thing: copy
the difference from the one to the other. A rebuild starts from nothing, in a new generation that nobody searches yet,
and commits as it goes; a refresh or a repair changes the index that is searched, in one transaction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import ARRAY, CTE, CollectionAggregate, Uuid, and_, any_, delete, func, insert, literal, or_, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import aliased

from app.database import ReadSession, WriteSession
from app.library.bulk import insert_rows
from app.library.passages import StoredPassage
from app.models import (
    IndexFailure,
    IndexMember,
    IndexPosting,
    KnowledgeBaseSource,
    Source,
    SourceVersion,
)
from app.words import search_vector

# One value of a posting's `sample` stands for a sixteenth of the rows.
SAMPLES = 16
BATCH = 1_000


@dataclass(frozen=True, slots=True)
class Change:
    """A source whose place in an index must change. `version_id` None: it goes. `sha256`: its file, if that is kept."""

    source_id: UUID
    version_id: UUID | None
    passage_count: int
    sha256: str | None


class Searchable(NamedTuple):
    """A passage and its tsvector, as PostgreSQL reads one."""

    passage: StoredPassage
    vector: str


def searchable(passages: Sequence[StoredPassage]) -> list[Searchable]:
    """Make passages searchable: the costly part of indexing. It does no I/O."""
    return [Searchable(passage, search_vector(passage.text)) for passage in passages]


async def index_in_workspace(
    session: WriteSession, workspace_id: UUID, source_id: UUID, version_id: UUID, passages: Sequence[Searchable]
) -> None:
    """Make a newly indexed version the one at which the workspace's own index holds the source."""
    await drop_members(session, workspace_id, workspace_id, [source_id])
    session.add(
        IndexMember(
            workspace_id=workspace_id,
            index_id=workspace_id,
            source_id=source_id,
            version_id=version_id,
            first_passage_id=passages[0].passage.id if passages else None,
            passage_count=len(passages),
        )
    )
    await session.flush()
    await save_postings(session, workspace_id, workspace_id, passages)


async def save_postings(
    session: WriteSession, workspace_id: UUID, index_id: UUID, passages: Sequence[Searchable]
) -> None:
    """Make passages found in an index."""
    for first in range(0, len(passages), BATCH):
        batch = passages[first : first + BATCH]
        await insert_rows(
            session,
            IndexPosting,
            {
                "passage_id": [passage.id for passage, _ in batch],
                "source_id": [passage.source_id for passage, _ in batch],
                "version_id": [passage.version_id for passage, _ in batch],
                "ordinal": [passage.ordinal for passage, _ in batch],
                "sample": [passage.id.int % SAMPLES for passage, _ in batch],
                "tsv": [vector for _, vector in batch],
            },
            workspace_id=workspace_id,
            index_id=index_id,
        )


async def changes(
    session: ReadSession | WriteSession, workspace_id: UUID, base_id: UUID, index_id: UUID
) -> list[Change]:
    """What must change in the index so that it holds what its knowledge base should hold, by source id.

    A source that has no indexed version yet should not be held. One that is being deleted is left alone: it is not
    copied, and what is held of it goes with its purge. Measured for 10,000 members: most of a small refresh's time is
    this comparison, so what else must be known is looked up for what differs only.
    """
    differs = _differs(workspace_id, base_id, index_id)
    rows = await session.execute(
        select(
            differs.c.source_id,
            differs.c.version_id,
            differs.c.passage_count,
            SourceVersion.sha256,
            SourceVersion.kept,
        )
        .outerjoin(
            SourceVersion, and_(SourceVersion.workspace_id == workspace_id, SourceVersion.id == differs.c.version_id)
        )
        .outerjoin(Source, and_(Source.workspace_id == workspace_id, Source.id == differs.c.source_id))
        .where(or_(differs.c.version_id.is_(None), Source.lifecycle == "ACTIVE"))
        .order_by(differs.c.source_id)
    )
    return [Change(source, version, count, sha256 if kept else None) for source, version, count, sha256, kept in rows]


def _differs(workspace_id: UUID, base_id: UUID, index_id: UUID) -> CTE:
    """Each source that the index holds otherwise than it should; `version_id` is what it should hold, NULL for none."""
    newest, held = aliased(IndexMember), aliased(IndexMember)
    should = (
        select(newest.source_id, newest.version_id, newest.passage_count)
        .join(
            KnowledgeBaseSource,
            and_(
                KnowledgeBaseSource.workspace_id == newest.workspace_id,
                KnowledgeBaseSource.source_id == newest.source_id,
            ),
        )
        .where(
            newest.workspace_id == workspace_id,
            newest.index_id == workspace_id,
            KnowledgeBaseSource.knowledge_base_id == base_id,
        )
        .subquery("should")
    )
    holds = (
        select(held.source_id, held.version_id)
        .where(held.workspace_id == workspace_id, held.index_id == index_id)
        .subquery("holds")
    )
    return (
        select(
            func.coalesce(should.c.source_id, holds.c.source_id).label("source_id"),
            should.c.version_id,
            func.coalesce(should.c.passage_count, 0).label("passage_count"),
        )
        .select_from(should.outerjoin(holds, should.c.source_id == holds.c.source_id, full=True))
        .where(should.c.version_id.is_distinct_from(holds.c.version_id))
        .cte("differs")
    )


async def copy_members(session: WriteSession, workspace_id: UUID, index_id: UUID, source_ids: Sequence[UUID]) -> None:
    """Hold these sources as the workspace's own index holds them, in place of whatever the index held of them.

    The sources are locked against their purge, which begins by waiting for those who copy them: so no row of a purged
    source comes to be behind its back. One that is being deleted is not copied.
    """
    await drop_members(session, workspace_id, index_id, source_ids)
    posting = IndexPosting
    wanted = any_(literal(list(source_ids), ARRAY(Uuid())))
    copied = _copied_members(workspace_id, index_id, wanted)
    columns = ["passage_id", "source_id", "version_id", "ordinal", "sample", "tsv"]
    # One statement, so that members and postings are copied from one state.
    await session.execute(
        insert(posting).from_select(
            ["workspace_id", "index_id", *columns],
            select(posting.workspace_id, literal(index_id), *(getattr(posting, name) for name in columns))
            .join(
                copied,
                and_(
                    copied.c.workspace_id == posting.workspace_id,
                    copied.c.source_id == posting.source_id,
                    copied.c.version_id == posting.version_id,
                ),
            )
            .where(posting.workspace_id == workspace_id, posting.index_id == workspace_id, posting.source_id == wanted)
            .order_by(posting.passage_id),
        )
    )


def _copied_members(workspace_id: UUID, index_id: UUID, wanted: CollectionAggregate[Any]) -> CTE:
    member = IndexMember
    return (
        insert(member)
        .from_select(
            ["workspace_id", "index_id", "source_id", "version_id", "first_passage_id", "passage_count"],
            select(
                member.workspace_id,
                literal(index_id),
                member.source_id,
                member.version_id,
                member.first_passage_id,
                member.passage_count,
            )
            .join(Source, and_(Source.workspace_id == member.workspace_id, Source.id == member.source_id))
            .where(
                member.workspace_id == workspace_id,
                member.index_id == workspace_id,
                member.source_id == wanted,
                Source.lifecycle == "ACTIVE",
            )
            .with_for_update(key_share=True, read=True, of=Source),
        )
        .returning(member.workspace_id, member.source_id, member.version_id)
        .cte("copied")
    )


async def drop_members(session: WriteSession, workspace_id: UUID, index_id: UUID, source_ids: Sequence[UUID]) -> None:
    """Hold these sources no longer."""
    for table in (IndexPosting, IndexMember):
        await session.execute(
            delete(table).where(
                table.workspace_id == workspace_id,
                table.index_id == index_id,
                table.source_id == any_(literal(list(source_ids), ARRAY(Uuid()))),
            )
        )


async def unreadable(session: WriteSession, workspace_id: UUID, base_id: UUID) -> dict[UUID, str]:
    """The sources that the knowledge base should hold of which no version could ever be read, and why.

    One whose newest version failed while an older one is indexed is held at the older one and is not among them; one
    whose first version still waits to be read is not either, and makes the index stale when it has been.
    """
    held, version = KnowledgeBaseSource, SourceVersion
    never_read = (
        select(held.source_id)
        .outerjoin(
            IndexMember,
            and_(
                IndexMember.workspace_id == held.workspace_id,
                IndexMember.index_id == workspace_id,
                IndexMember.source_id == held.source_id,
            ),
        )
        .where(
            held.workspace_id == workspace_id,
            held.knowledge_base_id == base_id,
            IndexMember.source_id.is_(None),
        )
        .cte("never_read")
        .prefix_with("MATERIALIZED")  # few: else the planner sorts the versions of all
    )
    newest = (
        select(version.source_id, version.status, version.status_reason)
        .ext(distinct_on(version.source_id))
        .join(never_read, never_read.c.source_id == version.source_id)
        .join(Source, and_(Source.workspace_id == version.workspace_id, Source.id == version.source_id))
        .where(version.workspace_id == workspace_id, Source.lifecycle == "ACTIVE")
        .order_by(version.source_id, version.number.desc())
        .subquery("newest")
    )
    rows = await session.execute(select(newest.c.source_id, newest.c.status_reason).where(newest.c.status == "FAILED"))
    return {source_id: reason or "Its file could not be read." for source_id, reason in rows}


async def replace_failures(
    session: WriteSession, workspace_id: UUID, index_id: UUID, failures: dict[UUID, str]
) -> None:
    await session.execute(
        delete(IndexFailure).where(IndexFailure.workspace_id == workspace_id, IndexFailure.index_id == index_id)
    )
    if failures:
        await session.execute(
            insert(IndexFailure),
            [
                {"workspace_id": workspace_id, "index_id": index_id, "source_id": source_id, "reason": reason}
                for source_id, reason in failures.items()
            ],
        )
