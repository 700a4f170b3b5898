"""What all tables share.

A uuid `workspace_id` leads every primary key, unique index and foreign key, so that every table distributes by it and
no statement reaches across tenants. Nothing is loaded lazily.
"""

from datetime import datetime
from typing import Annotated, ClassVar
from uuid import UUID

from sqlalchemy import DateTime, MetaData, SmallInteger, Text, text
from sqlalchemy.dialects.postgresql import UUID as PG_UUID
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from uuid_utils.compat import uuid7

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}

WorkspaceId = Annotated[UUID, mapped_column(PG_UUID(as_uuid=True), primary_key=True)]
Id = Annotated[UUID, mapped_column(PG_UUID(as_uuid=True), primary_key=True)]


def new_id() -> UUID:
    """A new id. Ids made one after the other sort so, which keeps rows that are written together together."""
    return uuid7()


class Base(DeclarativeBase):
    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map: ClassVar[dict[object, object]] = {
        str: Text,
        datetime: DateTime(timezone=True),
        UUID: PG_UUID(as_uuid=True),
    }


class Claimable:
    """A row that is its own job (SPEC R18). `attempt` fences: only the claim that holds it may finish the work."""

    attempt: Mapped[int] = mapped_column(SmallInteger, server_default=text("0"))
    run_after: Mapped[datetime] = mapped_column(server_default=text("now()"))
    lease_until: Mapped[datetime | None]
    leased_by: Mapped[str | None]
