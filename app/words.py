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
from collections.abc import Callable, Iterable, Set
from functools import lru_cache
from itertools import filterfalse

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
# The apostrophe stands first, so that it is what the expression searches for.
_CONTRACTION = re.compile(rf"'(?<=[^ ']')({'|'.join(sorted(CONTRACTIONS))})(?![^ '])")
_NOT_SEARCHED = STOP_WORDS | {_TAIL * length for length in map(len, CONTRACTIONS)}
# With more distinct characters outside of ASCII than this, a text is not worth replacing them one after the other.
_MANY_FOREIGN = 16


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


# Each character in normal form.
CHARACTERS = _CharacterTable()
_ASCII = bytes(range(128))
# For bytes.translate on UTF-8: each ASCII character is one byte and stays one, the others' bytes are left alone.
_ASCII_TABLE = _ASCII.decode().translate(CHARACTERS).encode() + bytes(range(128, 256))


def lexemes(text: str) -> list[str]:
    """The lexeme of each token of `text`, in order: "" for a stop word. An index, plus 1, is a tsvector's position."""
    return list(map(lexeme_of, normal_form(text, foreign_characters(text)).split()))


def foreign_characters(text: str) -> Set[str]:
    """The characters of `text` that are not ASCII."""
    if text.isascii():
        return frozenset()
    return set(text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass"))


def normal_form(text: str, foreign: Set[str]) -> str:
    """The tokens of `text`, as they are spelt after folding, with spaces between. `foreign`: `foreign_characters`."""
    normal = _folded(text, foreign)
    if "'" in normal:
        normal = _CONTRACTION.sub(lambda tail: " " + _TAIL * len(tail[1]), normal).replace("'", " ")
    return normal


def _folded(text: str, foreign: Set[str]) -> str:
    """What str.translate makes of `text` by the table: that takes 30 times as long on what is not ASCII."""
    if len(foreign) > _MANY_FOREIGN:
        return text.translate(CHARACTERS)
    replaced = text
    for character in foreign:
        new = CHARACTERS[ord(character)]
        # Replaced one after the other, none may become what another replaces.
        if not (new.isascii() or new == character):
            return text.translate(CHARACTERS)
        replaced = replaced.replace(character, new)
    return replaced.encode().translate(_ASCII_TABLE).decode()


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
    # All of ASCII can be seen, or is white space or a control character, which stays.
    visible = text if text.isascii() else "".join(filterfalse(_is_invisible, text))
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", visible).casefold())
    return hashlib.sha256(" ".join(folded.split()).encode("utf-8", "surrogatepass")).digest()
