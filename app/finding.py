"""Finds words in texts by their lexemes: exactly those that a search by the same lexemes matches (SPEC R8, R14)."""

import unicodedata
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence, Set
from itertools import accumulate, pairwise
from typing import NamedTuple

from app.words import CHARACTERS, foreign_characters, lexeme_of, normal_form

# With more beginnings of words than this, one search for each takes longer than a look at every word.
_MANY_STARTS = 32


class Token(NamedTuple):
    """One token of a text, `text[start:end]` in code points. Two places differ by how far apart the tokens stand."""

    place: int
    start: int
    end: int
    lexeme: str


class Spellings(dict[str, str]):
    """The lexeme of each word in normal form, if it is one of the `wanted`, or ""; filled as words are met.

    The passages of one answer share most of their words: asked through this they are searched in half the time.
    `starts` is what such a word begins with, a space before it; none where every word has to be looked at.
    """

    def __init__(self, wanted: Collection[str]) -> None:
        self._wanted = wanted
        starts = {_start(lexeme) for lexeme in wanted}
        fewest = {start for start in starts if not any(start[:end] in starts for end in range(len(start)))}
        self.starts = [] if "" in starts or len(fewest) > _MANY_STARTS else [f" {start}" for start in fewest]

    def __missing__(self, word: str) -> str:
        self[word] = found = lexeme if (lexeme := lexeme_of(word)) in self._wanted else ""
        return found


def _start(lexeme: str) -> str:
    """What every word in NFC with this lexeme begins with.

    Of a stem's letters the stemmer writes at most the last anew, as e, i, l or y (hoping, hope), or "ie" (dying, die).
    """
    if len(lexeme) == 64:  # it may be a digest, which tells nothing of its word
        return ""
    if lexeme.endswith("ie"):
        return lexeme[:-2]
    return lexeme[:-1] if lexeme.endswith(("e", "i", "l", "y")) else lexeme


def find_words(text: str, wanted: Collection[str], placed: bool = True) -> list[Token]:
    """The tokens of `text` whose lexeme is one of the `wanted`, in order. For many texts `wanted` is a Spellings.

    Only for these is it worked out where they stand: of a passage's 200 words they are a few. Not `placed`, all have
    the place 0: what stands between them is not counted.
    """
    foreign = foreign_characters(text)
    normal = f" {normal_form(text, foreign)} "
    spelled = wanted if isinstance(wanted, Spellings) else Spellings(wanted)
    by_starts = spelled.starts and unicodedata.is_normalized("NFC", normal)
    words = _words_by_starts(normal, spelled) if by_starts else _words_one_by_one(normal, spelled)
    places = _places(normal, words) if placed and words else [0] * len(words)
    ranges = _ranges(text, foreign, words)
    found = zip(places, ranges, words, strict=True)
    return [Token(place, start, end, spelled[word]) for place, (start, end), (_, word) in found]


def _words_by_starts(normal: str, spelled: Spellings) -> list[tuple[int, str]]:
    """The wanted words of a normal form with spaces around it, each with the offset of the space before it."""
    found = []
    for start in spelled.starts:
        space = normal.find(start)
        while space >= 0:
            end = normal.index(" ", space + 1)
            word = normal[space + 1 : end]
            if spelled[word]:
                found.append((space, word))
            space = normal.find(start, end)
    return sorted(found)


def _words_one_by_one(normal: str, spelled: Spellings) -> list[tuple[int, str]]:
    """What `_words_by_starts` gives, however the wanted words begin."""
    found, behind = [], 0
    for word in filter(spelled.__getitem__, normal.split()):
        # Every token that is spelt like this one is wanted: the next that follows is this one.
        space = normal.index(f" {word} ", behind)
        behind = space + 1 + len(word)
        found.append((space, word))
    return found


def _places(normal: str, words: Sequence[tuple[int, str]]) -> Iterator[int]:
    """How many words each of the `words` stands behind the first of them."""
    steps = (len(normal[space:following].split()) for (space, _), (following, _) in pairwise(words))
    return accumulate(steps, initial=0)


def _ranges(text: str, foreign: Set[str], words: Sequence[tuple[int, str]]) -> list[tuple[int, int]]:
    """Where in `text` the words of its normal form stand."""
    if not words or all(len(CHARACTERS[ord(character)]) == 1 for character in foreign):
        return [(start, start + len(word)) for start, word in words]
    ends = list(accumulate(map(len, map(CHARACTERS.__getitem__, map(ord, text)))))
    return [
        (bisect_right(ends, start), _end_with_marks(text, bisect_right(ends, start + len(word) - 1) + 1))
        for start, word in words
    ]


def _end_with_marks(text: str, end: int) -> int:
    """`end`, moved behind the dropped accents that belong to the token's last letter."""
    while end < len(text) and not CHARACTERS[ord(text[end])] and unicodedata.category(text[end])[0] == "M":
        end += 1
    return end
