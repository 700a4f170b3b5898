"""Both searches use their indexes at 100,000 passages (SEARCH: the decision)."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import pytest_asyncio
from sqlalchemy import text

from app.database import HotStatement
from app.query import parse
from app.retrieval.repository import told
from app.retrieval.scopes import Scope
from app.retrieval.statements import Form, search
from app.services import Services
from tests.world import READER, World

SOURCES = 10_000
PASSAGES_EACH = 10
# One word in every passage, one in a tenth of them, one in ten of them all, and one of its own.
FILL = """
WITH made AS (
    INSERT INTO sources (workspace_id, id, title, private, owner, title_key, title_tsv)
    SELECT $1::uuid, gen_random_uuid(), 'T' || n, n % 5 = 0, 'user:o', sha256(n::text::bytea),
           ('''t' || n || ''':1A ''titl'':2A')::tsvector
    FROM generate_series(1, $2::int) n RETURNING id
), versions AS (
    INSERT INTO source_versions (workspace_id, id, source_id, number, file_name, media_type, size, sha256, status)
    SELECT $1::uuid, gen_random_uuid(), id, 1, 'f', 't', 1, 'x', 'INDEXED' FROM made RETURNING id, source_id
), access AS (
    INSERT INTO version_access SELECT $1::uuid, v.id, v.source_id, false, true, true, true FROM versions v
), members AS (
    INSERT INTO index_members
    SELECT $1::uuid, $1::uuid, source_id, id, gen_random_uuid(), $3::int FROM versions
)
INSERT INTO index_postings
SELECT $1::uuid, $1::uuid, gen_random_uuid(), source_id, v.id, o, 0,
       ('''common'':1 ''tenth' || r % 10 || ''':2 ''rare' || r % 10000 || ''':3 ''own' || r || ''':4')::tsvector
FROM (SELECT id, source_id, row_number() OVER () AS s FROM versions) v, generate_series(0, $3::int - 1) o,
     LATERAL (SELECT v.s * $3::int + o AS r) numbered
"""


@pytest_asyncio.fixture(scope="module")
async def large(services: Services, server: str) -> Any:
    """A workspace of 100,000 passages, known to the planner."""
    async with World.made(services, server) as world:
        async with services.database.engine.connect() as connection:
            driver = (await connection.get_raw_connection()).driver_connection
            assert driver is not None
            async with driver.transaction():
                await driver.execute("SET LOCAL statement_timeout = 0")
                await driver.execute(FILL, world.workspace_id, SOURCES, PASSAGES_EACH)
            await driver.execute("ANALYZE sources, index_members, index_postings, version_access")
        yield world


async def _plan(world: World, query: str, open_read: bool, subject: str = READER) -> list[dict[str, Any]]:
    statement = HotStatement(search(Form(words=True, open_read=open_read)))
    parsed = parse(query)
    arguments = statement.arguments(
        {
            "workspace_id": world.workspace_id,
            "subjects": [subject],
            **told(world.subject(subject), Scope(open_read, None)),
            "all_words": parsed.all_words,
            "title_key": parsed.title_key,
            "limit": 10,
            "source_ids": None,
            "denied": [],
        }
    )
    async with world.services.database.engine.connect() as connection:
        driver = (await connection.get_raw_connection()).driver_connection
        assert driver is not None
        rows = await driver.fetch(f"EXPLAIN (FORMAT JSON) {statement.sql}", *arguments)
    return list(_nodes(rows[0][0][0]["Plan"]))


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", []):
        yield from _nodes(child)


@pytest.mark.parametrize("query", ["own77", "rare77", "tenth7 rare77", '"tenth7 rare77"'])
async def test_content_search_uses_the_gin_index(large: World, query: str) -> None:
    plan = await _plan(large, query, open_read=True)
    assert "ix_index_postings_tsv" in {node.get("Index Name") for node in plan}
    assert "index_postings" not in {node.get("Relation Name") for node in plan if node["Node Type"] == "Seq Scan"}


async def test_title_search_uses_its_gin_index_and_the_index_of_whole_titles(large: World) -> None:
    plan = await _plan(large, "t77", open_read=True)
    names = {node.get("Index Name") for node in plan}
    assert {"ix_sources_title", "ix_sources_workspace_id_title_key"} <= names
    assert "sources" not in {node.get("Relation Name") for node in plan if node["Node Type"] == "Seq Scan"}


async def test_a_caller_without_grants_is_answered_from_the_grants(large: World) -> None:
    """With open_read false the grants are inner-joined: what the caller can't read is not even looked at."""
    plan = await _plan(large, "common", open_read=False)
    joined = [node.get("Join Type") for node in plan if "source_grants" in json.dumps(node)]
    assert joined
    assert "Left" not in joined


async def test_a_caller_with_many_grants_has_them_joined_at_once(large: World) -> None:
    """Were they taken for few, they would be gone through anew for each match: measured, 27 s in place of 60 ms."""
    async with large.services.database.write() as session:
        await session.execute(
            text(
                "INSERT INTO source_grants (workspace_id, subject, source_id, read_until) "
                "SELECT workspace_id, 'user:granted', id, 'infinity' FROM sources WHERE workspace_id = :workspace_id"
            ),
            {"workspace_id": large.workspace_id},
        )
        await session.execute(text("ANALYZE source_grants"))
    plan = await _plan(large, "common tenth7", False, "user:granted")
    joins = [node for node in plan if "Join Type" in node and "index_postings" in json.dumps(node)]
    assert min(node["Plan Rows"] for node in joins) > 1_000  # of 10,000
