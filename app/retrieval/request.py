"""One question, checked at the door (SPEC R13). Frozen: it is a loader's key, equal questions are one."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from app.errors import InvalidInput
from app.inputs import parse_id, trimmed_text

DEFAULT_LIMIT = 10
MAX_LIMIT = 50
MAX_QUERY_CHARACTERS = 1_000
MAX_SOURCE_IDS = 1_000


class MatchMode(StrEnum):
    """Which words a passage must hold. The ALL_WORDS answer is always the head of the ANY_WORD answer (SPEC R28)."""

    ALL_WORDS = "ALL_WORDS"
    ANY_WORD = "ANY_WORD"


@dataclass(frozen=True, slots=True)
class RetrieveRequest:
    """`knowledge_base_id` None searches the workspace; `source_ids` None sends no list, an empty one admits nothing.

    `sources`: each hit brings its source's details.
    """

    knowledge_base_id: UUID | None
    query: str
    limit: int
    source_ids: frozenset[UUID] | None
    match: MatchMode = MatchMode.ALL_WORDS
    sources: bool = False


def retrieve_request(
    *,
    query: str,
    knowledge_base_id: str | None = None,
    limit: int = DEFAULT_LIMIT,
    source_ids: Sequence[str] | None = None,
    match: MatchMode = MatchMode.ALL_WORDS,
    sources: bool = False,
) -> RetrieveRequest:
    """Check what came in. Raises InvalidInput, naming the argument; nothing is cut or guessed."""
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidInput("limit", f"must be from 1 to {MAX_LIMIT}, not {limit}.")
    return RetrieveRequest(
        knowledge_base_id=None if knowledge_base_id is None else parse_id("knowledgeBaseId", knowledge_base_id),
        query=trimmed_text("query", query, longest=MAX_QUERY_CHARACTERS),
        limit=limit,
        source_ids=None if source_ids is None else _source_ids(source_ids),
        match=match,
        sources=sources,
    )


def _source_ids(values: Sequence[str]) -> frozenset[UUID]:
    ids = frozenset(parse_id("sourceIds", value) for value in set(values))
    if len(ids) > MAX_SOURCE_IDS:
        raise InvalidInput("sourceIds", f"must hold at most {MAX_SOURCE_IDS:,} ids, not {len(ids):,}.")
    return ids
