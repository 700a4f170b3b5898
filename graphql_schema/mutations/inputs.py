"""What the inputs of several mutations share."""

from typing import Annotated, TypeVar

import strawberry

from app.errors import InvalidInput

Value = TypeVar("Value")
Input = Annotated[Value, strawberry.argument(description="All that the mutation takes.")]


def given(field: str, value: Value | None) -> Value | None:
    """The value of an input field that may be left out but not be null; None where it was left out."""
    if value is strawberry.UNSET:
        return None
    if value is None:
        raise InvalidInput(field, "must not be null. Leave it out to keep what is there.")
    return value
