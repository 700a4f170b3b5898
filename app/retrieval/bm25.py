"""BM25 in SQL, from the positions in a tsvector (SPEC R28). Pure: builds statements, runs nothing."""

from typing import Any

from sqlalchemy import (
    ARRAY,
    CTE,
    Float,
    Integer,
    Select,
    SmallInteger,
    Text,
    and_,
    any_,
    bindparam,
    case,
    cast,
    column,
    func,
    literal,
    select,
    true,
    union_all,
)
from sqlalchemy.dialects.postgresql import aggregate_order_by

from app.access.admission import WORKSPACE_ID
from app.models import Source

# BM25's usual constants. Lengths are counted in different words, of which a full passage has about 60.
K1 = 1.2
B = 0.75
USUAL_LENGTH = 60.0
# A term of the question that title or description hold, beside the 0.45 of its weight for standing in a text once.
TITLE_SHARE = 0.2
# A source's first passage says what it is about: the same preference as where all words are asked for, but slight.
FIRST_PASSAGE_FACTOR = 1.1

PART_TERMS = bindparam("part_terms", type_=ARRAY(Integer()))
PART_LEXEMES = bindparam("part_lexemes", type_=ARRAY(Text()))
PART_PLACES = bindparam("part_places", type_=ARRAY(Integer()))


def materialized(statement: Select[*tuple[Any, ...]], name: str) -> CTE:
    """Run once, whatever the planner thinks of it."""
    return statement.cte(name).prefix_with("MATERIALIZED")


def scored(candidates: CTE, weighed: CTE, most_terms: int) -> Select[*tuple[Any, ...]]:
    """passage_id, source_id, version_id, ordinal, rank: the best first, then by source id and ordinal.

    `candidates` has these columns but rank, and tsv and length (in different words); `weighed` has a term's number,
    tsquery, weight and place by weight. Titles are asked for the `most_terms` weightiest. The sums are taken in the
    order of the terms.
    """
    values = union_all(_stands(candidates, weighed), _named(candidates, weighed, most_terms)).subquery("values")
    v, c = values.c, candidates.c
    total = func.sum(aggregate_order_by(v.value, v.number, v.part))
    scores = select(v.passage_id, total.label("total")).group_by(v.passage_id).subquery("scores")
    rank = (scores.c.total * case((c.ordinal == 0, FIRST_PASSAGE_FACTOR), else_=1.0)).label("rank")
    return (
        select(c.passage_id, c.source_id, c.version_id, c.ordinal, rank)
        .join(scores, scores.c.passage_id == c.passage_id)
        .order_by(rank.desc(), c.source_id, c.ordinal)
    )


def _stands(candidates: CTE, weighed: CTE) -> Select[*tuple[Any, ...]]:
    """What the terms that stand in a candidate's text add to its score: passage_id, number, part (0), value.

    A term stands wherever all its parts do, each at its place behind the start. A word is a term of one part. Weight
    and length travel with the rows: a join of what was made here would be left to the planner's guess.
    """
    given = func.unnest(PART_TERMS, PART_LEXEMES, PART_PLACES).table_valued(
        column("number", Integer), column("lexeme", Text), column("place", Integer), name="given"
    )
    given = given.render_derived()
    of = func.count().over(partition_by=given.c.number).label("of")
    parts = materialized(
        select(*given.c, of, weighed.c.weight).join(weighed, weighed.c.number == given.c.number), "parts"
    )
    word = func.unnest(candidates.c.tsv).table_valued(
        column("lexeme", Text), column("positions", ARRAY(SmallInteger)), name="word"
    )
    word = word.render_derived()
    place = func.unnest(word.c.positions) - parts.c.place
    starts = (
        select(candidates.c.passage_id, candidates.c.length, *parts.c, place.label("start"))
        .select_from(candidates.join(word, true()).join(parts, parts.c.lexeme == word.c.lexeme))
        .where(word.c.lexeme == any_(PART_LEXEMES))
        .subquery("starts")
    )
    by_term = (starts.c.passage_id, starts.c.length, starts.c.number, starts.c.weight)
    whole = (
        select(*by_term)
        .group_by(*by_term, starts.c.of, starts.c.start)
        .having(func.count() == starts.c.of)
        .subquery("whole")
    )
    times = cast(func.count(), Float(53))
    value = whole.c.weight * times / (times + K1 * (1.0 - B + B * whole.c.length / USUAL_LENGTH))
    return select(whole.c.passage_id, whole.c.number, literal(0).label("part"), value.label("value")).group_by(*whole.c)


def _named(candidates: CTE, weighed: CTE, most_terms: int) -> Select[*tuple[Any, ...]]:
    """What the terms that its source's title or description holds add: passage_id, number, part (1), value."""
    source, w = Source, weighed.c
    held = and_(w.place <= most_terms, source.title_tsv.bool_op("@@")(w.term))
    return select(
        candidates.c.passage_id, w.number, literal(1).label("part"), (TITLE_SHARE * w.weight).label("value")
    ).select_from(
        candidates.join(
            source.__table__, and_(source.workspace_id == WORKSPACE_ID, source.id == candidates.c.source_id)
        ).join(weighed, held)
    )
