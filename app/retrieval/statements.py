"""The SQL of a retrieval. Pure: these functions build statements and run nothing.

All steps of a search stand in one statement, so that they see one state of the index (R6). Texts are fetched only for
the hits that are left after the limit (carrying them through the ranking costs up to 2.8 times).
"""

from typing import Any

from sqlalchemy import (
    ARRAY,
    CTE,
    ColumnElement,
    Float,
    Integer,
    LargeBinary,
    Select,
    Text,
    Uuid,
    and_,
    any_,
    bindparam,
    case,
    cast,
    func,
    literal,
    or_,
    select,
    union_all,
)
from sqlalchemy.dialects.postgresql import TSQUERY

from app.access.admission import WORKSPACE_ID, admitted, holds_open_read
from app.models import IndexMember, IndexPosting, KnowledgeBase, Passage, SearchIndex, Source
from app.retrieval.any_word import any_word_search

INDEX_ID = bindparam("index_id", type_=Uuid())
LIMIT = bindparam("limit", type_=Integer())
TITLE_KEY = bindparam("title_key", type_=LargeBinary())
ALL_WORDS = cast(bindparam("all_words", type_=Text()), TSQUERY)

# The steps of a search, in the order of their hits.
CONTENT, TITLE, ANY_WORD = range(3)

# ts_rank divided by 1 + log(length), twice as much for the first passage of a source: the figures are in
# docs/relevance.md. A function of the passage and the query alone, so it tells nothing of what the caller can't read.
LENGTH_NORMALISATION = 1
FIRST_PASSAGE_FACTOR = 2.0


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
        index.state,
        index.generation,
        index.work,
        index.done,
        index.total,
        index.built_at,
    ).select_from(
        caller.outerjoin(base, and_(base.workspace_id == caller.c.workspace_id, base.id == any_(wanted))).outerjoin(
            index, and_(index.workspace_id == base.workspace_id, index.id == base.current_index_id)
        )
    )


def content_search(all_words: ColumnElement[Any] = ALL_WORDS) -> Select[*tuple[Any, ...]]:
    """R8: the passages of the index that hold every term, best first, admitted before they are ranked and limited."""
    posting = IndexPosting
    admission = admitted()
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
        .select_from(admission.joined(posting.__table__, posting.version_id, posting.source_id))
        .where(
            posting.workspace_id == WORKSPACE_ID,
            posting.index_id == INDEX_ID,
            posting.tsv.bool_op("@@")(all_words),
            admission.predicate,
        )
        .order_by((rank * weight).desc(), posting.source_id, posting.ordinal)
        .limit(LIMIT)
    )


def title_search(words: bool, content: CTE | None) -> Select[*tuple[Any, ...]]:
    """R9, R10: the sources whose title and description hold every term, and those whose title is the question.

    The question as a whole title ranks above all else: other ranks are below 1, an equal title adds 1. Each is served
    as the first passage of its member version. Only for the places that `content` leaves free, and no source twice.
    """
    source, member = Source, IndexMember
    admission = admitted()
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


def search(words: bool, *, any_word: bool = False, open_read: bool = False) -> Select[*tuple[Any, ...]]:
    """The hits of one question: content first, then titles, then any word, with their texts, in their order.

    `words` is False for a question with nothing searchable: then only an equal title can match (R13). With `any_word`
    (R28), which needs words, the statement must fit the caller: `open_read` chooses its form.
    """
    content = content_search().cte("content").prefix_with("MATERIALIZED") if words else None
    titles = title_search(words, content).cte("titles").prefix_with("MATERIALIZED")
    steps = [select(literal(TITLE).label("step"), *titles.c)]
    if content is not None:
        steps.insert(0, select(literal(CONTENT).label("step"), *content.c))
    if content is not None and any_word:
        left = LIMIT - sum(
            (select(func.count()).select_from(step).scalar_subquery() for step in (content, titles)), literal(0)
        )
        found = any_word_search(INDEX_ID, (content, titles), left, open_read=open_read).cte("any_word")
        steps.append(select(literal(ANY_WORD).label("step"), *found.c))
    hits = union_all(*steps).subquery("hits")
    passage = Passage
    return (
        select(*hits.c, passage.text, passage.text_hash)
        .select_from(
            hits.join(passage.__table__, and_(passage.workspace_id == WORKSPACE_ID, passage.id == hits.c.passage_id))
        )
        .order_by(hits.c.step, hits.c.rank.desc(), hits.c.source_id, hits.c.ordinal)
    )
