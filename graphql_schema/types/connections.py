"""Relay connections: lists that can grow, a page at a time, with cursors that stay good while rows come and go."""

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Annotated, Generic, TypeVar
from uuid import UUID

import strawberry

from app.errors import InvalidInput
from app.inputs import parse_id

DEFAULT_FIRST = 20
MAX_FIRST = 100
MOST_DIGITS = 10
NO_CURSOR = "is not a cursor. Send an `endCursor` or `cursor` as it came."

First = Annotated[
    int, strawberry.argument(description=f"How many to return, from 1 to {MAX_FIRST}. More is INVALID_INPUT.")
]
After = Annotated[
    str | None, strawberry.argument(description="Return what follows this `endCursor` or edge's `cursor`.")
]

Node = TypeVar("Node")
Row = TypeVar("Row")


@strawberry.type(description="Where a page of a connection ends, and whether more follows.")
class PageInfo:
    has_next_page: bool = strawberry.field(description="Whether at least one more item follows this page.")
    end_cursor: str | None = strawberry.field(
        description="The cursor of the last item of this page; null for an empty page. Send it as `after`."
    )


@strawberry.type(description="One item of a connection.")
class Edge(Generic[Node]):
    cursor: str = strawberry.field(description="Opaque. Send it as `after` to get what follows this item.")
    node: Node = strawberry.field(description="The item itself.")


@strawberry.type(description="One page of a list.")
class Connection(Generic[Node]):
    edges: list[Edge[Node]] = strawberry.field(description="The items of this page, with their cursors.")
    nodes: list[Node] = strawberry.field(description="The items of this page.")
    page_info: PageInfo = strawberry.field(description="Whether more follows, and from where.")


def check_first(first: int) -> int:
    """`first` as it is. Raises InvalidInput outside of 1 to 100: a page is never cut silently."""
    if not 1 <= first <= MAX_FIRST:
        raise InvalidInput("first", f"must be from 1 to {MAX_FIRST}, not {first}.")
    return first


def read_cursor(after: str | None) -> str | None:
    """What `cursor` was made from. Raises InvalidInput for what is no cursor."""
    if after is None:
        return None
    try:
        return base64.b64decode(after.encode("ascii"), altchars=b"-_", validate=True).decode()
    except (UnicodeError, binascii.Error):
        raise InvalidInput("after", NO_CURSOR) from None


def read_id(after: str | None) -> UUID | None:
    """The id that the cursor was made from. Raises InvalidInput."""
    key = read_cursor(after)
    try:
        return None if key is None else parse_id("after", key)
    except InvalidInput:
        raise InvalidInput("after", NO_CURSOR) from None


def read_number(after: str | None) -> int | None:
    """The number that the cursor was made from. Raises InvalidInput."""
    key = read_cursor(after)
    if key is not None and not (key.isascii() and key.isdigit() and len(key) < MOST_DIGITS):
        raise InvalidInput("after", NO_CURSOR)
    return None if key is None else int(key)


def cursor(key: object) -> str:
    """The opaque form of what an item is found by."""
    return base64.urlsafe_b64encode(str(key).encode()).decode("ascii")


def page(
    rows: Sequence[Row], first: int, node: Callable[[Row], Node], key: Callable[[Row], object]
) -> Connection[Node]:
    """The connection of `rows`: `first` of them, and whether there is one more. Load `first + 1`."""
    shown = rows[:first]
    edges = [Edge(cursor=cursor(key(row)), node=node(row)) for row in shown]
    return Connection(
        edges=edges,
        nodes=[edge.node for edge in edges],
        page_info=PageInfo(has_next_page=len(rows) > first, end_cursor=edges[-1].cursor if edges else None),
    )
