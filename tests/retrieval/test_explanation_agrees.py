"""An explanation says what a retrieval does, in worlds that nobody thought of (SPEC R27)."""

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from uuid import UUID

import pytest

from app.access.authorizers import Authorizer, DatabaseAuthorizer
from app.access.subject import Subject
from app.errors import AppError, NotFound
from app.library.sources import visible_sources
from app.retrieval.explanation import Asked, Explanation, explain
from app.retrieval.gates import Outcome
from app.retrieval.request import MAX_LIMIT, MatchMode, RetrieveRequest, retrieve_request
from app.retrieval.service import Answer, Retrieval
from tests.world import World

WORDS = ["harbor", "rigging", "crane", "rope", "tar", "the"]
CALLERS = ["user:manager", "user:reader", "user:friend", "user:nobody"]


class Moody:
    """An authorizer that refuses some of what the database allows, always the same."""

    def __init__(self, inner: Authorizer) -> None:
        self._inner = inner

    async def check(self, subject: Subject, source_ids: Sequence[UUID]) -> list[bool]:
        allowed = await self._inner.check(subject, source_ids)
        return [may and source_id.int % 3 != 0 for source_id, may in zip(source_ids, allowed, strict=True)]


def some_words(dice: random.Random, most: int) -> str:
    return " ".join(dice.choices(WORDS, k=dice.randint(1, most)))


async def fill(world: World, dice: random.Random) -> str:
    """Sixteen sources with random names, texts, rights and states; the id of a knowledge base that holds most."""
    titles = []
    for n in range(16):
        title = some_words(dice, 3) if n % 4 else "The"
        text = (
            " \n" if n == 5 else "\n\n".join(f"# {some_words(dice, 2)}\n\n" + "spar " * 160 for _ in range(n % 3 + 1))
        )
        private = dice.random() < 0.4
        source = await world.add(title, text, some_words(dice, 3) if n % 2 else None, private=private)
        titles.append(f"{n}")
        world.sources[f"{n}"] = source
        for action in dice.sample(["source.read", "source.details", "source.content"], k=dice.randint(0, 2)):
            await world.grant("user:friend", action, source)
        if n == 7:
            await world.manager.change("setSourceAvailability", "source { id }", id=source, availability="UNAVAILABLE")
    return await world.knowledge_base(*titles[:13])


@pytest.mark.parametrize("seed", [1, 2])
async def test_explanations_agree_with_retrievals(world: World, seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 no secret is made of it
    base = await fill(world, dice)
    ids = [UUID(world.sources[f"{n}"]) for n in range(16)]
    database = world.services.database
    authorizers: list[Authorizer] = [DatabaseAuthorizer(database), Moody(DatabaseAuthorizer(database))]
    seen = {Outcome.PASSED: 0, Outcome.FAILED: 0}
    for caller, authorizer in product(CALLERS, authorizers):
        subject = world.subject(caller)
        asker = Asker(world, subject, authorizer)
        async with database.read() as session:
            visible = await visible_sources(session, subject, ids)
        for _ in range(3):
            request = retrieve_request(
                query=some_words(dice, 3),
                knowledge_base_id=dice.choice([None, base]),
                limit=dice.randint(1, 6),
                source_ids=dice.choice([None, None, [str(id_) for id_ in ids[:9]]]),
                match=dice.choice(list(MatchMode)),
            )
            most = await asker.retrieve(with_limit(request, MAX_LIMIT))
            answer = await asker.retrieve(request)
            for source_id in dice.sample(ids, k=6):
                if source_id not in visible:
                    with pytest.raises(NotFound):
                        await asker.explain(request, source_id)
                    continue
                told = await asker.explain(request, source_id)
                check(told, source_id, request, answer, most)
                for gate in told.gates:
                    if gate.outcome in seen:
                        seen[gate.outcome] += 1
    assert min(seen.values()) > 50


class Asker:
    """One caller under one authorizer."""

    def __init__(self, world: World, subject: Subject, authorizer: Authorizer) -> None:
        self._database = world.services.database
        narrowed = isinstance(authorizer, Moody)
        self._retrieval = Retrieval(self._database, world.services.replicas, narrowed=narrowed)
        self._subject = subject
        self._authorizer = authorizer

    async def _check(self, source_ids: Sequence[UUID]) -> Sequence[bool]:
        return await self._authorizer.check(self._subject, source_ids)

    async def retrieve(self, request: RetrieveRequest) -> Answer:
        (answer,) = await self._retrieval.answers(self._subject, [request], self._check)
        assert not isinstance(answer, AppError)
        return answer

    async def explain(self, request: RetrieveRequest, source_id: UUID) -> Explanation:
        narrowed = self._retrieval.narrowed
        return await explain(
            Asked(self._database, self._subject, request, source_id, self.retrieve, self._check, narrowed)
        )


def with_limit(request: RetrieveRequest, limit: int) -> RetrieveRequest:
    return replace(request, limit=limit)


def check(told: Explanation, source_id: UUID, request: RetrieveRequest, answer: Answer, most: Answer) -> None:
    """`most` is the answer with the largest limit: its head is `answer`."""
    places = [place for place, hit in enumerate(most.hits, 1) if hit.source_id == source_id]
    assert told.found == (source_id in {hit.source_id for hit in answer.hits})
    assert told.found == (bool(places) and places[0] <= request.limit)
    assert told.smallest_limit == told.place == (places[0] if places else None)
    failed = [gate for gate in told.gates if gate.outcome is Outcome.FAILED]
    assert told.found or failed
    assert not (told.found and told.gates[-1].outcome is not Outcome.PASSED)
