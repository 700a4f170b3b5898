"""Values that a resolver may give: good ones, and every fault that one can have."""

import asyncio
import datetime
import enum
import random
import uuid
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Annotated, Any, NewType

import strawberry


class Refused(Exception):
    """What a resolver raises, or returns."""


@strawberry.enum
class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


OddValue = NewType("OddValue", object)
# A scalar that has nothing to show of one value.
Odd = strawberry.scalar(name="Odd", serialize=lambda value: None if value == "nothing" else f"odd {value}")


@dataclass
class Context:
    """`faults` is how likely each value is a faulty one; the seed makes the values."""

    seed: str
    faults: float = 0.0
    value: Any = None  # what `holder` holds in each of its fields

    def chance(self, what: object) -> random.Random:
        return random.Random(f"{self.seed}/{what}")  # noqa: S311 nothing is secret here


Info = strawberry.Info[Context, None]


@strawberry.interface
class Named:
    name: str


@strawberry.type
class Tag(Named):
    weight: float | None


@strawberry.type
class Person(Named):
    age: int


@strawberry.type
class Leaf:
    text: str
    maybe: str | None


@strawberry.type
class Holder:
    """One plain field of each kind."""

    text: str
    maybe_text: str | None
    key: strawberry.ID
    whole: int
    maybe_whole: int | None
    real: float
    maybe_real: float | None
    truth: bool
    color: Color
    maybe_color: Color | None
    odd: OddValue
    maybe_odd: OddValue | None
    moment: datetime.datetime
    unique: uuid.UUID | None
    words: list[str]
    grid: list[list[int | None] | None] | None
    leaf: Leaf
    maybe_leaf: Leaf | None
    leaves: list[Leaf]
    maybe_leaves: list[Leaf | None]
    named: Named | None
    tag: Tag | None
    kept: strawberry.Private[Any] = None

    @strawberry.field
    def method(self) -> str:
        if isinstance(self.kept, Exception):
            raise self.kept
        return self.kept  # type: ignore[no-any-return]  # anything, on purpose

    @strawberry.field
    def maybe_method(self) -> Leaf | None:
        return self.kept  # type: ignore[no-any-return]

    @strawberry.field
    def promised(self) -> str:
        return _coroutine()  # type: ignore[return-value]  # strawberry lets a method do that

    @strawberry.field
    def with_argument(self, times: int = 1) -> str:
        return "!" * times

    @strawberry.field
    async def later(self) -> str | None:
        if isinstance(self.kept, Exception):
            raise self.kept
        return "later"


Either = Annotated[Leaf | Person, strawberry.union("Either")]
PLAIN = tuple(name for name in Holder.__annotations__ if name != "kept")


class LeafError(Refused):
    """An error that has what a leaf has."""

    text = "a"
    maybe = None


class LateLeaf:
    """Something to be awaited that has what a leaf has."""

    text = "a"
    maybe = None

    def __await__(self) -> Generator[None, None, object]:
        yield from asyncio.sleep(0).__await__()
        return Leaf(text="late", maybe=None)


class Late:
    """A value that must be awaited. Unlike a coroutine it may be left lying."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __await__(self) -> Generator[None, None, object]:
        yield from asyncio.sleep(0).__await__()
        return self._value


async def _coroutine() -> str:
    return "from a coroutine"


class Raising:
    """An object whose every attribute raises."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise Refused(f"{name} raised")


FAULTS: dict[str, Callable[[], Any]] = {
    "null": lambda: None,
    "error": lambda: Refused("as a value"),
    "not a number": lambda: float("nan"),
    "infinite": lambda: float("inf"),
    "too large": lambda: 2**31,
    "too small": lambda: -(2**31) - 1,
    "empty list": list,
    "list of nulls": lambda: [None],
    "list with an error": lambda: ["a", Refused("in a list")],
    "list of awaitables": lambda: [Late("late")],
    "tuple": lambda: ("a", "b"),
    "iterator": lambda: iter(["a"]),
    "nested list": lambda: [[1, None, 2**31], None, [3]],
    "dictionary": lambda: {"text": "a"},
    "object": object,
    "class": lambda: str,
    "text": lambda: "a text",
    "digits": lambda: "12",
    "truth": lambda: True,
    "whole": lambda: 7,
    "real": lambda: 1.5,
    "whole as real": lambda: 2.0,
    "bytes": lambda: b"a",
    "color": lambda: Color.RED,
    "no color": lambda: "green",
    "awaitable": lambda: Late("late"),
    "awaitable object": lambda: Late(Leaf(text="late", maybe=None)),
    "error like a leaf": LeafError,
    "awaitable like a leaf": LateLeaf,
    "nothing to show": lambda: "nothing",
    "leaf": lambda: Leaf(text="a", maybe=None),
    "leaf without its text": lambda: Leaf(text=None, maybe="b"),  # type: ignore[arg-type]
    "raising": Raising,
    "list of leaves": lambda: [Leaf(text="a", maybe=None), None, Leaf(text=None, maybe="b")],  # type: ignore[arg-type]
    "list of raising": lambda: [Leaf(text="a", maybe=None), Raising()],
    "tag": lambda: Tag(name="a", weight=0.5),
    "person": lambda: Person(name="a", age=3),
}


def good(chance: random.Random) -> Holder:
    def some(*values: Any) -> Any:
        return chance.choice(values)

    def leaf() -> Leaf:
        return Leaf(text=some("", "a", "ü" * 9), maybe=some(None, "b"))

    return Holder(
        text=some("", "a", "<b>"),
        maybe_text=some(None, "t"),
        key=some("k", 5, uuid.UUID(int=7)),
        whole=some(0, -1, 2**31 - 1, True),
        maybe_whole=some(None, 3, 4.0),
        real=some(0.0, -1.5, 2),
        maybe_real=some(None, 1e300),
        truth=some(True, False),
        color=some(*Color),
        maybe_color=some(None, Color.RED),
        odd=OddValue(some("a", 1)),
        maybe_odd=some(None, "b"),
        moment=datetime.datetime(2026, 1, chance.randint(1, 9), tzinfo=datetime.UTC),
        unique=some(None, uuid.UUID(int=1)),
        words=some([], ["a"], ("a", "b")),
        grid=some(None, [], [[1, None], None, []]),
        leaf=leaf(),
        maybe_leaf=some(None, leaf()),
        leaves=[leaf() for _ in range(chance.randrange(3))],
        maybe_leaves=some([], [None], [leaf(), None]),
        named=some(None, Tag(name="t", weight=None), Person(name="p", age=1)),
        tag=some(None, Tag(name="t", weight=1.0)),
        kept=some("kept", "k"),
    )
