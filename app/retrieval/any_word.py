"""The third step of ANY_WORD (SPEC R28): passages that hold any of the words, rare words weighing more. Pure SQL.

The score of a passage is BM25 (Robertson and Zaragoza 2009) over the terms of the question, and a share of a term's
weight where the source's title or description holds it, as text deep in a document seldom repeats what it is about.
In five parts, each over admitted rows only, so that a weight, a rank and a place say nothing of what the caller cannot
read:

    counted     how many passages hold each term: 16 times those of the sample (a sixteenth of the rows, with an index
                of its own), or all of them, counted, where the sample holds too few
    weighed     each term's weight from that count
    candidates  passages that hold one of the weightier terms, and of them the POOL best by ts_rank, which is quick
    stands      how often each term stands in each candidate, from the tsvector's positions
    any_word    the exact score

Floating-point sums are taken in the order of the terms: in another order the last digit would differ. POOL does not
depend on the limit, so the first n hits of a larger limit are those of limit n. What was tried: docs/relevance.md.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    ARRAY,
    CTE,
    ColumnElement,
    Float,
    FromClause,
    Integer,
    ScalarSelect,
    Select,
    SmallInteger,
    Text,
    and_,
    bindparam,
    case,
    cast,
    column,
    func,
    literal,
    literal_column,
    select,
    true,
    union_all,
)
from sqlalchemy.dialects.postgresql import TSQUERY, aggregate_order_by

from app.access.admission import WORKSPACE_ID, admitted
from app.knowledge_bases.indexing import SAMPLES
from app.models import IndexPosting, Source
from app.query import Query

# BM25's usual constants. Lengths are counted in different words, of which a passage has about 50.
K1 = 1.2
B = 0.75
USUAL_LENGTH = 50.0
# A term of the question that title or description hold, beside the 0.45 of its weight for standing in a text once.
TITLE_SHARE = 0.25
# From this many rows on a sample is trusted (a standard error below a fifth). Exact counts stop at MOST_COUNTED.
ENOUGH_IN_SAMPLE = 30
MOST_COUNTED = 1_000
# The commonest terms, up to this share of all weights, bring in no candidates: they are most of the rows and little of
# the order. Nor do those behind the MOST_TERMS weightiest: a whole page was pasted. All count for the score.
LIGHT_SHARE = 0.3
MOST_TERMS = 32
# Candidates that get an exact score. Where there are fewer than ENOUGH, the terms that were left out bring in more.
POOL = 200
ENOUGH = 50
# ts_rank with equal weights, divided by 1 + log(length).
EQUAL_WEIGHTS = "{1,1,1,1}"
LENGTH_NORMALISATION = 1

# Written out, so that the planner sees the condition of the partial index.
SAMPLE: ColumnElement[int] = literal_column("0")
TERMS = bindparam("terms", type_=ARRAY(Text()))
TIMES = bindparam("times", type_=ARRAY(Integer()))
PART_TERMS = bindparam("part_terms", type_=ARRAY(Integer()))
PART_LEXEMES = bindparam("part_lexemes", type_=ARRAY(Text()))
PART_PLACES = bindparam("part_places", type_=ARRAY(Integer()))
ANY_OF_THEM = cast(bindparam("any_of_them", type_=Text()), TSQUERY)


def parameters(query: Query) -> dict[str, object]:
    """What the statement asks of a question: its terms, and the lexemes that each is made of, numbered from 1."""
    parts = [(number, *part) for number, term in enumerate(query.terms, 1) for part in term.places]
    return {
        "terms": [term.tsquery for term in query.terms],
        "times": list(query.times),
        "part_terms": [number for number, _, _ in parts],
        "part_lexemes": [lexeme for _, lexeme, _ in parts],
        "part_places": [place for _, _, place in parts],
        "any_of_them": " | ".join(term.tsquery for term in query.terms),
    }


def any_word_search(
    index_id: ColumnElement[Any], listed: Sequence[CTE], places: ColumnElement[int], *, open_read: bool
) -> Select[*tuple[Any, ...]]:
    """At most `places` passages, best first, that are not among those `listed`. With no places nothing is run.

    `open_read`: the caller's rows are looked up term by term. Else they are few: they are fetched once, from the
    grants, and counted there (measured with 100 grants: 7 ms, not 113). Both give the same answer.
    """
    admission, posting = admitted(), IndexPosting
    rows = (
        select(
            *(getattr(posting, name) for name in ("passage_id", "source_id", "version_id", "ordinal", "sample", "tsv"))
        )
        .select_from(admission.joined(posting.__table__, posting.version_id))
        .where(posting.workspace_id == WORKSPACE_ID, posting.index_id == index_id, admission.predicate)
    )
    source: Select[*tuple[Any, ...]] | CTE = rows
    if not open_read:
        source = _materialized(rows.where(posting.tsv.bool_op("@@")(ANY_OF_THEM)), "readable")
    weighed = _weighed(_counted(source))
    candidates = _candidates(source, weighed, listed)
    return _scored(candidates, weighed, _stands(candidates)).limit(places)


def _materialized(statement: Select[*tuple[Any, ...]], name: str) -> CTE:
    return statement.cte(name).prefix_with("MATERIALIZED")


def _rows(source: Select[*tuple[Any, ...]] | CTE, term: ColumnElement[Any]) -> Select[*tuple[Any, ...]]:
    """The admitted rows that hold the term."""
    rows = select(source) if isinstance(source, CTE) else source
    return rows.where(rows.selected_columns.tsv.bool_op("@@")(term))


def _counted(source: Select[*tuple[Any, ...]] | CTE) -> CTE:
    """The terms of the question: number, term, times (in the question), passages (admitted ones that hold it)."""
    given = func.unnest(TERMS, TIMES).table_valued(
        column("term", Text), column("times", Integer), with_ordinality="number", name="given"
    )
    g = given.render_derived().c
    asked = _materialized(select(g.number, cast(g.term, TSQUERY).label("term"), g.times), "asked")
    rows = _rows(source, asked.c.term).correlate(asked)
    in_sample = rows.where(rows.selected_columns.sample == SAMPLE).subquery("in_sample")
    sample = select(func.count().label("rows")).select_from(in_sample).lateral("sample")
    every = select(func.count()).select_from(rows.limit(MOST_COUNTED).subquery("every")).scalar_subquery()
    passages = case((sample.c.rows >= ENOUGH_IN_SAMPLE, sample.c.rows * SAMPLES), else_=every)
    return _materialized(
        select(*asked.c, cast(passages, Float(53)).label("passages")).select_from(asked.join(sample, true())), "counted"
    )


def _weighed(counted: CTE) -> CTE:
    """The terms with their weights: number, term, weight; `place` from 1, the weightiest; `light` for the commonest.

    BM25 asks how many passages there are. Twice as many as hold the commonest term does as well, and is known.
    """
    held = counted.c.passages
    total = func.greatest(float(MOST_COUNTED), 2.0 * func.max(held).over())
    rarity = func.ln(1.0 + (total - held + 0.5) / (held + 0.5))
    rare = select(counted.c.number, counted.c.term, counted.c.times, rarity.label("rarity")).where(held > 0)
    r = rare.subquery("rare").c
    weight = r.times * r.rarity
    order = (weight, r.number.desc())
    return _materialized(
        select(
            r.number,
            r.term,
            weight.label("weight"),
            func.row_number().over(order_by=(weight.desc(), r.number)).label("place"),
            (
                func.sum(weight).over(order_by=order)
                <= LIGHT_SHARE * func.sum(weight).over(order_by=order, rows=(None, None))
            ).label("light"),
        ),
        "weighed",
    )


def _candidates(source: Select[*tuple[Any, ...]] | CTE, weighed: CTE, listed: Sequence[CTE]) -> CTE:
    """The passages to score: passage_id, source_id, version_id, ordinal, tsv."""
    w = weighed.c
    chosen = and_(w.place <= MOST_TERMS, (w.place == 1) | ~w.light)
    best = _materialized(_best(source, _one_of(weighed, chosen), listed).limit(POOL), "best")
    few = select(func.count()).select_from(best).scalar_subquery() < ENOUGH
    more = _best(source, _one_of(weighed, ~chosen), [*listed, best]).limit(case((few, POOL), else_=0))
    return _materialized(union_all(select(best), select(more.subquery("more"))).subquery().select(), "candidates")


def _one_of(weighed: CTE, chosen: ColumnElement[bool]) -> ScalarSelect[Any]:
    """The tsquery that one of the chosen terms meets; NULL, which nothing meets, for none."""
    terms = func.string_agg(cast(weighed.c.term, Text), aggregate_order_by(literal(" | "), weighed.c.number))
    return select(cast(terms, TSQUERY)).where(chosen).scalar_subquery()


def _best(
    source: Select[*tuple[Any, ...]] | CTE, query: ScalarSelect[Any], listed: Sequence[CTE]
) -> Select[*tuple[Any, ...]]:
    rows = _rows(source, query)
    c = rows.selected_columns
    rank = func.ts_rank(cast(literal(EQUAL_WEIGHTS), ARRAY(Float(24))), c.tsv, query, LENGTH_NORMALISATION)
    elsewhere = [c.passage_id.not_in(select(cte.c.passage_id)) for cte in listed]
    wanted = rows.with_only_columns(c.passage_id, c.source_id, c.version_id, c.ordinal, c.tsv)
    return wanted.where(*elsewhere).order_by(rank.desc(), c.source_id, c.ordinal)


def _stands(candidates: CTE) -> FromClause:
    """How often each term stands in each candidate: passage_id, number, times.

    A term stands wherever all its parts do, each at its place behind the start. A word is a term of one part.
    """
    given = func.unnest(PART_TERMS, PART_LEXEMES, PART_PLACES).table_valued(
        column("number", Integer), column("lexeme", Text), column("place", Integer), name="part"
    )
    given = given.render_derived()
    every = func.count().over(partition_by=given.c.number).label("parts")
    parts = _materialized(select(given.c.number, given.c.lexeme, given.c.place, every), "parts")
    word = func.unnest(candidates.c.tsv).table_valued(
        column("lexeme", Text), column("positions", ARRAY(SmallInteger)), name="word"
    )
    word = word.render_derived()
    position = func.unnest(word.c.positions).table_valued(column("at", SmallInteger), name="position").render_derived()
    start = (position.c.at - parts.c.place).label("start")
    starts = (
        select(candidates.c.passage_id, parts.c.number)
        .select_from(candidates.join(word, true()).join(parts, parts.c.lexeme == word.c.lexeme).join(position, true()))
        .group_by(candidates.c.passage_id, parts.c.number, parts.c.parts, start)
        .having(func.count() == parts.c.parts)
        .subquery("starts")
    )
    return (
        select(starts.c.passage_id, starts.c.number, cast(func.count(), Float(53)).label("times"))
        .group_by(starts.c.passage_id, starts.c.number)
        .subquery("stands")
    )


def _scored(candidates: CTE, weighed: CTE, stands: FromClause) -> Select[*tuple[Any, ...]]:
    """passage_id, source_id, version_id, ordinal, rank: the best first, then by source id and ordinal."""
    c, w, source = candidates.c, weighed.c, Source
    length = K1 * (1.0 - B + B * func.length(c.tsv) / USUAL_LENGTH)
    in_title = case((source.title_tsv.bool_op("@@")(w.term), TITLE_SHARE), else_=0.0)
    value = w.weight * (func.coalesce(stands.c.times / (stands.c.times + length), 0.0) + in_title)
    rank = func.sum(aggregate_order_by(value, w.number)).label("rank")
    columns = (c.passage_id, c.source_id, c.version_id, c.ordinal)
    return (
        select(*columns, rank)
        .select_from(
            candidates.join(source.__table__, and_(source.workspace_id == WORKSPACE_ID, source.id == c.source_id))
            .join(weighed, true())
            .outerjoin(stands, and_(stands.c.passage_id == c.passage_id, stands.c.number == w.number))
        )
        .group_by(*columns)
        .order_by(rank.desc(), c.source_id, c.ordinal)
    )
