"""Who may do what. A grant lasts until its moment; `infinity` is for ever, NULL is no grant."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import Boolean, ForeignKeyConstraint, Index, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, Id, WorkspaceId


class Workspace(Base):
    """The tenant. The one table whose name is unique across all: it is small and can be a reference table."""

    __tablename__ = "workspaces"
    __table_args__ = (UniqueConstraint("name"),)

    id: Mapped[Id]
    name: Mapped[str]


class WorkspaceGrant(Base):
    """One row a subject: until when it holds each action on the workspace."""

    __tablename__ = "workspace_grants"
    __table_args__ = (ForeignKeyConstraint(["workspace_id"], ["workspaces.id"]),)

    workspace_id: Mapped[WorkspaceId]
    subject: Mapped[str] = mapped_column(Text, primary_key=True)
    workspace_read_until: Mapped[datetime | None]
    library_read_until: Mapped[datetime | None]
    library_manage_until: Mapped[datetime | None]


class SourceGrant(Base):
    """One row a subject and source. The owner's row is marked and is never taken away while the source exists."""

    __tablename__ = "source_grants"
    __table_args__ = (
        ForeignKeyConstraint(["workspace_id", "source_id"], ["sources.workspace_id", "sources.id"], ondelete="CASCADE"),
        Index(None, "workspace_id", "source_id", "subject"),
    )

    workspace_id: Mapped[WorkspaceId]
    subject: Mapped[str] = mapped_column(Text, primary_key=True)
    source_id: Mapped[Id]
    owner: Mapped[bool] = mapped_column(Boolean, server_default=text("false"))
    read_until: Mapped[datetime | None]
    details_until: Mapped[datetime | None]
    content_until: Mapped[datetime | None]


class VersionAccess(Base):
    """What admission asks of a version and its source, in one narrow row (app/library/sources.py keeps it in step).

    Measured: joining the wide tables instead doubles the time of a search for a common word.
    """

    __tablename__ = "version_access"
    __table_args__ = (
        ForeignKeyConstraint(
            ["workspace_id", "version_id"], ["source_versions.workspace_id", "source_versions.id"], ondelete="CASCADE"
        ),
        Index(None, "workspace_id", "source_id"),
    )

    workspace_id: Mapped[WorkspaceId]
    version_id: Mapped[Id]
    source_id: Mapped[UUID]
    private: Mapped[bool]
    active: Mapped[bool]
    available: Mapped[bool]
    kept: Mapped[bool]
