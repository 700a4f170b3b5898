"""What is shown of a hit: where the matched words stand, and a stretch of it that is safe to show (SPEC R14)."""

import html
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from app.query import Query, Term
from app.words import Token, tokens

MAX_SNIPPET = 300
# Characters that turn the direction of the text around them: they could make a snippet read as something else.
BIDI_CONTROLS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


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
    found = tokens(text)
    matched: set[int] = set()
    for term in query.terms:
        matched.update(_occurrences(term, found))
    return tuple(TextRange(found[i].start, found[i].end) for i in sorted(matched))


def _occurrences(term: Term, found: Sequence[Token]) -> set[int]:
    """The indexes in `found` of the tokens that belong to an occurrence of the term."""
    (first, _), *rest = term.lexemes
    matched: set[int] = set()
    for start, token in enumerate(found):
        if token.lexeme == first:
            places = _follow(start, rest, found)
            matched.update(places)
    return matched


def _follow(start: int, rest: Sequence[tuple[str, int]], found: Sequence[Token]) -> list[int]:
    places = [start]
    for lexeme, distance in rest:
        place = places[-1] + distance
        if place >= len(found) or found[place].lexeme != lexeme:
            return []
        places.append(place)
    return places


def snippet(text: str, marks: Sequence[TextRange]) -> Snippet:
    """At most 300 characters of `text`: those that hold most of the matched words, or its start where none matched.

    It is cut at words, or inside of one that is longer than the whole snippet. White space is folded; control
    characters and bidi controls are left out. `marks` are `highlights` of the same text.
    """
    start, end = _window(text, marks)
    shown, origins = _shown(text, start, end)
    place = {origin: index for index, origin in enumerate(origins)}
    moved = []
    for mark in marks:
        kept = [place[offset] for offset in range(mark.start, mark.end) if offset in place]
        if kept and start <= mark.start and mark.end <= end:
            moved.append(TextRange(kept[0], kept[-1] + 1))
    return Snippet(shown, tuple(moved))


def _window(text: str, marks: Sequence[TextRange]) -> tuple[int, int]:
    """Where the snippet is cut from `text`."""
    best = _best_run(text, marks)
    if best is None:
        return 0, _end_of_words(text, 0)
    # The places that the matched words leave free are shared by what leads up to them and what follows.
    free = MAX_SNIPPET - (best.end - best.start)
    behind = min(len(text) - best.end, free)
    earliest = max(0, best.start - max(free // 3, free - behind))
    start = _start_of_word(text, earliest, best.start)
    return start, _end_of_words(text, start)


def _best_run(text: str, marks: Sequence[TextRange]) -> TextRange | None:
    """From the first to the last matched word of the run within 300 characters that has the most different words,

    then the most words, then stands first. None where nothing matched, or one word alone is longer than that.
    """
    words = [text[start:end].casefold() for start, end in marks]
    inside: Counter[str] = Counter()
    best, best_worth, last = None, (0, 0), 0
    for first, mark in enumerate(marks):
        while last < len(marks) and marks[last].end - mark.start <= MAX_SNIPPET:
            inside[words[last]] += 1
            last += 1
        worth = (len(inside), last - first)
        if worth > best_worth:
            best, best_worth = TextRange(mark.start, marks[last - 1].end), worth
        if last > first:
            inside[words[first]] -= 1
            inside += Counter()  # drops the words that are no longer inside
        last = max(last, first + 1)
    return best


def _start_of_word(text: str, earliest: int, latest: int) -> int:
    """The first start of a word from `earliest` on; `latest`, the matched word's own, where there is none before."""
    if earliest == 0 or text[earliest - 1].isspace():
        return earliest
    space = next((offset for offset in range(earliest, latest) if text[offset].isspace()), latest - 1)
    return space + 1


def _end_of_words(text: str, start: int) -> int:
    """The end of at most 300 characters from `start`: behind a word, or before a whole letter of a word without end."""
    end = start + MAX_SNIPPET
    if end >= len(text) or text[end].isspace():
        return min(end, len(text))
    space = next((offset for offset in range(end - 1, start, -1) if text[offset].isspace()), start)
    if space > start:
        return space
    while end > start + 1 and _joined(text[end - 1], text[end]):
        end -= 1
    return end


def _joined(before: str, after: str) -> bool:
    """Whether a cut between the two would split one letter or one emoji."""
    joiners = "\u200d", "\ufe0f"
    return unicodedata.category(after)[0] == "M" or before in joiners or after in joiners


def _shown(text: str, start: int, end: int) -> tuple[str, list[int]]:
    """The stretch without what must not be shown, white space folded; and each character's offset in `text`."""
    characters: list[str] = []
    origins: list[int] = []
    for offset in range(start, end):
        character = text[offset]
        if character in BIDI_CONTROLS:
            continue
        blank = character.isspace() or unicodedata.category(character) == "Cc"
        if blank and (not characters or characters[-1] == " "):
            continue
        characters.append(" " if blank else character)
        origins.append(offset)
    if characters and characters[-1] == " ":
        characters.pop()
        origins.pop()
    return "".join(characters), origins
