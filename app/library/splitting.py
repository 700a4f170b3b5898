"""Text to passages (SPEC R16): cut at headings, paragraphs, then sentences; nothing lost, nothing repeated.

One way for Markdown and plain text: what marks a heading or a paragraph in the one is rare or the same in the other.
A library did this in earlier trials, with figures no better; on a megabyte of accented letters in decomposed form it
took minutes, on one of "1. 1. 1." over a minute. Here every step is bounded by one passage, so time is linear.
"""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from enum import Enum, auto
from itertools import islice
from typing import NamedTuple

# Known items of two collections: 150 to 200 words is the flat top for cuts at headings. Smaller passages find less by
# themselves (all words must stand in one), larger ones rank worse.
MAX_WORDS = 150
# Binds where words do not: Chinese, base64, tables of symbols. 150 English words take about 1,000 characters.
MAX_CHARACTERS = 2_000
# A passage half full ends at the next heading. Short sections are joined until then.
_FULL_ENOUGH = 2

# Letters and digits, with what stands inside words: apostrophes, accents and vowel signs written as marks of their own.
_INSIDE = r"['’\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u109f\u200c\u200d]"
_WORD = re.compile(rf"[^\W_](?:[^\W_]|{_INSIDE})*+")
_SOLID = re.compile(r"\S")
_LINE = re.compile(r"^[^\S\n]*+(\S[^\n]*)", re.MULTILINE)
_HEADING = re.compile(r" {0,3}(#{1,6})(?=\s|\Z)")
_UNDERLINE = re.compile(r"\n {0,3}(=++|-++)[^\S\n]*+(?=\n|\Z)")
_FENCE = re.compile(r"(`{3,}+)(?=[^`\n]*+(?:\n|\Z))|(~{3,}+)")
_ITEM = re.compile(r"(?:[-*+•]|\d{1,9}[.)])\s|\|")
_SPACE = re.compile(r"\s++")
# After a mark that ends a sentence and what closes with it. A small letter next means an abbreviation, not an end.
_SENTENCE = re.compile(
    r"""(?:(?<=[.!?…。！？])|(?<=[.!?…。！？]["'”’)\]»」』）]))\s++(?![a-z])"""
    r"""|(?:(?<=[。！？])|(?<=[。！？][」』”’）]))(?![」』”’）。！？\s])"""
)
_JOINER = "\u200d"


class Span(NamedTuple):
    """Where a passage stands in its text: code point offsets, the end not included."""

    start: int
    end: int


class _Start(Enum):
    """What begins where a line begins."""

    HEADING = auto()
    BLOCK = auto()
    ITEM = auto()
    """An item of a list, a row of a table, a line of code."""
    LINE = auto()
    """A line that may as well be one of a wrapped paragraph."""
    HELD = auto()
    """What the heading above it heads: never cut from it."""


def split(text: str) -> list[Span]:
    """The passages of a text, in order. What stands before, between and after them is white space only.

    No span is empty, begins or ends with white space, or passes MAX_WORDS or MAX_CHARACTERS. A heading is never the
    last thing of a passage while what it heads stands in the next.
    """
    places = _Places(text)
    spans: list[Span] = []
    solid = _SOLID.search(text)
    while solid:
        start = solid.start()
        cut = places.cut(start)
        spans.append(Span(start, start + len(text[start:cut].rstrip())))
        solid = _SOLID.search(text, cut)
    return spans


class _Places:
    """Where a text may be cut. Every place is the offset of a character that is not white space."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts: dict[_Start, list[int]] = {kind: [] for kind in _Start}
        for offset, kind in _line_starts(text):
            self._starts[kind].append(offset)
        self._held = frozenset(self._starts[_Start.HELD])

    def cut(self, start: int) -> int:
        """Where the passage that begins at `start` ends: the best place between half full and full."""
        enough, full = self._window(start)
        if full == len(self._text):
            return full
        headings = self._starts[_Start.HEADING]
        heading = bisect_left(headings, enough)
        if heading < len(headings) and headings[heading] <= full:
            return headings[heading]
        return (
            self._latest(_Start.BLOCK, enough, full)
            or self._latest(_Start.ITEM, enough, full)
            or self._last_match(_SENTENCE, enough, full)
            or self._latest(_Start.LINE, enough, full)
            or self._last_match(_SPACE, enough, full)
            or self._inside_word(enough, full)
        )

    def _window(self, start: int) -> tuple[int, int]:
        words = [m.start() for m in islice(_WORD.finditer(self._text, start, start + MAX_CHARACTERS), MAX_WORDS + 1)]
        enough, full = start + MAX_CHARACTERS // _FULL_ENOUGH, start + MAX_CHARACTERS
        if len(words) > MAX_WORDS:
            full = words[MAX_WORDS]
        if len(words) > MAX_WORDS // _FULL_ENOUGH:
            enough = min(enough, words[MAX_WORDS // _FULL_ENOUGH])
        solid = _SOLID.search(self._text, full)
        return enough, solid.start() if solid else len(self._text)

    def _latest(self, kind: _Start, enough: int, full: int) -> int | None:
        offsets = self._starts[kind]
        after = bisect_right(offsets, full)
        return offsets[after - 1] if after and offsets[after - 1] >= enough else None

    def _last_match(self, pattern: re.Pattern[str], enough: int, full: int) -> int | None:
        ends = (match.end() for match in pattern.finditer(self._text, enough, full))
        return max((end for end in ends if end not in self._held), default=None)

    def _inside_word(self, enough: int, full: int) -> int:
        """Not between a letter and its accents, nor inside a joined emoji, where that can be."""
        for cut in range(full, enough, -1):
            before, after = self._text[cut - 1], self._text[cut]
            if _JOINER not in (before, after) and not unicodedata.category(after).startswith("M"):
                return cut
        return full


def _line_starts(text: str) -> Iterator[tuple[int, _Start]]:
    """The first character of each line that is not blank, and what begins there. An underline is its heading's."""
    fence: str | None = None
    above = 0  # the level of the heading on the line before, or 0
    end = -2
    while line := _LINE.search(text, max(end, 0)):
        start, apart = line.start(1), line.start() > end + 1
        if fence:
            end = line.end()
            fence = None if _closes(fence, line[1]) else fence
            yield start, _Start.ITEM
            continue
        level, end = _heading(text, line, apart)
        mark = _FENCE.match(text, start, end)
        fence = mark[0] if mark else None
        if above and not 0 < level <= above:
            yield start, _Start.HELD
        elif level:
            yield start, _Start.HEADING
        elif apart or fence:
            yield start, _Start.BLOCK
        else:
            yield start, _Start.ITEM if _ITEM.match(text, start, end) else _Start.LINE
        above = level


def _heading(text: str, line: re.Match[str], apart: bool) -> tuple[int, int]:
    """A line's level as a heading, from 1 to 6, or 0; and where it ends, its underline included."""
    if hashes := _HEADING.match(text, line.start(), line.end()):
        return len(hashes[1]), line.end()
    if apart and (underline := _UNDERLINE.match(text, line.end())):
        return 1 if underline[1][0] == "=" else 2, underline.end()
    return 0, line.end()


def _closes(fence: str, line: str) -> bool:
    mark = line.rstrip()
    return len(mark) >= len(fence) and not mark.strip(fence[0])
