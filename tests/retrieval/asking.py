"""Many questions in one request: a test of words costs one round trip, whatever it tries."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tests.world import Caller, World

# As many as one operation may have (GCTL_MAX_QUERY_ALIASES).
MOST = 30
# Sources of one request, and requests at the same time: what an operation may take holds on a slow machine too.
IN_ONE, AT_ONCE = 5, 4

T = TypeVar("T")


@dataclass(frozen=True)
class Case:
    """A source, what finds it and what does not. Each is asked of this source alone."""

    rule: str
    text: str
    finds: Sequence[str] = ()
    misses: Sequence[str] = ()
    title: str = "Untitled"
    description: str | None = None


async def answers(caller: Caller, questions: Sequence[tuple[str, str | None]], limit: int = 10) -> list[dict[str, Any]]:
    """The answer to each (query, source id or None for all), in order."""
    found: list[dict[str, Any]] = []
    for batch in _batches(questions, MOST):
        names = range(len(batch))
        declared = ", ".join(f"$q{n}: String!, $s{n}: [ID!]" for n in names)
        fields = " ".join(f"a{n}: retrieve(query: $q{n}, sourceIds: $s{n}, limit: {limit}) {{ ...F }}" for n in names)
        values: dict[str, Any] = {}
        for n, (query, source) in enumerate(batch):
            values |= {f"q{n}": query, f"s{n}": None if source is None else [source]}
        data = await caller.ask(
            f"query Many({declared}) {{ {fields} }} "
            "fragment F on Retrieval { notice hits { resourceId ordinal text snippetSafe highlights { start end } } }",
            **values,
        )
        found += [data[f"a{n}"] for n in names]
    return found


def _batches(items: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    for first in range(0, len(items), most):
        yield items[first : first + most]


async def tried(world: World, cases: Sequence[Case]) -> dict[str, dict[str, list[int]]]:
    """For each case by its rule: the ordinals of the hits of each of its questions."""
    sources = await added(world, cases)
    asked = [
        (case.rule, query, source) for case, source in zip(cases, sources, strict=True) for query in questions(case)
    ]
    found = await answers(world.reader, [(query, source) for _, query, source in asked])
    seen: dict[str, dict[str, list[int]]] = {case.rule: {} for case in cases}
    for (rule, query, _), answer in zip(asked, found, strict=True):
        seen[rule][query] = [hit["ordinal"] for hit in answer["hits"]]
    return seen


def questions(case: Case) -> list[str]:
    return [*case.finds, *case.misses]


def expected(case: Case) -> dict[str, list[int]]:
    """Each of `finds` has one hit, each of `misses` none."""
    return {query: [0] for query in case.finds} | {query: [] for query in case.misses}


async def added(world: World, cases: Sequence[Case]) -> list[str]:
    """The ids of the cases' sources, added as plain text, in order."""
    places = asyncio.Semaphore(AT_ONCE)

    async def add(batch: Sequence[Case]) -> list[str]:
        async with places:
            return await _added(world, batch)

    ids = await asyncio.gather(*map(add, _batches(cases, IN_ONE)))
    return [id_ for batch in ids for id_ in batch]


async def _added(world: World, cases: Sequence[Case]) -> list[str]:
    names = range(len(cases))
    data = await world.manager.ask(
        f"mutation Add({', '.join(f'$i{n}: AddSourceInput!' for n in names)}) {{ "
        + " ".join(f"a{n}: addSource(input: $i{n}) {{ source {{ id }} version {{ status }} }}" for n in names)
        + " }",
        **{f"i{n}": _input(case) for n, case in enumerate(cases)},
    )
    assert {data[f"a{n}"]["version"]["status"] for n in names} == {"INDEXED"}
    return [data[f"a{n}"]["source"]["id"] for n in names]


def _input(case: Case) -> dict[str, Any]:
    file = {"name": "file.txt", "mediaType": "text/plain", "text": case.text}
    return {"title": case.title, "description": case.description, "file": file}
