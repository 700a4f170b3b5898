"""The read check: the last word on every hit, asked once for a whole operation, and never guessed (SPEC R12)."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio

from app.access.authorizers import Authorizer, DatabaseAuthorizer
from app.access.grants import Action
from app.access.subject import Subject
from app.errors import AuthorizationUnavailable, AuthorizerMisconfigured
from app.services import Services
from app.settings import Settings
from graphql_schema.asgi import create
from tests.access.filling import served, shelve
from tests.serving import serving
from tests.world import READER, World

UNDECIDED = {"code": "AUTHORIZATION_UNAVAILABLE", "retryable": True}
MISCONFIGURED = {"code": "AUTHORIZATION_UNAVAILABLE", "retryable": False}

Decide = Callable[[Subject, Sequence[UUID]], Awaitable[list[bool]]]


@dataclass
class Gatekeeper:
    """An authorizer that decides as a test says, and keeps what it was asked."""

    real: Authorizer
    decide: Decide | None = None
    asked: list[tuple[Subject, list[UUID]]] = field(default_factory=list)

    async def check(self, subject: Subject, source_ids: Sequence[UUID]) -> list[bool]:
        self.asked.append((subject, list(source_ids)))
        return await (self.decide or self.real.check)(subject, source_ids)


@pytest_asyncio.fixture(scope="module")
async def guarded(settings: Settings, services: Services) -> AsyncIterator[tuple[Gatekeeper, str]]:
    """The whole product with a gatekeeper in it, and its address."""
    gatekeeper = Gatekeeper(DatabaseAuthorizer(services.database))
    async with serving(create(settings, gatekeeper)) as address:
        yield gatekeeper, address


@pytest_asyncio.fixture
async def gatekeeper(guarded: tuple[Gatekeeper, str]) -> Gatekeeper:
    guarded[0].decide = None
    guarded[0].asked.clear()
    return guarded[0]


@pytest_asyncio.fixture
async def world(services: Services, guarded: tuple[Gatekeeper, str]) -> AsyncIterator[World]:
    async with World.made(services, guarded[1]) as made:
        yield made


# Between the search and the check


@pytest.mark.parametrize("query", ["quayside", "ledger"])
async def test_what_is_revoked_after_the_search_is_not_served(world: World, gatekeeper: Gatekeeper, query: str) -> None:
    kept, lost = await shelve(world, 2, private=True)
    for source_id in (kept, lost):
        await world.grant("user:ada", "source.read", source_id)

    async def revoke_and_ask(subject: Subject, source_ids: Sequence[UUID]) -> list[bool]:
        await world.services.library.revoke_access(
            world.subject("user:owner"), "user:ada", Action.SOURCE_READ, UUID(lost)
        )
        return await gatekeeper.real.check(subject, source_ids)

    assert await served(world, query=query, who="user:ada") == [kept, lost]
    gatekeeper.decide = revoke_and_ask
    gatekeeper.asked.clear()
    assert await served(world, query=query, who="user:ada") == [kept]
    assert [ids for _, ids in gatekeeper.asked] == [[UUID(kept), UUID(lost)]]


@pytest.mark.parametrize("change", ["private", "unavailable", "deleted", "workspace reading"])
async def test_what_is_closed_after_the_search_is_not_served(world: World, gatekeeper: Gatekeeper, change: str) -> None:
    (source_id,) = await shelve(world, 1)
    library, owner = world.services.library, world.subject("user:owner")

    async def close_and_ask(subject: Subject, source_ids: Sequence[UUID]) -> list[bool]:
        if change == "private":
            await library.change_source(
                owner, UUID(source_id), title=None, description=None, keep_description=True, private=True
            )
        elif change == "unavailable":
            await library.set_availability(owner, UUID(source_id), "UNAVAILABLE")
        elif change == "deleted":
            await library.delete_source(owner, UUID(source_id))
        else:
            await world.revoke(READER, "workspace.read")
        return await gatekeeper.real.check(subject, source_ids)

    assert await served(world) == [source_id]
    gatekeeper.decide = close_and_ask
    assert await served(world) == []


# One batch


async def test_ten_retrievals_of_an_operation_are_one_batch(world: World, gatekeeper: Gatekeeper) -> None:
    shelf = await shelve(world, 12)
    base = await world.knowledge_base()
    asks = [f'q{n}: retrieve(query: "quayside", limit: {n + 1}) {{ hits {{ resourceId }} }}' for n in range(8)]
    asks.append('title: retrieve(query: "ledger 11", limit: 50) { hits { resourceId } }')
    asks.append(f'base: retrieve(query: "quayside", knowledgeBaseId: "{base}") {{ hits {{ resourceId }} }}')
    data = await world.reader.ask(f"{{ {' '.join(asks)} }}")
    assert [len(answer["hits"]) for answer in data.values()] == [1, 2, 3, 4, 5, 6, 7, 8, 1, 0]
    (asked,) = gatekeeper.asked
    assert asked[0] == Subject(world.workspace_id, READER, frozenset())
    assert sorted(map(str, asked[1])) == sorted([*shelf[:8], shelf[11]])


async def test_an_operation_that_finds_nothing_asks_nothing(world: World, gatekeeper: Gatekeeper) -> None:
    await shelve(world, 1)
    assert await served(world, query="zeppelin") == []
    assert gatekeeper.asked == []


async def test_nothing_is_remembered_from_one_operation_to_the_next(world: World, gatekeeper: Gatekeeper) -> None:
    await shelve(world, 1)
    for _ in range(2):
        assert len(await served(world)) == 1
    assert await served(world, who="user:nobody") == []
    assert [subject.id for subject, _ in gatekeeper.asked] == [READER, READER]


# Undecided


@pytest.mark.parametrize(
    ("error", "extensions"),
    [(AuthorizationUnavailable(), UNDECIDED), (AuthorizerMisconfigured(), MISCONFIGURED)],
    ids=["unavailable", "misconfigured"],
)
async def test_a_field_that_cannot_be_decided_fails_alone(
    world: World, gatekeeper: Gatekeeper, error: Exception, extensions: dict[str, Any]
) -> None:
    await shelve(world, 3)

    async def undecided(*_: object) -> list[bool]:
        raise error

    gatekeeper.decide = undecided
    response = await world.reader.post(
        '{ viewer { subject } sources { nodes { title } } found: retrieve(query: "quayside") { hits { text } }'
        ' nothing: retrieve(query: "zeppelin") { hits { text } } twice: retrieve(query: "ledger") { hits { text } } }'
    )
    answer = response.json()
    assert response.status_code == 200
    assert answer["data"] == {
        "viewer": {"subject": READER},
        "sources": {"nodes": [{"title": f"Ledger {n}"} for n in range(3)]},
        "found": None,
        "nothing": {"hits": []},
        "twice": None,
    }
    assert [(error["path"], error["extensions"]) for error in answer["errors"]] == [
        (["found"], extensions),
        (["twice"], extensions),
    ]


async def test_undecided_in_a_later_round_serves_nothing_of_the_first(world: World, gatekeeper: Gatekeeper) -> None:
    shelf = await shelve(world, 6)

    async def first_round_only(_: Subject, source_ids: Sequence[UUID]) -> list[bool]:
        if len(gatekeeper.asked) > 1:
            raise AuthorizationUnavailable
        return [str(source_id) != shelf[0] for source_id in source_ids]

    gatekeeper.decide = first_round_only
    response = await world.reader.post('{ retrieve(query: "quayside", limit: 3) { hits { text } } }')
    assert response.json()["data"] == {"retrieve": None}
    assert [error["extensions"] for error in response.json()["errors"]] == [UNDECIDED]


@pytest.mark.parametrize(
    "nonsense",
    [pytest.param([], id="too few answers"), pytest.param([True, True], id="too many answers")],
)
async def test_an_authorizer_that_answers_beside_the_question_serves_nothing(
    world: World, gatekeeper: Gatekeeper, nonsense: list[bool]
) -> None:
    await shelve(world, 1)

    async def beside(*_: object) -> list[bool]:
        return nonsense

    gatekeeper.decide = beside
    answer = (await world.reader.post('{ retrieve(query: "quayside") { hits { text } } }')).json()
    assert answer["data"] == {"retrieve": None}
    assert [error["extensions"]["code"] for error in answer["errors"]] == ["INTERNAL"]


async def test_only_true_allows(world: World, gatekeeper: Gatekeeper) -> None:
    shelf = await shelve(world, 5)

    async def all_sorts(*_: object) -> list[Any]:
        return [True, "deny", 1, None, False]

    gatekeeper.decide = all_sorts
    assert await served(world) == shelf[:1]


# Refill


@pytest.mark.parametrize("query", ["quayside", "ledger"], ids=["content", "title"])
@pytest.mark.parametrize(
    ("shelved", "refused"),
    [
        pytest.param(51, {0}, id="the best"),
        pytest.param(100, set(range(0, 100, 2)), id="every second"),
        pytest.param(110, set(range(60)), id="the sixty best"),
        pytest.param(200, {n for n in range(200) if n % 4}, id="three of four"),
    ],
)
async def test_fifty_asked_for_and_fifty_readable_are_fifty(
    world: World, gatekeeper: Gatekeeper, query: str, shelved: int, refused: set[int]
) -> None:
    shelf = await shelve(world, shelved)
    denied = {UUID(shelf[n]) for n in refused}

    async def deny(_: Subject, source_ids: Sequence[UUID]) -> list[bool]:
        return [source_id not in denied for source_id in source_ids]

    gatekeeper.decide = deny
    allowed = [source_id for n, source_id in enumerate(shelf) if n not in refused]
    assert await served(world, 50, query) == allowed[:50]
    asked = [source_id for _, ids in gatekeeper.asked for source_id in ids]
    assert len(asked) == len(set(asked))


async def test_the_rounds_end_and_what_is_free_stays_free(world: World, gatekeeper: Gatekeeper) -> None:
    """Ten asked for, and the best 358 refused: 10 + 50 + 100 + 200 candidates are looked at, and no more."""
    shelf = await shelve(world, 370)
    denied = set(map(UUID, shelf[:358]))

    async def deny(_: Subject, source_ids: Sequence[UUID]) -> list[bool]:
        return [source_id not in denied for source_id in source_ids]

    gatekeeper.decide = deny
    assert await served(world, 10) == shelf[358:360]
    assert [len(ids) for _, ids in gatekeeper.asked] == [10, 50, 100, 200]


async def test_one_request_that_is_full_is_not_asked_again_for_another(world: World, gatekeeper: Gatekeeper) -> None:
    shelf = await shelve(world, 8)

    async def deny_the_third(_: Subject, source_ids: Sequence[UUID]) -> list[bool]:
        return [str(source_id) != shelf[2] for source_id in source_ids]

    gatekeeper.decide = deny_the_third
    data = await world.reader.ask(
        '{ two: retrieve(query: "quayside", limit: 2) { hits { resourceId } }'
        ' four: retrieve(query: "quayside", limit: 4) { hits { resourceId } } }'
    )
    found = {name: [hit["resourceId"] for hit in answer["hits"]] for name, answer in data.items()}
    assert found == {"two": shelf[:2], "four": [shelf[0], shelf[1], shelf[3], shelf[4]]}
    # The request that was full is not searched again; for the other the rest of the shelf was looked at.
    assert [list(map(str, ids)) for _, ids in gatekeeper.asked] == [shelf[:4], shelf[4:]]
