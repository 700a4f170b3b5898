"""The SQL of a retrieval. Pure: these functions build statements and run nothing.

All steps of a search stand in one statement, so that they see one state of the index (R6). Texts are fetched only for
the hits that are left after the limit (carrying them through the ranking costs up to 2.8 times).
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ARRAY,
    CTE,
    ColumnElement,
    Float,
    Integer,
    LargeBinary,
    Select,
    Subquery,
    Text,
    Uuid,
    and_,
    any_,
    bindparam,
    case,
    cast,
    func,
    literal,
    literal_column,
    or_,
    select,
    true,
    union_all,
)
from sqlalchemy.dialects.postgresql import TSQUERY

from app.access.admission import WORKSPACE_ID, OpenRead, admitted, holds_open_read
from app.models import IndexMember, IndexPosting, KnowledgeBase, Passage, SearchIndex, Source
from app.retrieval.any_word import any_word_search
from app.retrieval.bm25 import materialized

INDEX_ID = bindparam("index_id", type_=Uuid())
KNOWLEDGE_BASE_ID = bindparam("knowledge_base_id", type_=Uuid())
LIMIT = bindparam("limit", type_=Integer())
TITLE_KEY = bindparam("title_key", type_=LargeBinary())
ALL_WORDS = cast(bindparam("all_words", type_=Text()), TSQUERY)

# What an answer shows of an index, and of the source of a hit: what was admitted is ACTIVE and AVAILABLE (R7).
INDEX_COLUMNS = ("state", "generation", "work", "done", "total", "built_at")
SOURCE_COLUMNS = ("title", "description", "private", "owner")
# The steps of a search, in the order of their hits.
CONTENT, TITLE, ANY_WORD = range(3)

# ts_rank divided by 1 + log(length), twice as much for the first passage of a source: the figures are in
# docs/relevance.md. A function of the passage and the query alone, so it tells nothing of what the caller can't read.
LENGTH_NORMALISATION = 1
FIRST_PASSAGE_FACTOR = 2.0

# What is looked up for each of a few rows, once they are known: PostgreSQL does not try to begin with it, which would
# take longer to plan than the look-ups take.
_FENCE: ColumnElement[int] = literal_column("0")


@dataclass(frozen=True, slots=True)
class Form:
    """How a search is written, for what is known of the question and of who asks.

    `words` False: there is nothing searchable in it, only an equal title can match (R13). `any_word`: the third step
    (R28), which needs words. `open_read`: see admission. `sources`: each hit brings its source's details. `keep_plan`:
    one plan is as good as any other, since the index is small.
    """

    words: bool
    open_read: bool
    any_word: bool = False
    sources: bool = False
    keep_plan: bool = False


def scopes() -> Select[*tuple[Any, ...]]:
    """For each knowledge base id of `knowledge_base_ids` that exists: its current index. And the caller's open_read.

    At least one row; `knowledge_base_id` is NULL in the row that stands for none found.
    """
    wanted = bindparam("knowledge_base_ids", type_=ARRAY(Uuid()))
    caller = select(WORKSPACE_ID.label("workspace_id"), holds_open_read().label("open_read")).subquery("caller")
    base, index = KnowledgeBase, SearchIndex
    return select(
        caller.c.open_read,
        base.id.label("knowledge_base_id"),
        index.id.label("index_id"),
        *(getattr(index, name) for name in INDEX_COLUMNS),
    ).select_from(
        caller.outerjoin(base, and_(base.workspace_id == caller.c.workspace_id, base.id == any_(wanted))).outerjoin(
            index, and_(index.workspace_id == base.workspace_id, index.id == base.current_index_id)
        )
    )


def _as_assumed(open_read: bool) -> ColumnElement[bool]:
    """Whether what the search was told still holds: the caller's open_read, and the knowledge base's index as it was.

    The search of a workspace has no knowledge base, and only the first can change.
    """
    base, index = KnowledgeBase, SearchIndex
    told = [index.id == INDEX_ID]
    for name in INDEX_COLUMNS:
        column = getattr(index, name)
        told.append(column.is_not_distinct_from(bindparam(name, type_=column.type)))
    unchanged = (
        select(and_(*told))
        .select_from(
            base.__table__.join(
                index.__table__, and_(index.workspace_id == base.workspace_id, index.id == base.current_index_id)
            )
        )
        .where(base.workspace_id == WORKSPACE_ID, base.id == KNOWLEDGE_BASE_ID)
        .scalar_subquery()
    )
    same_index = or_(KNOWLEDGE_BASE_ID.is_(None), func.coalesce(unchanged, False))
    caller = holds_open_read()
    return and_(caller if open_read else ~caller, same_index)


def content_search(open_read: OpenRead, all_words: ColumnElement[Any] = ALL_WORDS) -> Select[*tuple[Any, ...]]:
    """R8: the passages of the index that hold every term, best first, admitted before they are ranked and limited."""
    posting = IndexPosting
    admission = admitted(posting.source_id, open_read)
    rank = cast(func.ts_rank(posting.tsv, all_words, LENGTH_NORMALISATION), Float(53))
    weight = case((posting.ordinal == 0, FIRST_PASSAGE_FACTOR), else_=1.0)
    return (
        select(
            posting.passage_id,
            posting.source_id,
            posting.version_id,
            posting.ordinal,
            (rank * weight).label("rank"),
        )
        .select_from(admission.joined(posting.__table__, posting.version_id))
        .where(
            posting.workspace_id == WORKSPACE_ID,
            posting.index_id == INDEX_ID,
            posting.tsv.bool_op("@@")(all_words),
            admission.predicate,
        )
        .order_by((rank * weight).desc(), posting.source_id, posting.ordinal)
        .limit(LIMIT)
    )


def title_search(words: bool, open_read: OpenRead, content: CTE | None) -> Select[*tuple[Any, ...]]:
    """R9, R10: the sources whose title and description hold every term, and those whose title is the question.

    The question as a whole title ranks above all else: other ranks are below 1, an equal title adds 1. Each is served
    as the first passage of its member version. Only for the places that `content` leaves free, and no source twice.
    """
    source, member = Source, IndexMember
    admission = admitted(source.id, open_read)
    same_title = source.title_key == TITLE_KEY
    rank: ColumnElement[float] = case((same_title, 1.0), else_=0.0)
    matches = same_title
    if words:
        rank = rank + cast(func.ts_rank(source.title_tsv, ALL_WORDS, LENGTH_NORMALISATION), Float(53))
        matches = or_(same_title, source.title_tsv.bool_op("@@")(ALL_WORDS))
    rows = source.__table__.join(
        member.__table__, and_(member.workspace_id == source.workspace_id, member.source_id == source.id)
    )
    found = (
        select(
            member.first_passage_id.label("passage_id"),
            source.id.label("source_id"),
            member.version_id,
            literal(0).label("ordinal"),
            rank.label("rank"),
        )
        .select_from(admission.joined(rows, member.version_id))
        .where(
            source.workspace_id == WORKSPACE_ID,
            matches,
            member.index_id == INDEX_ID,
            member.first_passage_id.is_not(None),
            admission.predicate,
        )
        .order_by(rank.desc(), source.id)
    )
    if content is None:
        return found.limit(LIMIT)
    listed = select(content.c.source_id).scalar_subquery()
    places_left = LIMIT - select(func.count()).select_from(content).scalar_subquery()
    return found.where(source.id.not_in(listed)).limit(places_left)


def search(form: Form) -> Select[*tuple[Any, ...]]:
    """The hits of one question: content first, then titles, then any word, with their texts, in their order.

    At least one row: `as_assumed` is whether the caller and the index are what the statement was told, in the same
    state of the data that it searched. Where they are not there is no hit. Without a hit `step` is NULL.
    """
    content = materialized(content_search(form.open_read), "content") if form.words else None
    titles = materialized(title_search(form.words, form.open_read, content), "titles")
    steps = [select(literal(TITLE).label("step"), *titles.c)]
    if content is not None:
        steps.insert(0, select(literal(CONTENT).label("step"), *content.c))
    if content is not None and form.any_word:
        left = LIMIT - sum(
            (select(func.count()).select_from(step).scalar_subquery() for step in (content, titles)), literal(0)
        )
        found = any_word_search(INDEX_ID, (content, titles), left, open_read=form.open_read).cte("any_word")
        steps.append(select(literal(ANY_WORD).label("step"), *found.c))
    hits = _shown(union_all(*steps).subquery("found"), sources=form.sources)
    scope = select(_as_assumed(form.open_read).label("as_assumed")).offset(_FENCE).subquery("scope")
    return (
        select(scope.c.as_assumed, *hits.c)
        .select_from(scope.outerjoin(hits, scope.c.as_assumed))
        .order_by(hits.c.step, hits.c.rank.desc(), hits.c.source_id, hits.c.ordinal)
    )


def _shown(found: Subquery, *, sources: bool) -> Subquery:
    """What was found, with its texts, and with the details of its sources: whoever may read one sees these (R4)."""
    passage, source = Passage, Source
    text = (
        select(passage.text, passage.text_hash)
        .where(passage.workspace_id == WORKSPACE_ID, passage.id == found.c.passage_id)
        .offset(_FENCE)
        .lateral("passage")
    )
    rows, columns = found.join(text, true()), [*found.c, *text.c]
    if sources:
        details = (
            select(*(getattr(source, name) for name in SOURCE_COLUMNS))
            .where(source.workspace_id == WORKSPACE_ID, source.id == found.c.source_id)
            .offset(_FENCE)
            .lateral("source")
        )
        rows, columns = rows.join(details, true()), [*columns, *details.c]
    return select(*columns).select_from(rows).offset(_FENCE).subquery("hits")
