"""Runs the searches. Plain rows out; who asks and what is admitted go in as parameters."""

from collections.abc import Collection
from functools import cache
from typing import NamedTuple
from uuid import UUID

from app.access.subject import Subject
from app.database import Database, HotStatement
from app.errors import Unavailable
from app.query import Query
from app.retrieval import any_word as third_step
from app.retrieval.request import MatchMode
from app.retrieval.scopes import Scope
from app.retrieval.statements import ANY_WORD, INDEX_COLUMNS, TITLE, Form, search

# Where the columns of a row stand: `as_assumed`, then those of a hit.
_STEP = 1
_NO_INDEX: dict[str, object] = dict.fromkeys(INDEX_COLUMNS)


class ScopeChanged(Unavailable):
    """What the search was told of the caller or the index no longer holds. Nothing of it may be served."""


class Hit(NamedTuple):
    """A row of the search: a passage that was found. What found it is for our own use: no answer says which did (R9).

    What stands behind `text_hash` is its source's, there if sources were asked for: whoever may read a source's
    passages sees its details (R4).
    """

    step: int
    passage_id: UUID
    source_id: UUID
    version_id: UUID
    ordinal: int
    rank: float
    text: str
    text_hash: str
    title: str | None = None
    description: str | None = None
    private: bool = False
    owner: str = ""

    @property
    def by_title(self) -> bool:
        return self.step == TITLE

    @property
    def by_any_word(self) -> bool:
        return self.step == ANY_WORD


@cache
def statement(form: Form) -> HotStatement:
    """The search in this form, compiled once."""
    return HotStatement(search(form), keep_plan=form.keep_plan)


async def search_index(
    database: Database,
    subject: Subject,
    scope: Scope,
    *,
    query: Query,
    limit: int,
    source_ids: Collection[UUID] | None,
    denied: Collection[UUID] = (),
    match: MatchMode = MatchMode.ALL_WORDS,
    sources: bool = False,
    small: bool = False,
) -> list[Hit]:
    """The admitted hits, content first, then titles, then any word (R28), at most `limit`: one statement, one state.

    A question of one term has nothing more to find in a third step. `small`: the index is.

    Raises ScopeChanged when `scope` is no longer so.
    """
    any_word = match is MatchMode.ANY_WORD and len(query.terms) > 1
    # A list of sources may be a better way to begin than the words are: that is for a plan of its own.
    keep_plan = small and not any_word and source_ids is None and not denied
    rows = await database.fetch(
        statement(Form(bool(query.terms), scope.open_read, any_word, sources, keep_plan)),
        workspace_id=subject.workspace_id,
        subjects=subject.names,
        all_words=query.all_words,
        title_key=query.title_key,
        limit=limit,
        source_ids=None if source_ids is None else list(source_ids),
        denied=list(denied),
        **told(subject, scope),
        **(third_step.parameters(query) if any_word else {}),
    )
    if not rows[0][0]:
        raise ScopeChanged("The index changed while it was searched.")
    return [] if rows[0][_STEP] is None else [Hit(*row[_STEP:]) for row in rows]


def told(subject: Subject, scope: Scope) -> dict[str, object]:
    """What a search is told of the index, which it compares with what it sees."""
    index = scope.index
    if index is None:
        return {"knowledge_base_id": None, "index_id": subject.workspace_id, **_NO_INDEX}
    columns = {name: getattr(index, name) for name in INDEX_COLUMNS}
    return {"knowledge_base_id": index.knowledge_base_id, "index_id": index.id, **columns}
