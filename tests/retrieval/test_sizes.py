"""Searches of small indexes keep their plan (app/retrieval/sizes.py)."""

from collections.abc import Collection, Sequence
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Text, bindparam, column, select, table, text

from app.database import Database, HotStatement, Record
from app.query import parse
from app.retrieval import sizes
from app.retrieval.repository import search_index
from app.retrieval.request import MatchMode
from app.retrieval.scopes import Scope
from app.retrieval.sizes import SMALL, IndexSizes
from tests.world import READER, World

PASSAGES = 3


async def _small(world: World, known: IndexSizes, open_read: bool) -> bool:
    return await known.small(world.services.database, world.workspace_id, world.workspace_id, open_read)


@pytest.mark.parametrize("open_read", [True, False])
@pytest.mark.parametrize(("most", "small"), [(PASSAGES - 1, False), (PASSAGES, True)])
async def test_an_index_is_small_up_to_a_number_of_passages(
    world: World, monkeypatch: pytest.MonkeyPatch, open_read: bool, most: int, small: bool
) -> None:
    for number in range(PASSAGES):
        await world.add(f"Log {number}", "Rigging was checked.")
    monkeypatch.setitem(SMALL, open_read, most)
    monkeypatch.setitem(SMALL, not open_read, 0)
    assert await _small(world, IndexSizes(), open_read) is small


async def test_an_index_is_counted_again_when_its_time_is_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SMALL, True, 1)
    await world.add("Log 1", "Rigging was checked.")
    known = IndexSizes()
    assert await _small(world, known, True) is True
    await world.add("Log 2", "Rigging was checked.")
    assert await _small(world, known, True) is True
    monkeypatch.setattr(sizes, "COUNTED_SECONDS", -1.0)
    known = IndexSizes()
    assert await _small(world, known, True) is False
    await world.manager.change("deleteSource", "__typename", id=world.sources["Log 2"])
    await world.work()
    assert await _small(world, known, True) is True


async def test_a_small_index_gives_what_a_large_one_gives(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(12):
        await world.add(f"Rigging {number}", f"Rigging of pier {number} was checked.", private=number % 3 == 0)
    await world.grant("user:granted", "source.read", world.sources["Rigging 3"])
    await world.grant("user:granted", "source.details", world.sources["Rigging 4"])
    callers = [world.reader, world.caller("user:granted"), world.nobody]
    kept = [await caller.hits("rigging", limit=5) for caller in callers]
    assert [len(hits) for hits in kept] == [5, 2, 0]
    for open_read in SMALL:
        monkeypatch.setitem(SMALL, open_read, 0)
    assert [await caller.hits("rigging", limit=5) for caller in callers] == kept


async def test_a_kept_plan_reads_no_table_whole(world: World) -> None:
    """Not even while it is small, as all are when a server is new: the plan is kept when it has grown."""
    version = table("alembic_version", column("version_num", Text))
    look_up = select(version.c.version_num).where(version.c.version_num == bindparam("number", type_=Text()))
    async with world.services.database.write() as session:
        await session.execute(text("ANALYZE alembic_version"))
    for keep_plan, way in ((True, "Index Only Scan"), (False, "Seq Scan")):
        explain = HotStatement(look_up, keep_plan=keep_plan)
        explain.sql = f"EXPLAIN {explain.sql}"
        rows = await world.services.database.fetch(explain, number="0")
        assert rows[0][0].startswith(way)


class Heard(Database):
    """Says of each statement that it runs whether its plan is kept."""

    kept: list[bool]

    async def fetch(self, statement: HotStatement, **parameters: object) -> Sequence[Record]:
        self.kept.append(statement.keep_plan)
        return await super().fetch(statement, **parameters)


@pytest.mark.parametrize(
    ("small", "source_ids", "denied", "match", "kept"),
    [
        (True, None, (), MatchMode.ALL_WORDS, True),
        (False, None, (), MatchMode.ALL_WORDS, False),
        (True, (), (), MatchMode.ALL_WORDS, False),
        (True, (uuid4(),), (), MatchMode.ALL_WORDS, False),
        (True, None, (uuid4(),), MatchMode.ALL_WORDS, False),
        (True, None, (), MatchMode.ANY_WORD, False),
    ],
)
async def test_a_list_and_the_third_step_are_planned_for(
    world: World,
    small: bool,
    source_ids: Collection[UUID] | None,
    denied: Collection[UUID],
    match: MatchMode,
    kept: bool,
) -> None:
    """A list of sources may be a better beginning than the words (measured: 0.8 ms in place of 4)."""
    await world.add("Log", "Rigging was checked.")
    heard = Heard(world.services.database.url.render_as_string(False), world.services.settings)
    heard.kept = []
    found = await search_index(
        heard,
        world.subject(READER),
        Scope(True, None),
        query=parse("rigging checked"),
        limit=10,
        source_ids=source_ids,
        denied=denied,
        match=match,
        small=small,
    )
    await heard.close()
    assert heard.kept == [kept]
    assert len(found) == (1 if source_ids is None else 0)
