"""Text to searchable words: one function for what is stored and for what is asked (SPEC R8).

A text is read as a row of tokens: runs of letters, digits and marks after NFKC and case folding, accents folded,
zero-width characters dropped, everything else a separator. A token's lexeme is its English stem (Snowball,
"english"), or nothing if it is a stop word, which still takes a position, so that phrases keep their distances.

The tokens are made here and not by PostgreSQL's parser, because that one differs by the database's locale and
version, reads `a-b` and URLs in ways of its own, and gives no offsets. PostgreSQL gets finished tsvector and tsquery
values. So what matches, what is highlighted and what a test's reference says are the same by construction, a server's
upgrade cannot change the meaning of what is stored, and no text of a user is ever parsed as a query.
"""

import hashlib
import re
import threading
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Container, Iterable
from functools import lru_cache, partial
from itertools import accumulate
from typing import NamedTuple

import Stemmer

_STOP_WORDS = """
    a an the i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers
    herself it its itself they them their theirs themselves this that these those who whom what which
    am is are was were be been being have has had having do does did doing can will should
    and but if or because as until while of at by for with about against between into through during before after
    above below to from up down in out on off over under
    again further then once here there when where why how all any both each few more most other some such no nor not
    only own same so than too very just now
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
# What stands behind an apostrophe and is no word of its own: it's, don't, I'd, I'm, we'll, you're, I've.
CONTRACTIONS = frozenset(["s", "t", "d", "m", "ll", "re", "ve"])
APOSTROPHES = frozenset("'\u2018\u2019\u201b\u02bb\u02bc\u02b9\u00b4\u0060\u2032\uff07")
# Letters that look accented and that Unicode does not take apart.
UNDECOMPOSED = dict(zip("æðøþđħıĸłŋœŧ", ["ae", "d", "o", "th", "d", "h", "i", "k", "l", "n", "oe", "t"], strict=True))
# The blocks of combining diacritical marks: these are accents. Other scripts' marks (vowel signs) are parts of letters.
ACCENTS = ((0x0300, 0x036F), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF), (0xFE20, 0xFE2F))
# What has no width and is not of category Cf: fillers, inherent vowels, the selectors of a letter's or emoji's variant.
ZERO_WIDTH = (
    *((0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x3164, 0x3164)),
    *((0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0xE0100, 0xE01EF)),
)
# PostgreSQL's limits: a lexeme has at most 2,046 bytes, a position is at most 16,383, a lexeme keeps 255 positions.
LONGEST_LEXEME = 255
LAST_POSITION = 16_383
MOST_POSITIONS = 255


class _Stemmers(threading.local):
    """A stemmer for each thread: it may not be called concurrently. Without its own cache: `lexeme_of` has one."""

    def __init__(self) -> None:
        self.stem: Callable[[str], str] = Stemmer.Stemmer("english", 0).stemWord


_stemmers = _Stemmers()
# Stands for a contraction's tail in the normal form: it has the tail's length, and is no word.
_TAIL = "\0"
_FOREIGN = re.compile(r"([^\x00-\x7f]+)")
_MANY_PIECES = 64
_CONTRACTION = re.compile(rf"(?<=[^ '])'({'|'.join(sorted(CONTRACTIONS))})(?![^ '])")
_NOT_SEARCHED = STOP_WORDS | {_TAIL * length for length in map(len, CONTRACTIONS)}


class Token(NamedTuple):
    """One token of a text: the `place`-th, from 0; it is `text[start:end]` in code points."""

    place: int
    start: int
    end: int
    lexeme: str


class _CharacterTable(dict[int, str]):
    """str.translate's table, filled as characters are met: what each becomes, "" if it is dropped."""

    def __missing__(self, code: int) -> str:
        self[code] = value = _normal(chr(code))
        return value


def _normal(character: str) -> str:
    if character in APOSTROPHES:
        return "'"
    if _is_invisible(character):
        return ""
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", character).casefold())
    kept = "".join(UNDECOMPOSED.get(c, c) for c in decomposed if not _within(ACCENTS, c))
    # Separators side by side are one: so that most symbols keep their length, and offsets need no second look.
    return re.sub(" +", " ", "".join(map(_letter_or_separator, unicodedata.normalize("NFC", kept))))


def _letter_or_separator(character: str) -> str:
    if character in APOSTROPHES:
        return "'"
    return character if unicodedata.category(character)[0] in "LNM" else " "


def _is_invisible(character: str) -> bool:
    return unicodedata.category(character) == "Cf" or _within(ZERO_WIDTH, character)


def _within(ranges: Iterable[tuple[int, int]], character: str) -> bool:
    return any(first <= ord(character) <= last for first, last in ranges)


_TABLE = _CharacterTable()


def lexemes(text: str) -> list[str]:
    """The lexeme of each token of `text`, in order: "" for a stop word. An index, plus 1, is a tsvector's position."""
    return list(map(lexeme_of, _normal_form(text).split()))


