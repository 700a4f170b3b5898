"""A schema whose values may be anything: good ones, and every fault that a resolver's value can have."""

import asyncio
import random
from collections.abc import Iterator
from typing import Any

import strawberry
from strawberry.schema.config import StrawberryConfig

from tests.graphql_schema.faults import (
    FAULTS,
    PLAIN,
    Context,
    Either,
    Holder,
    Info,
    Leaf,
    Named,
    Odd,
    OddValue,
    Person,
    Refused,
    Tag,
    good,
)


def _given(context: Context) -> list[Holder | None]:
    """Between two good ones a holder that has it everywhere."""
    chance = context.chance("given")
    holder = good(chance)
    for name in (*PLAIN, "kept"):
        setattr(holder, name, context.value() if callable(context.value) else context.value)
    return [good(chance), holder, good(chance)]


def made(context: Context, chance: random.Random) -> Holder:
    """A holder with good values, now and then one with a fault."""
    holder = good(chance)
    for name in (*PLAIN, "kept"):
        if chance.random() < context.faults:
            setattr(holder, name, FAULTS[chance.choice(list(FAULTS))]())
    return holder


@strawberry.type
class Query:
    attribute: str = "of nobody"

    @strawberry.field
    def holder(self, info: Info, n: int = 0) -> Holder:
        return made(info.context, info.context.chance(n))

    @strawberry.field
    async def maybe_holder(self, info: Info, n: int = 0) -> Holder | None:
        chance = info.context.chance(n)
        return None if chance.random() < 0.3 else made(info.context, chance)

    @strawberry.field
    def holders(self, info: Info, count: int = 2) -> list[Holder]:
        chance = info.context.chance(count)
        return [made(info.context, chance) for _ in range(count)]

    @strawberry.field
    def maybe_holders(self, info: Info) -> list[Holder | None] | None:
        chance = info.context.chance("maybe")
        return [None if chance.random() < 0.3 else made(info.context, chance) for _ in range(3)]

    @strawberry.field
    def either(self, info: Info) -> list[Either]:
        chance = info.context.chance("either")
        values: list[Leaf | Person] = [Leaf(text="a", maybe=None), Person(name="p", age=1)]
        return chance.choices(values, k=3)

    @strawberry.field
    def names(self) -> list[Named]:
        return [Tag(name="t", weight=None), Person(name="p", age=2)]

    @strawberry.field
    def given(self, info: Info) -> list[Holder | None]:
        return _given(info.context)

    @strawberry.field
    async def soon(self, info: Info) -> list[Holder | None]:
        return _given(info.context)

    @strawberry.field
    async def whatever(self, info: Info) -> Leaf | None:
        """The value itself: which may be anything but a leaf."""
        return info.context.value()  # type: ignore[no-any-return]

    @strawberry.field
    async def needed(self, info: Info, raised: bool = False) -> Leaf:
        if raised:
            raise Refused("by the field itself")
        return info.context.value()  # type: ignore[no-any-return]

    @strawberry.field
    async def told(self, info: Info, number: int | None = 3) -> str | None:
        """What a resolver is told of where it stands."""
        raw = info._raw_info
        raw.async_helpers.track([asyncio.sleep(0), 1])
        more = await raw.async_helpers.gather([asyncio.sleep(0, "more")])
        given: Any = raw.variable_values  # strawberry makes a dictionary of it
        return f"{number} {info.path} {info.field_name} {info.return_type} {sorted(given.items())} {more}"


SCHEMA = strawberry.Schema(query=Query, types=[Tag, Person], config=StrawberryConfig(scalar_map={OddValue: Odd}))


def selections() -> Iterator[str]:
    """Each field of a holder, with whatever stands below it."""
    below = {"leaf": "{ text maybe }", "named": "{ name }", "tag": "{ name weight }", "leaves": "{ text maybe }"}
    below |= {"maybeLeaf": below["leaf"], "maybeLeaves": below["leaf"], "maybeMethod": below["leaf"]}
    for field in SCHEMA._schema.type_map["Holder"].fields:  # type: ignore[attr-defined]
        yield f"{field} {below.get(field, '')}"
