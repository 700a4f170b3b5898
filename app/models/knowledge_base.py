"""Knowledge bases, their indexes, and the searchable rows of each index.

A workspace has an index of its own, whose id is the workspace's: every source at its newest indexed version, kept in
step as versions are indexed. A knowledge base's index copies its rows from there, so a text is made searchable once.
"""

from datetime import datetime
from uuid import UUID

from sqlalchemy import Boolean, CheckConstraint, ForeignKeyConstraint, Index, Integer, SmallInteger, text
from sqlalchemy.dialects.postgresql import TSVECTOR
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, Claimable, Id, WorkspaceId


class KnowledgeBase(Base):
    __tablename__ = "knowledge_bases"
    __table_args__ = (
        ForeignKeyConstraint(["workspace_id"], ["workspaces.id"]),
        ForeignKeyConstraint(
            ["workspace_id", "current_index_id"],
            ["indexes.workspace_id", "indexes.id"],
            use_alter=True,
            deferrable=True,
            initially="DEFERRED",
        ),
    )

    workspace_id: Mapped[WorkspaceId]
    id: Mapped[Id]
    name: Mapped[str]
    description: Mapped[str | None]
    auto_refresh: Mapped[bool] = mapped_column(Boolean, server_default=text("true"))
    current_index_id: Mapped[UUID | None]
    created_at: Mapped[datetime] = mapped_column(server_default=text("now()"))


class KnowledgeBaseSource(Base):
    """The set of sources that a knowledge base should hold."""

    __tablename__ = "knowledge_base_sources"
    __table_args__ = (
        ForeignKeyConstraint(
            ["workspace_id", "knowledge_base_id"],
            ["knowledge_bases.workspace_id", "knowledge_bases.id"],
            ondelete="CASCADE",
        ),
        ForeignKeyConstraint(["workspace_id", "source_id"], ["sources.workspace_id", "sources.id"], ondelete="CASCADE"),
        Index(None, "workspace_id", "source_id"),
    )

    workspace_id: Mapped[WorkspaceId]
    knowledge_base_id: Mapped[Id]
    source_id: Mapped[Id]


class SearchIndex(Claimable, Base):
    """One generation. An index with `work` is a job, and so is one that is RETIRED: its rows are to be dropped.

    `knowledge_base_id` is NULL for the workspace's own index only.
    """

    __tablename__ = "indexes"
    __table_args__ = (
        ForeignKeyConstraint(["workspace_id"], ["workspaces.id"]),
        ForeignKeyConstraint(
            ["workspace_id", "knowledge_base_id"],
            ["knowledge_bases.workspace_id", "knowledge_bases.id"],
            ondelete="CASCADE",
        ),
        CheckConstraint("state IN ('BUILDING', 'READY', 'STALE', 'FAILED', 'RETIRED')", name="state"),
        CheckConstraint("work IN ('REFRESH', 'REBUILD', 'REPAIR')", name="work"),
        Index(
            "uq_indexes_open_work",
            "workspace_id",
            "knowledge_base_id",
            unique=True,
            postgresql_where=text("work IS NOT NULL"),
        ),
        Index(
            "ix_indexes_work",
            "workspace_id",
            "run_after",
            postgresql_where=text("work IS NOT NULL OR state = 'RETIRED'"),
        ),
        Index(None, "workspace_id", "knowledge_base_id"),
    )

    workspace_id: Mapped[WorkspaceId]
    id: Mapped[Id]
    knowledge_base_id: Mapped[UUID | None]
    generation: Mapped[int] = mapped_column(Integer)
    state: Mapped[str]
    work: Mapped[str | None]
    done: Mapped[int] = mapped_column(Integer, server_default=text("0"))
    total: Mapped[int] = mapped_column(Integer, server_default=text("0"))
    built_at: Mapped[datetime | None]
    failure_reason: Mapped[str | None]


class IndexMember(Base):
    """The version at which an index holds a source. `first_passage_id` is NULL where that version has no passage."""

    __tablename__ = "index_members"
    __table_args__ = (
        ForeignKeyConstraint(["workspace_id", "index_id"], ["indexes.workspace_id", "indexes.id"], ondelete="CASCADE"),
        Index(None, "workspace_id", "source_id"),
    )

    workspace_id: Mapped[WorkspaceId]
    index_id: Mapped[Id]
    source_id: Mapped[Id]
    version_id: Mapped[UUID]
    first_passage_id: Mapped[UUID | None]
    passage_count: Mapped[int] = mapped_column(Integer)


class IndexFailure(Base):
    """A source that the index should hold and could not read, and why."""

    __tablename__ = "index_failures"
    __table_args__ = (
        ForeignKeyConstraint(["workspace_id", "index_id"], ["indexes.workspace_id", "indexes.id"], ondelete="CASCADE"),
        Index(None, "workspace_id", "source_id"),
    )

    workspace_id: Mapped[WorkspaceId]
    index_id: Mapped[Id]
    source_id: Mapped[Id]
    reason: Mapped[str]


class IndexPosting(Base):
    """The searchable part of a member's passage, once an index. The migration sets its storage and statistics.

    `sample` is a number from 0 to 15 by the passage's id: one value of it is a sample of a sixteenth of the rows.
    """

    __tablename__ = "index_postings"
    __table_args__ = (
        Index("ix_index_postings_tsv", "index_id", "tsv", postgresql_using="gin"),
        Index(
            "ix_index_postings_sample", "index_id", "tsv", postgresql_using="gin", postgresql_where=text("sample = 0")
        ),
        Index(None, "workspace_id", "index_id", "source_id"),
    )

    workspace_id: Mapped[WorkspaceId]
    index_id: Mapped[Id]
    passage_id: Mapped[Id]
    source_id: Mapped[UUID]
    version_id: Mapped[UUID]
    ordinal: Mapped[int] = mapped_column(Integer)
    sample: Mapped[int] = mapped_column(SmallInteger)
    tsv: Mapped[str] = mapped_column(TSVECTOR)