class Spellings(dict[str, bool]):
    """Which words in normal form have one of the `wanted` lexemes, filled as words are met.

    The passages of one answer share most of their words: asked through this they are searched in half the time.
    """

    def __init__(self, wanted: Container[str]) -> None:
        self._wanted = wanted

    def __missing__(self, word: str) -> bool:
        self[word] = found = lexeme_of(word) in self._wanted
        return found


def find_words(text: str, wanted: Container[str]) -> list[Token]:
    """The tokens of `text` whose lexeme is one of the `wanted`, in order. For many texts `wanted` is a Spellings.

    Only for these is it worked out where they stand: of a passage's 200 words they are a few.
    """
    normal = _normal_form(text)
    words = normal.split()
    spelled = wanted if isinstance(wanted, Spellings) else Spellings(wanted)
    places = [place for place, found in enumerate(map(spelled.__getitem__, words)) if found]
    if not places:
        return []
    padded, origin = f" {normal} ", _origins(text)
    behind: dict[str, int] = {}
    found = []
    for place in places:
        word = words[place]
        # Every token that is spelt like this one is wanted: the next that follows is this one.
        start = padded.index(f" {word} ", behind.get(word, 0))
        end = start + len(word)
        behind[word] = end + 1
        found.append(Token(place, origin(start), _end_with_marks(text, origin(end - 1) + 1), lexeme_of(word)))
    return found


def _normal_form(text: str) -> str:
    """The tokens of `text`, as they are spelt after folding, with spaces between."""
    # str.translate is 30 times as fast on ASCII, which is most of an English text: it gets that in pieces of its own.
    pieces = [text] if text.isascii() else _FOREIGN.split(text)
    if len(pieces) > _MANY_PIECES:
        pieces = [text]
    normal = "".join([piece.translate(_TABLE) for piece in pieces])
    if "'" in normal:
        normal = _CONTRACTION.sub(lambda tail: " " + _TAIL * len(tail[1]), normal).replace("'", " ")
    return normal


def _origins(text: str) -> Callable[[int], int]:
    """What gives, for an offset in the normal form, the offset in `text` of the character that it came from."""
    if text.isascii() or all(len(_TABLE[ord(character)]) == 1 for character in set(text)):
        return int
    ends = list(accumulate(map(len, map(_TABLE.__getitem__, map(ord, text)))))
    return partial(bisect_right, ends)


def _end_with_marks(text: str, end: int) -> int:
    """`end`, moved behind the dropped accents that belong to the token's last letter."""
    while end < len(text) and not _TABLE[ord(text[end])] and unicodedata.category(text[end])[0] == "M":
        end += 1
    return end


@lru_cache(maxsize=65_536)
def lexeme_of(word: str) -> str:
    """The lexeme of one word in normal form; "" for a stop word. A very long word is known by its digest."""
    word = unicodedata.normalize("NFC", word)
    if word in _NOT_SEARCHED:
        return ""
    stem = _stemmers.stem(word)
    if len(stem) > LONGEST_LEXEME:
        return hashlib.sha256(stem.encode()).hexdigest()
    return stem


def search_vector(text: str) -> str:
    """The tsvector of a passage, as PostgreSQL reads it."""
    return _vector((position, lexeme, "") for position, lexeme in enumerate(lexemes(text), 1))


# Between a title's last word and its description's first, so that no phrase runs from one into the other.
# A query of 1,000 characters has at most 500 words.
DESCRIPTION_GAP = 1_000


def title_vector(title: str, description: str | None) -> str:
    """The tsvector of a source's title (weight A) and description (weight B)."""
    named, described = lexemes(title), lexemes(description or "")
    return _vector(
        [
            *((position, lexeme, "A") for position, lexeme in enumerate(named, 1)),
            *((position, lexeme, "B") for position, lexeme in enumerate(described, len(named) + DESCRIPTION_GAP)),
        ]
    )


def _vector(entries: Iterable[tuple[int, str, str]]) -> str:
    positions: dict[str, list[str]] = {}
    for position, lexeme, weight in entries:
        if lexeme:
            positions.setdefault(lexeme, []).append(f"{min(position, LAST_POSITION)}{weight}")
    # A lexeme holds letters, digits and marks only: nothing in it needs to be escaped.
    return " ".join(f"'{lexeme}':{','.join(found[:MOST_POSITIONS])}" for lexeme, found in positions.items())


def title_key(text: str) -> bytes:
    """What two titles share when they are the same name (SPEC R10).

    A digest of the text after NFKC, with case and white space folded and invisible characters dropped.
    """
    visible = "".join(character for character in text if not _is_invisible(character))
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", visible).casefold())
    return hashlib.sha256(" ".join(folded.split()).encode("utf-8", "surrogatepass")).digest()
