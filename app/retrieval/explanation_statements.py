"""The SQL of an explanation (SPEC R27). Pure. What decides is asked by the searches' own statements; this is the rest:

what is known of one source in one index, condition by condition, and which terms of a question its texts lack.
"""

from typing import Any

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    FromClause,
    Integer,
    ScalarSelect,
    Select,
    Text,
    Uuid,
    and_,
    bindparam,
    cast,
    column,
    exists,
    func,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import TSQUERY

from app.access.admission import OPEN_READ, WORKSPACE_ID, admitted, visible
from app.models import IndexMember, IndexPosting, KnowledgeBaseSource, Source, SourceVersion
from app.retrieval.statements import INDEX_ID

SOURCE_ID = bindparam("source_id", type_=Uuid())
KNOWLEDGE_BASE_ID = bindparam("knowledge_base_id", type_=Uuid())
TERMS = bindparam("terms", type_=ARRAY(Text()))


def source_facts() -> Select[*tuple[Any, ...]]:
    """One row, or none where the source does not exist. `index_id` NULL: there is no index, so no membership.

    Columns: visible; private, title_key; held (by the knowledge base's set); searched_id, searched_number,
    passage_count (of the version that the index holds, else NULL); the gates of admission for that version; newest_id,
    newest_number, newest_status, newest_reason.
    """
    source, member, searched = Source, IndexMember, SourceVersion
    gates, newest = _gates(), _newest()
    rows = (
        source.__table__.outerjoin(
            member,
            and_(
                member.workspace_id == source.workspace_id,
                member.source_id == source.id,
                member.index_id == INDEX_ID,
            ),
        )
        .outerjoin(searched, and_(searched.workspace_id == member.workspace_id, searched.id == member.version_id))
        .outerjoin(gates, true())
        .outerjoin(newest, true())
    )
    return (
        select(
            func.coalesce(visible(source.private.expression, source.id.expression, OPEN_READ), False).label("visible"),
            source.private,
            source.title_key,
            _held().label("held"),
            searched.id.label("searched_id"),
            searched.number.label("searched_number"),
            member.passage_count,
            *gates.c,
            *newest.c,
        )
        .select_from(rows)
        .where(source.workspace_id == WORKSPACE_ID, source.id == SOURCE_ID)
    )


def _gates() -> FromClause:
    """Admission's own conditions, for the version at which the index holds the source."""
    member = IndexMember
    admission = admitted(member.source_id, OPEN_READ)
    conditions = [func.coalesce(condition, False).label(name) for name, condition in admission.gates.items()]
    return (
        select(*conditions)
        .select_from(admission.joined(member.__table__, member.version_id))
        .where(member.workspace_id == WORKSPACE_ID, member.index_id == INDEX_ID, member.source_id == SOURCE_ID)
        .subquery("gates")
    )


def _newest() -> FromClause:
    version = SourceVersion
    return (
        select(
            version.id.label("newest_id"),
            version.number.label("newest_number"),
            version.status.label("newest_status"),
            version.status_reason.label("newest_reason"),
        )
        .where(version.workspace_id == WORKSPACE_ID, version.source_id == SOURCE_ID)
        .order_by(version.number.desc())
        .limit(1)
        .subquery("newest")
    )


def _held() -> ColumnElement[bool]:
    held = KnowledgeBaseSource
    return exists().where(
        held.workspace_id == WORKSPACE_ID,
        held.knowledge_base_id == KNOWLEDGE_BASE_ID,
        held.source_id == SOURCE_ID,
    )


def lacking_terms() -> Select[*tuple[Any, ...]]:
    """Which of `terms` (tsqueries, numbered from 1) the source's texts lack: one row, lists in order.

    title_lacks: its title and description. text_lacks: every passage of it in the index. best_ordinal, best_lacks: the
    passage that lacks fewest, the first of those; NULL where the index has no passage of it.
    """
    source = Source
    terms = (
        func.unnest(TERMS).table_valued(column("term", Text), with_ordinality="number", name="given").render_derived()
    )
    term, number = cast(terms.c.term, TSQUERY), cast(terms.c.number, Integer)

    def lacks(condition: ColumnElement[bool]) -> ScalarSelect[Any]:
        numbers = select(func.coalesce(func.array_agg(number), cast([], ARRAY(Integer)))).select_from(terms)
        return numbers.where(~condition).scalar_subquery()

    posting = IndexPosting
    of_source = (
        posting.workspace_id == WORKSPACE_ID,
        posting.index_id == INDEX_ID,
        posting.source_id == SOURCE_ID,
    )
    passages = (
        select(posting.ordinal, lacks(posting.tsv.bool_op("@@")(term)).label("lacks"))
        .where(*of_source)
        .subquery("passages")
    )
    best = (
        select(passages.c.ordinal.label("best_ordinal"), passages.c.lacks.label("best_lacks"))
        .order_by(func.cardinality(passages.c.lacks), passages.c.ordinal)
        .limit(1)
        .subquery("best")
    )
    somewhere = exists().where(*of_source, posting.tsv.bool_op("@@")(term))
    return (
        select(
            lacks(source.title_tsv.bool_op("@@")(term)).label("title_lacks"),
            lacks(somewhere).label("text_lacks"),
            *best.c,
        )
        .select_from(source.__table__.outerjoin(best, true()))
        .where(source.workspace_id == WORKSPACE_ID, source.id == SOURCE_ID)
    )
