"""ANY_WORD where an authorizer of one's own may refuse what the grants allow (SPEC R8, R12, R14, R28)."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from app.access.authorizers import DatabaseAuthorizer
from app.access.subject import Subject
from app.errors import AuthorizationUnavailable
from app.settings import Settings
from graphql_schema.asgi import create
from tests.serving import serving
from tests.world import World

ASK = """query ($query: String!, $limit: Int!, $sourceIds: [ID!]) {
  retrieve(query: $query, limit: $limit, sourceIds: $sourceIds, match: ANY_WORD) { hits { resourceId rank } } }"""
EXPLAIN = """query ($query: String!, $source: ID!) {
  explainRetrieval(query: $query, sourceId: $source, limit: 50, match: ANY_WORD) { found place smallestLimit step } }"""


class Refusing:
    """Allows the sources in `allowed`, all if that is None; while `undecided`, it cannot say."""

    def __init__(self) -> None:
        self.allowed: set[str] | None = None
        self.undecided = False
        self.asked: list[int] = []

    async def check(self, _: Subject, source_ids: Sequence[UUID]) -> list[bool]:
        self.asked.append(len(source_ids))
        if self.undecided:
            raise AuthorizationUnavailable
        return [self.allowed is None or str(source_id) in self.allowed for source_id in source_ids]


async def _found(world: World, limit: int, source_ids: Sequence[str] | None = None) -> list[tuple[str, float]]:
    answer = await world.reader.ask(ASK, query="crane winch", limit=limit, sourceIds=source_ids)
    return [(hit["resourceId"], hit["rank"]) for hit in answer["retrieve"]["hits"]]


async def test_the_answer_is_that_of_a_library_without_what_is_refused(world: World, settings: Settings) -> None:
    """Whatever the limit, and also where no refused source would be a hit."""
    winches = [await world.add(f"Winch {number}", "A winch.") for number in range(8)]
    cranes = [await world.add(f"Crane {number}", "A crane.") for number in range(3)]
    authorizer = Refusing()
    authorizer.allowed = {winches[0], *cranes}  # the winch is rare among these, and the crane among all
    async with serving(create(settings, authorizer)) as address:
        world.address = address
        most = await _found(world, 50)
        assert [source for source, _ in most] == [winches[0], *sorted(cranes)]
        assert [await _found(world, limit) for limit in (1, 2, 3, 4)] == [most[:limit] for limit in (1, 2, 3, 4)]
        assert [source for source, _ in await _found(world, 2, [cranes[1], winches[1]])] == [cranes[1]]
        assert authorizer.asked[:5] == [11] * 5  # one batch each
        for source in winches[1:]:
            await world.manager.change("deleteSource", "id", id=source)
        await world.work()
        assert await _found(world, 50) == most


async def test_one_that_cannot_decide_fails_the_field(world: World, settings: Settings) -> None:
    await world.add("Winch", "A winch.")
    authorizer = Refusing()
    authorizer.undecided = True
    async with serving(create(settings, authorizer)) as address:
        world.address = address
        answer = (await world.reader.post(ASK, {"query": "crane winch", "limit": 1})).json()
    assert answer["data"] == {"retrieve": None}
    assert [error["extensions"]["code"] for error in answer["errors"]] == ["AUTHORIZATION_UNAVAILABLE"]


async def test_no_place_is_counted_behind_those_that_are_ranked(world: World, settings: Settings) -> None:
    """The database's own authorizer has ranked them all by what the caller may read; one of one's own was not asked."""
    await world.add("Winches", "\n\n".join(f"# Winch {number}\n\nA winch. {'Rope. ' * 150}" for number in range(60)))
    last = await world.add("Last", f"A winch. {'Quay, rope, tar, deck, hull. ' * 35}")

    async def told() -> dict[str, Any]:
        told: dict[str, Any] = (await world.reader.ask(EXPLAIN, query="crane winch", source=last))["explainRetrieval"]
        return told

    for authorizer, place in ((DatabaseAuthorizer(world.services.database), 61), (Refusing(), None)):
        async with serving(create(settings, authorizer)) as address:
            world.address = address
            assert await told() == {"found": False, "place": place, "smallestLimit": None, "step": "ANY_WORD"}
