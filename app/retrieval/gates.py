"""The gates between a source and a list of hits (SPEC R27).

They stand in the order in which a retrieval asks. The first that fails ends the row: what stands behind it is
NOT_REACHED. Only the searches are alternatives: where the text does not match, the title may, or any of the words.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from app.knowledge_bases.lifecycle import Remedy, State

MAX_PLACE = 1_000  # places behind it are not counted


class GateName(StrEnum):
    INDEX_READY = "INDEX_READY"
    MEMBER = "MEMBER"
    LIFECYCLE = "LIFECYCLE"
    AVAILABILITY = "AVAILABILITY"
    FILE_KEPT = "FILE_KEPT"
    TEXT = "TEXT"
    SOURCE_LIST = "SOURCE_LIST"
    READABLE = "READABLE"
    CONTENT_MATCH = "CONTENT_MATCH"
    TITLE_MATCH = "TITLE_MATCH"
    ANY_WORD_MATCH = "ANY_WORD_MATCH"
    WITHIN_LIMIT = "WITHIN_LIMIT"


class Outcome(StrEnum):
    PASSED = "PASSED"
    FAILED = "FAILED"
    NOT_REACHED = "NOT_REACHED"


class Step(StrEnum):
    """Which search finds the source."""

    CONTENT = "CONTENT"
    TITLE = "TITLE"
    ANY_WORD = "ANY_WORD"


@dataclass(frozen=True, slots=True)
class NearestPassage:
    """The passage that lacks fewest of the question's words: which, and what it lacks, as it was typed."""

    ordinal: int
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Gate:
    """One gate. What stands behind `sentence` is for programs, and None where the gate has nothing of the kind.

    `missing` are words and phrases as they were typed: those that no passage holds, or that title and description lack.
    `place` counts from 1: among the hits of the search, or among all (WITHIN_LIMIT).
    """

    name: GateName
    outcome: Outcome
    sentence: str
    index_state: State | None = None
    remedy: Remedy | None = None
    searched_version_id: UUID | None = None
    newest_version_id: UUID | None = None
    missing: tuple[str, ...] | None = None
    nearest: NearestPassage | None = None
    place: int | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """What source_facts() reads. `searched_…`, `passage_count` and the gates are None where the index holds nothing."""

    visible: bool
    private: bool
    title_key: bytes
    held: bool
    searched_id: UUID | None
    searched_number: int | None
    passage_count: int | None
    active: bool | None
    available: bool | None
    kept: bool | None
    listed: bool | None
    readable: bool | None
    newest_id: UUID | None
    newest_number: int | None
    newest_status: str | None
    newest_reason: str | None


@dataclass(frozen=True, slots=True)
class Lacking:
    """What lacking_terms() found, as it was typed. `asked`: so many of the question's terms were looked at."""

    title: tuple[str, ...]
    text: tuple[str, ...]
    nearest: NearestPassage | None
    asked: int


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a source that matches stands: its place among all hits and in its own step; None: not counted."""

    step: Step
    place: int | None
    place_in_step: int | None


def in_order(gates: Iterable[Gate]) -> tuple[Gate, ...]:
    """All gates: those given, and the rest as NOT_REACHED."""
    known = {gate.name: gate for gate in gates}
    behind = "Not asked: it failed before."
    return tuple(known.get(name, Gate(name, Outcome.NOT_REACHED, behind)) for name in GateName)
