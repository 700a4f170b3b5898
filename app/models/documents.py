"""GraphQL documents that clients may name by the sha256 of their text (docs/schema.md)."""

from datetime import datetime

from sqlalchemy import ForeignKeyConstraint, Index, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, WorkspaceId


class PersistedDocument(Base):
    """A document that a client of the workspace registered by sending it. Only the newest are kept."""

    __tablename__ = "persisted_documents"
    __table_args__ = (
        ForeignKeyConstraint(["workspace_id"], ["workspaces.id"]),
        Index(None, "workspace_id", "registered_at"),
    )

    workspace_id: Mapped[WorkspaceId]
    sha256: Mapped[str] = mapped_column(Text, primary_key=True)
    document: Mapped[str]
    registered_at: Mapped[datetime] = mapped_column(server_default=text("clock_timestamp()"))


class TrustedDocument(Base):
    """A document that an operator registered, for all workspaces: few and small, it can be a reference table."""

    __tablename__ = "trusted_documents"

    sha256: Mapped[str] = mapped_column(Text, primary_key=True)
    document: Mapped[str]
    registered_at: Mapped[datetime] = mapped_column(server_default=text("clock_timestamp()"))
