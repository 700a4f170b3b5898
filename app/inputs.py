"""What comes from outside, checked at the door. Nothing is cut, mended or guessed: it passes or it is refused."""

from uuid import UUID

from app.errors import InvalidInput


def trimmed_text(argument: str, value: str, *, longest: int, shortest: int = 1) -> str:
    """`value` without the white space around it: `shortest` to `longest` characters of `clean_text`."""
    value = value.strip()
    if not shortest <= len(value) <= longest:
        raise InvalidInput(
            argument, f"must have {shortest} to {longest:,} characters after trimming, not {len(value):,}."
        )
    return clean_text(argument, value)


def clean_text(argument: str, value: str) -> str:
    """`value` as it is. Raises InvalidInput for what PostgreSQL cannot hold: NUL, and surrogates without a partner."""
    if "\x00" in value:
        raise InvalidInput(argument, "must not contain the character NUL (U+0000).")
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise InvalidInput(argument, "must not contain half of a surrogate pair.")
    return value


def parse_id(argument: str, value: str) -> UUID:
    """An id in its one spelling: 36 characters, in either case. Raises InvalidInput."""
    try:
        parsed = UUID(value)
    except ValueError:
        parsed = None
    if parsed is None or str(parsed) != value.lower():
        raise InvalidInput(argument, "is not an id. Ids look like 0190a4e8-7c1d-7d3a-9a55-3f0c2b1e4d5f.")
    return parsed
