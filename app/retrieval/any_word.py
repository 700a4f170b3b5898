"""The third step of ANY_WORD (SPEC R28): passages that hold any of the words, rare words weighing more. Pure SQL.

The score of a passage is BM25 (Robertson and Zaragoza 2009) over the terms of the question, and a share of a term's
weight where the source's title or description holds it, as text deep in a document seldom repeats what it is about.
In five parts, each over admitted rows only, so that a weight, a rank and a place say nothing of what the caller cannot
read:

    counted     how many passages hold each term: 16 times those of the sample (a sixteenth of the rows, with an index
                of its own), or all of them, counted, where the sample holds too few
    weighed     each term's weight from that count
    candidates  passages that hold one of the weightier terms, and of them the POOL best by ts_rank, which is quick
    values      what each term adds to the score of a candidate (app/retrieval/bm25.py)
    scores      their sum

Floating-point sums are taken in the order of the terms: in another order the last digit would differ. POOL is more than
a limit can be, so the first n hits of a larger limit are those of limit n. What was tried: docs/relevance.md.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    ARRAY,
    CTE,
    ColumnElement,
    Float,
    Integer,
    ScalarSelect,
    Select,
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
from app.models import IndexPosting
from app.query import Query
from app.retrieval.bm25 import materialized, scored

# From this many rows on a sample is trusted (a standard error below a fifth). Exact counts stop at MOST_COUNTED.
ENOUGH_IN_SAMPLE = 30
MOST_COUNTED = 1_000
# The commonest terms, up to this share of all weights, bring in no candidates: they are most of the rows and little of
# the order. Nor do those behind the MOST_TERMS weightiest: a whole page was pasted. All count for the score.
LIGHT_SHARE = 0.3
MOST_TERMS = 32
# Candidates that get an exact score, or as many as there are places, if that is more: only a refill asks for so many.
# Where there are fewer than ENOUGH, the terms that were left out bring in more.
POOL = 150
ENOUGH = 50
# ts_rank with equal weights, divided by 1 + log(length).
EQUAL_WEIGHTS = "{1,1,1,1}"
LENGTH_NORMALISATION = 1

# Written out, so that the planner sees the condition of the partial index.
SAMPLE: ColumnElement[int] = literal_column("0")
TERMS = bindparam("terms", type_=ARRAY(Text()))
TIMES = bindparam("times", type_=ARRAY(Integer()))
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
    grants, and counted there (measured with 100 grants: 0.4 of the time). Both give the same answer.
    """
    posting = IndexPosting
    admission = admitted(posting.source_id, open_read)
    rows = (
        select(
            *(getattr(posting, name) for name in ("passage_id", "source_id", "version_id", "ordinal", "sample", "tsv"))
        )
        .select_from(admission.joined(posting.__table__, posting.version_id))
        .where(
            posting.workspace_id == WORKSPACE_ID,
            posting.index_id == index_id,
            admission.predicate,
        )
    )
    source: Select[*tuple[Any, ...]] | CTE = rows
    if not open_read:
        source = materialized(rows.where(posting.tsv.bool_op("@@")(ANY_OF_THEM)), "readable")
    weighed = _weighed(_counted(source))
    candidates = _candidates(source, weighed, listed, func.greatest(POOL, places))
    return scored(candidates, weighed, MOST_TERMS).limit(places)


def _rows(
    source: Select[*tuple[Any, ...]] | CTE, term: ColumnElement[Any], *, sampled: bool = False
) -> Select[*tuple[Any, ...]]:
    """The admitted rows, or those of the sample, that hold the term. The quicker condition stands first."""
    rows = select(source) if isinstance(source, CTE) else source
    if sampled:
        rows = rows.where(rows.selected_columns.sample == SAMPLE)
    return rows.where(rows.selected_columns.tsv.bool_op("@@")(term))


def _counted(source: Select[*tuple[Any, ...]] | CTE) -> CTE:
    """The terms of the question: number, term, times (in the question), passages (admitted ones that hold it)."""
    given = func.unnest(TERMS, TIMES).table_valued(
        column("term", Text), column("times", Integer), with_ordinality="number", name="given"
    )
    g = given.render_derived().c
    asked = materialized(select(g.number, cast(g.term, TSQUERY).label("term"), g.times), "asked")
    rows = _rows(source, asked.c.term).correlate(asked)
    in_sample = _rows(source, asked.c.term, sampled=True).correlate(asked).subquery("in_sample")
    sample = select(func.count().label("rows")).select_from(in_sample).lateral("sample")
    every = select(func.count()).select_from(rows.limit(MOST_COUNTED).subquery("every")).scalar_subquery()
    passages = case((sample.c.rows >= ENOUGH_IN_SAMPLE, sample.c.rows * SAMPLES), else_=every)
    return materialized(
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
    return materialized(
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


def _candidates(
    source: Select[*tuple[Any, ...]] | CTE, weighed: CTE, listed: Sequence[CTE], pool: ColumnElement[int]
) -> CTE:
    """The passages to score: passage_id, source_id, version_id, ordinal, tsv, length (in different words)."""
    w = weighed.c
    chosen = and_(w.place <= MOST_TERMS, (w.place == 1) | ~w.light)
    best = materialized(_best(source, _one_of(weighed, chosen), listed).limit(pool), "best")
    few = select(func.count()).select_from(best).scalar_subquery() < ENOUGH
    more = _best(source, _one_of(weighed, ~chosen), [*listed, best]).limit(case((few, pool), else_=0))
    return materialized(union_all(select(best), select(more.subquery("more"))).subquery().select(), "candidates")


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
    length = func.length(c.tsv).label("length")
    wanted = rows.with_only_columns(c.passage_id, c.source_id, c.version_id, c.ordinal, c.tsv, length)
    return wanted.where(*elsewhere).order_by(rank.desc(), c.source_id, c.ordinal)
