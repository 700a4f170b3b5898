"""Runs the searches. Plain rows out; who asks and what is admitted go in as parameters."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from uuid import UUID

from app.access.subject import Subject
from app.database import Database, HotStatement, Record
from app.knowledge_bases.facts import IndexState, index_state
from app.query import Query
from app.retrieval import any_word as third_step
from app.retrieval.request import MatchMode
from app.retrieval.statements import ANY_WORD, TITLE, scopes, search

_SCOPES = HotStatement(scopes())
_SEARCH = {words: HotStatement(search(words)) for words in (True, False)}
_SEARCH_ANY = {open_read: HotStatement(search(True, any_word=True, open_read=open_read)) for open_read in (True, False)}


@dataclass(frozen=True, slots=True)
class Scopes:
    """What one statement says of a caller and the knowledge bases it named. A base without an index maps to None."""

    open_read: bool
    indexes: dict[UUID, IndexState | None]


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found. What found it is for our own use: no answer says which search did (R9)."""

    passage_id: UUID
    source_id: UUID
    version_id: UUID
    ordinal: int
    rank: float
    text: str
    text_hash: str
    by_title: bool
    by_any_word: bool


async def load_scopes(database: Database, subject: Subject, knowledge_base_ids: Iterable[UUID]) -> Scopes:
    """One statement for all of them. A knowledge base that the workspace does not have is missing from `indexes`."""
    rows = await database.fetch(
        _SCOPES,
        workspace_id=subject.workspace_id,
        subjects=subject.names,
        knowledge_base_ids=list(knowledge_base_ids),
    )
    found = {row["knowledge_base_id"]: index_state(row) for row in rows if row["knowledge_base_id"] is not None}
    return Scopes(open_read=rows[0]["open_read"], indexes=found)


async def search_index(
    database: Database,
    subject: Subject,
    *,
    index_id: UUID,
    open_read: bool,
    query: Query,
    limit: int,
    source_ids: Collection[UUID] | None,
    denied: Collection[UUID] = (),
    match: MatchMode = MatchMode.ALL_WORDS,
) -> list[Hit]:
    """The admitted hits, content first, then titles, then any word (R28), at most `limit`: one statement, one state.

    A question of one term has nothing more to find in a third step.
    """
    any_word = match is MatchMode.ANY_WORD and len(query.terms) > 1
    rows = await database.fetch(
        _SEARCH_ANY[open_read] if any_word else _SEARCH[bool(query.terms)],
        workspace_id=subject.workspace_id,
        subjects=subject.names,
        index_id=index_id,
        open_read=open_read,
        all_words=query.all_words,
        title_key=query.title_key,
        limit=limit,
        source_ids=None if source_ids is None else list(source_ids),
        denied=list(denied),
        **(third_step.parameters(query) if any_word else {}),
    )
    return [_hit(row) for row in rows]


def _hit(row: Record) -> Hit:
    return Hit(
        passage_id=row["passage_id"],
        source_id=row["source_id"],
        version_id=row["version_id"],
        ordinal=row["ordinal"],
        rank=row["rank"],
        text=row["text"],
        text_hash=row["text_hash"],
        by_title=row["step"] == TITLE,
        by_any_word=row["step"] == ANY_WORD,
    )
