"""What is shown of a hit: where the matched words stand, and a stretch of it that is safe to show (SPEC R14)."""

import html
import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from app.query import Query
from app.words import Token, find_words, lexemes

MAX_SNIPPET = 300
# Characters that turn the direction of the text around them: they could make a snippet read as something else.
BIDI_CONTROLS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_BLANK = rf"[\s\x00-\x1f\x7f-\x9f{BIDI_CONTROLS}]"
# A run of what is not shown as it is written: all but one space that stands alone, and not at an end.
_UNSHOWN = re.compile(rf"{_BLANK}(?:(?<! ){_BLANK}*|{_BLANK}+|(?<=\A )|\Z)")


class TextRange(NamedTuple):
    """`[start, end)` in code points."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Snippet:
    """A stretch of a passage as plain text, and the matched words in it."""

    text: str
    highlights: tuple[TextRange, ...]

    @property
    def html(self) -> str:
        """Inserted as HTML it shows `text` and runs nothing."""
        return html.escape(self.text, quote=True)


def highlights(text: str, query: Query) -> tuple[TextRange, ...]:
    """Where the words of the query stand in `text`, in order, none overlapping; a phrase only where it stands whole."""
    found = {token.place: token for token in find_words(text, query.spellings)}
    places: dict[str, list[int]] = {}
    for token in found.values():
        places.setdefault(token.lexeme, []).append(token.place)
    matched: set[int] = set()
    for term in query.terms:
        (first, _), *rest = term.lexemes
        for place in places.get(first, ()):
            matched.update(_follow(place, rest, found))
    return _merged([found[place] for place in sorted(matched)])


def _follow(place: int, rest: Sequence[tuple[str, int]], found: Mapping[int, Token]) -> list[int]:
    """The places of a term whose first word stands at `place`; none where another word follows than the term's."""
    places = [place]
    for lexeme, distance in rest:
        place += distance
        token = found.get(place)
        if token is None or token.lexeme != lexeme:
            return []
        places.append(place)
    return places


def _merged(matched: Sequence[Token]) -> tuple[TextRange, ...]:
    """The tokens' ranges. Tokens that share a character (\u00bd is 1 and 2) are one range."""
    ranges: list[TextRange] = []
    for token in matched:
        shared = bool(ranges) and token.start < ranges[-1].end
        ranges.append(TextRange(ranges.pop().start if shared else token.start, token.end))
    return tuple(ranges)


def snippet(text: str, marks: Sequence[TextRange]) -> Snippet:
    """At most 300 characters of `text`: those that hold most of the matched words, or its start where none matched.

    It is cut at words, or inside of one that is longer than the whole snippet. White space is folded; control
    characters and bidi controls are left out. `marks` are `highlights` of the same text.
    """
    shown, moved = _shown(text, marks)
    start, end = _window(shown, moved)
    kept = (TextRange(mark.start - start, min(mark.end, end) - start) for mark in moved if start <= mark.start < end)
    return Snippet(shown[start:end], tuple(kept))


def _shown(text: str, marks: Sequence[TextRange]) -> tuple[str, list[TextRange]]:
    """The whole text without what must not be shown, white space folded; and the marks' places in it."""
    pieces, behind, dropped = [], 0, 0
    ends, shifts = [0], [0]
    for gap in _UNSHOWN.finditer(text):
        outside = gap.start() == 0 or gap.end() == len(text)
        blank = "" if outside or not gap[0].strip(BIDI_CONTROLS) else " "
        pieces += [text[behind : gap.start()], blank]
        behind = gap.end()
        dropped += len(gap[0]) - len(blank)
        ends.append(behind)
        shifts.append(dropped)
    pieces.append(text[behind:])

    def moved(offset: int) -> int:
        return offset - shifts[bisect_right(ends, offset) - 1]

    return "".join(pieces), [TextRange(moved(mark.start), moved(mark.end)) for mark in marks]


def _window(text: str, marks: Sequence[TextRange]) -> tuple[int, int]:
    """Where the snippet is cut from a text as it is shown."""
    best = _best_run(text, marks)
    # The places that the matched words leave free are shared by what leads up to them and what follows.
    free = MAX_SNIPPET - (best.end - best.start)
    behind = min(len(text) - best.end, free)
    start = _start_of_word(text, max(0, best.start - max(free // 3, free - behind)), best.start)
    return start, _end_of_words(text, start, best.end)


def _best_run(text: str, marks: Sequence[TextRange]) -> TextRange:
    """From the first to the last matched word of the run within 300 characters that has the most different words,

    then the most words, then stands first. The text's start where nothing matched; the first matched word's where
    each alone is longer.
    """
    words = [_word(text[start:end]) for start, end in marks]
    inside: Counter[str] = Counter()
    best, best_worth, last = TextRange(0, 0), (0, 0), 0
    if marks:
        best = TextRange(marks[0].start, min(marks[0].end, marks[0].start + MAX_SNIPPET))
    for first, mark in enumerate(marks):
        while last < len(marks) and marks[last].end - mark.start <= MAX_SNIPPET:
            inside[words[last]] += 1
            last += 1
        worth = (len(inside), last - first)
        if worth > best_worth:
            best, best_worth = TextRange(mark.start, marks[last - 1].end), worth
        if last > first:
            inside[words[first]] -= 1
            if not inside[words[first]]:
                del inside[words[first]]
        last = max(last, first + 1)
    return best


@lru_cache(maxsize=1_024)
def _word(marked: str) -> str:
    """What two forms of one word share."""
    return " ".join(lexemes(marked))


def _start_of_word(text: str, earliest: int, latest: int) -> int:
    """The first start of a word from `earliest` on; `latest`, the matched word's own, where there is none before."""
    if earliest == 0 or text[earliest - 1] == " ":
        return earliest
    return text.find(" ", earliest, latest) + 1 or latest


def _end_of_words(text: str, start: int, least: int) -> int:
    """The end of at most 300 characters from `start`: behind a word, and not before `least`, where a matched word ends.

    In a word without end it is before a whole letter.
    """
    end = start + MAX_SNIPPET
    if end >= len(text) or text[end] == " ":
        return min(end, len(text))
    space = text.rfind(" ", start, end)
    if space > start and space >= least:
        return space
    if start < least < end:
        return least
    while end > start + 1 and _joined(text[end - 1], text[end]):
        end -= 1
    return end


def _joined(before: str, after: str) -> bool:
    """Whether a cut between the two would split one letter or one emoji."""
    if unicodedata.category(after)[0] == "M" or "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    return "\u200d" in (before, after)
