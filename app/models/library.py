"""Sources, the versions of their files, and the passages of each version's text."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import TSVECTOR
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, Claimable, Id, WorkspaceId


class Source(Claimable, Base):
    """A document of the Library. A DELETING source is a job: its passages, memberships and files are to be purged."""

    __tablename__ = "sources"
    __table_args__ = (
        ForeignKeyConstraint(["workspace_id"], ["workspaces.id"]),
        UniqueConstraint("workspace_id", "external_id"),
        CheckConstraint("lifecycle IN ('ACTIVE', 'DELETING')", name="lifecycle"),
        CheckConstraint("availability IN ('AVAILABLE', 'UNAVAILABLE')", name="availability"),
        Index(
            "ix_sources_title",
            "workspace_id",
            "title_tsv",
            postgresql_using="gin",
            postgresql_with={"fastupdate": "off"},
        ),
        Index(None, "workspace_id", "title_key"),
        Index("ix_sources_purge", "workspace_id", "run_after", postgresql_where=text("lifecycle = 'DELETING'")),
    )

    workspace_id: Mapped[WorkspaceId]
    id: Mapped[Id]
    title: Mapped[str]
    description: Mapped[str | None]
    private: Mapped[bool]
    owner: Mapped[str]
    external_id: Mapped[str | None]
    lifecycle: Mapped[str] = mapped_column(server_default=text("'ACTIVE'"))
    availability: Mapped[str] = mapped_column(server_default=text("'AVAILABLE'"))
    title_key: Mapped[bytes] = mapped_column(LargeBinary)
    title_tsv: Mapped[str] = mapped_column(TSVECTOR)
    created_at: Mapped[datetime] = mapped_column(server_default=text("now()"))


class SourceVersion(Claimable, Base):
    """One file of a source. A PENDING version is a job: its text is to be extracted."""

    __tablename__ = "source_versions"
    __table_args__ = (
        ForeignKeyConstraint(["workspace_id", "source_id"], ["sources.workspace_id", "sources.id"], ondelete="CASCADE"),
        UniqueConstraint("workspace_id", "source_id", "number"),
        CheckConstraint("status IN ('PENDING', 'INDEXED', 'FAILED')", name="status"),
        Index("ix_source_versions_pending", "workspace_id", "run_after", postgresql_where=text("status = 'PENDING'")),
        Index(None, "workspace_id", "sha256"),
    )

    workspace_id: Mapped[WorkspaceId]
    id: Mapped[Id]
    source_id: Mapped[UUID]
    number: Mapped[int] = mapped_column(Integer)
    file_name: Mapped[str]
    media_type: Mapped[str]
    size: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str]
    kept: Mapped[bool] = mapped_column(server_default=text("true"))
    status: Mapped[str] = mapped_column(server_default=text("'PENDING'"))
    status_reason: Mapped[str | None]
    passage_count: Mapped[int] = mapped_column(Integer, server_default=text("0"))
    created_at: Mapped[datetime] = mapped_column(server_default=text("now()"))


class Passage(Base):
    """A piece of one version's text, `text[start_offset:end_offset]` of it in code points. Never changed."""

    __tablename__ = "passages"
    __table_args__ = (
        ForeignKeyConstraint(
            ["workspace_id", "version_id"], ["source_versions.workspace_id", "source_versions.id"], ondelete="CASCADE"
        ),
        UniqueConstraint("workspace_id", "version_id", "ordinal"),
    )

    workspace_id: Mapped[WorkspaceId]
    id: Mapped[Id]
    source_id: Mapped[UUID]
    version_id: Mapped[UUID]
    ordinal: Mapped[int] = mapped_column(Integer)
    start_offset: Mapped[int] = mapped_column(Integer)
    end_offset: Mapped[int] = mapped_column(Integer)
    text: Mapped[str]
    text_hash: Mapped[str]
