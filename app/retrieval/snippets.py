"""What is shown of a hit: where the matched words stand, and a stretch of it that is safe to show (SPEC R14)."""

import html
import unicodedata
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from app.finding import Token, find_words
from app.query import Query
from app.words import lexemes

MAX_SNIPPET = 300
# Characters that turn the direction of the text around them: they could make a snippet read as something else.
BIDI_CONTROLS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# What is shown as a space: white space and control characters.
_BLANKS = frozenset(
    map(chr, [*range(0x20), *range(0x7F, 0xA1), 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000])
)
# ASCII that is shown as it is written.
_PLAIN = bytes(range(0x20, 0x7F))


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
    if not query.has_phrases:
        return _merged(find_words(text, query.spellings, placed=False))
    found = {token.place: token for token in find_words(text, query.spellings)}
    places: dict[str, list[int]] = {}
    for place, token in found.items():
        places.setdefault(token.lexeme, []).append(place)
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
    last = 0
    for _, start, end, _ in matched:
        ranges.append(TextRange(ranges.pop().start if start < last else start, end))
        last = end
    return tuple(ranges)


def snippet(text: str, marks: Sequence[TextRange]) -> Snippet:
    """At most 300 characters of `text`: those that hold most of the matched words, or its start where none matched.

    It is cut at words, or inside of one that is longer than the whole snippet. White space is folded; control
    characters and bidi controls are left out. `marks` are `highlights` of the same text.
    """
    shown, moved = _shown(text, marks)
    start, end = _window(shown, moved)
    kept = [TextRange(first - start, min(last, end) - start) for first, last in moved if start <= first < end]
    return Snippet(shown[start:end], tuple(kept))


def _shown(text: str, marks: Sequence[TextRange]) -> tuple[str, Sequence[TextRange]]:
    """The whole text without what must not be shown, white space folded; and the marks' places in it."""
    # What is not plain ASCII is a few of a text's characters: each that is blank is looked for by itself.
    rare = set(text.encode("utf-8", "surrogatepass").translate(None, _PLAIN).decode("utf-8", "surrogatepass"))
    unshown = rare & BIDI_CONTROLS
    for blank in rare & _BLANKS:
        text = text.replace(blank, " ")
    if not unshown and "  " not in text and text == text.strip(" "):
        return text, marks
    # No mark begins or ends with a space: what stands before, between and behind them is folded by itself.
    shown, behind = "", 0
    moved: list[TextRange] = []
    for start, end in marks:
        shown += _folded(text[behind:start], unshown)
        if not moved:
            shown = shown.lstrip(" ")
        length = len(shown)
        shown += _folded(text[start:end], unshown) if unshown else text[start:end]
        moved.append(TextRange(length, len(shown)))
        behind = end
    shown += _folded(text[behind:], unshown)
    return shown.strip(" "), moved


def _folded(text: str, unshown: Set[str]) -> str:
    """A stretch without what is not shown, spaces side by side as one."""
    for character in unshown:
        text = text.replace(character, "")
    # In Python 3.11 str.replace takes twice as long as this.
    while "  " in text:
        text = " ".join(text.split("  "))
    return text


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
    if not marks:
        return TextRange(0, 0)
    if marks[-1].end - marks[0].start <= MAX_SNIPPET:
        return TextRange(marks[0].start, marks[-1].end)
    words = [_word(text[start:end]) for start, end in marks]
    inside: dict[str, int] = {}
    best, best_worth, last = TextRange(marks[0].start, min(marks[0].end, marks[0].start + MAX_SNIPPET)), (0, 0), 0
    for first, (start, _) in enumerate(marks):
        while last < len(marks) and marks[last].end - start <= MAX_SNIPPET:
            inside[words[last]] = inside.get(words[last], 0) + 1
            last += 1
        worth = (len(inside), last - first)
        if worth > best_worth:
            best, best_worth = TextRange(start, marks[last - 1].end), worth
        if last == len(marks):
            break  # what begins later is a part of this
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
