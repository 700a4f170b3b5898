"""What a text may hold, whatever it came from."""

import re

_LINE_ENDS = re.compile(r"\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_CONTROLS = re.compile(r"[\x01-\x08\x0e-\x1f\x7f-\x9f]")
_SURROGATES = re.compile(r"[\ud800-\udfff]")
# A text file may hold a few. More, and it is something else under a text's name.
_MOST_CONTROLS = 0.3

Notes = tuple[str, ...]


def clean(text: str) -> tuple[str, Notes]:
    """The text with `\\n` as its only line end and no control character but that and the tab; and what was changed.

    Carriage returns, form feeds, vertical tabs and Unicode's line and paragraph separators are line ends. A byte order
    mark at the start and every NUL are dropped: PostgreSQL cannot hold NUL. Any other control character (C0, DEL, C1)
    becomes a space, so that the words beside it stay two. Half a surrogate pair, which JSON can escape, becomes U+FFFD.
    """
    text = _LINE_ENDS.sub("\n", text.removeprefix("\ufeff"))
    notes: Notes = ()
    if nuls := text.count("\0"):
        text = text.replace("\0", "")
        notes += (f"NUL characters were dropped: {nuls:,}.",)
    text, controls = _CONTROLS.subn(" ", text)
    if controls:
        notes += (f"Control characters were replaced by spaces: {controls:,}.",)
    text, halves = _SURROGATES.subn("\ufffd", text)
    if halves:
        notes += (f"Halves of surrogate pairs were replaced by U+FFFD: {halves:,}.",)
    return text, notes


def is_binary(text: str) -> bool:
    """Whether so much of it is control characters that no person wrote it."""
    sample = text[:10_000]
    return len(_CONTROLS.findall(sample)) + sample.count("\0") > _MOST_CONTROLS * len(sample)


def one_line(value: object, longest: int) -> str | None:
    """A title or description on one line. None if there is nothing, or more than `longest` characters."""
    if not isinstance(value, str | int | float):
        return None
    line = " ".join(clean(str(value))[0].split())
    return line if 0 < len(line) <= longest else None
