"""Passages that a caller may read, outside of a search: by their ids, and by their places in a version's text.

Admission stands in the statements, as it does in a search's (SPEC R2, R3, R7). What the authorizer says of the rows is
the caller's to ask (R12): they name their sources.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import ARRAY, Integer, Select, Uuid, and_, any_, bindparam, column, func, select

from app.access.admission import WORKSPACE_ID, Admission, admitted, asked_open_read
from app.access.subject import Subject
from app.database import Database, HotStatement, Record
from app.models import Passage


@dataclass(frozen=True, slots=True)
class ReadPassage:
    """A passage and where it is from."""

    id: UUID
    source_id: UUID
    version_id: UUID
    ordinal: int
    text: str
    text_hash: str


class Stretch(NamedTuple):
    """Passages of one version, from ordinal `first` to `last`, both included; there may be fewer."""

    version_id: UUID
    first: int
    last: int


def _passages(admission: Admission) -> Select[*tuple[Any, ...]]:
    passage = Passage
    return (
        select(passage.id, passage.source_id, passage.version_id, passage.ordinal, passage.text, passage.text_hash)
        .select_from(admission.joined(passage.__table__, passage.version_id))
        .where(passage.workspace_id == WORKSPACE_ID, admission.predicate)
    )


def _by_id() -> Select[*tuple[Any, ...]]:
    return _passages(_admitted()).where(Passage.id == any_(bindparam("ids", type_=ARRAY(Uuid()))))


def _by_stretch() -> Select[*tuple[Any, ...]]:
    """The passages of each stretch, with its number from 1, in order."""
    wanted = (
        func.unnest(
            bindparam("versions", type_=ARRAY(Uuid())),
            bindparam("firsts", type_=ARRAY(Integer())),
            bindparam("lasts", type_=ARRAY(Integer())),
        )
        .table_valued(
            column("version", Uuid), column("first", Integer), column("last", Integer), with_ordinality="number"
        )
        .render_derived(name="wanted")
    )
    found = _passages(_admitted()).subquery("found")
    return (
        select(wanted.c.number, *found.c)
        .select_from(
            wanted.join(
                found,
                and_(
                    found.c.version_id == wanted.c.version,
                    found.c.ordinal.between(wanted.c.first, wanted.c.last),
                ),
            )
        )
        .order_by(wanted.c.number, found.c.ordinal)
    )


def _admitted() -> Admission:
    return admitted(Passage.source_id, asked_open_read())


_BY_ID = HotStatement(_by_id(), keep_plan=True)
_BY_STRETCH = HotStatement(_by_stretch())
_NO_LIST: dict[str, object] = {"source_ids": None, "denied": []}


async def passages_by_id(database: Database, subject: Subject, ids: Collection[UUID]) -> dict[UUID, ReadPassage]:
    """Those of `ids` that exist and are admitted; the others are missing, for whatever reason."""
    rows = await database.fetch(
        _BY_ID, workspace_id=subject.workspace_id, subjects=subject.names, ids=list(ids), **_NO_LIST
    )
    return {row["id"]: _passage(row) for row in rows}


async def passages_by_stretch(
    database: Database, subject: Subject, stretches: Sequence[Stretch]
) -> list[list[ReadPassage]]:
    """For each stretch its admitted passages, in order: one statement for all. Hidden and missing are both empty."""
    rows = await database.fetch(
        _BY_STRETCH,
        workspace_id=subject.workspace_id,
        subjects=subject.names,
        versions=[stretch.version_id for stretch in stretches],
        firsts=[stretch.first for stretch in stretches],
        lasts=[stretch.last for stretch in stretches],
        **_NO_LIST,
    )
    found: list[list[ReadPassage]] = [[] for _ in stretches]
    for row in rows:
        found[row["number"] - 1].append(_passage(row))
    return found


def _passage(row: Record) -> ReadPassage:
    return ReadPassage(
        id=row["id"],
        source_id=row["source_id"],
        version_id=row["version_id"],
        ordinal=row["ordinal"],
        text=row["text"],
        text_hash=row["text_hash"],
    )
