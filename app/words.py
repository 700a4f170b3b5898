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
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
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
ACCENTS = ((0x0300, 0x036F), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF), (0xFE00, 0xFE0F), (0xFE20, 0xFE2F))
# PostgreSQL's limits: a lexeme has at most 2,046 bytes, a position is at most 16,383, a lexeme keeps 255 positions.
LONGEST_LEXEME = 255
LAST_POSITION = 16_383
MOST_POSITIONS = 255

_stem = Stemmer.Stemmer("english").stemWord
_TOKEN = re.compile(r"[^ ']+")


class Token(NamedTuple):
    """One token of a text: `text[start:end]` in code points, and its lexeme, "" for a stop word."""

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
    if unicodedata.category(character) == "Cf":
        return ""
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", character).casefold())
    kept = "".join(UNDECOMPOSED.get(c, c) for c in decomposed if not _is_accent(c))
    return "".join(c if unicodedata.category(c)[0] in "LNM" else " " for c in unicodedata.normalize("NFC", kept))


def _is_accent(character: str) -> bool:
    return any(first <= ord(character) <= last for first, last in ACCENTS)


_TABLE = _CharacterTable()


def tokens(text: str) -> list[Token]:
    """The tokens of `text`, in order. Their index in the list, from 1, is their position in a tsvector."""
    normal = text.translate(_TABLE)
    starts = range(len(text) + 1) if len(normal) == len(text) else _origins(text)
    found = []
    for match in _TOKEN.finditer(normal):
        first, last = match.span()
        tail = first >= 2 and normal[first - 1] == "'" and normal[first - 2] not in " '"
        lexeme = "" if tail and match[0] in CONTRACTIONS else lexeme_of(match[0])
        found.append(Token(starts[first], _end_with_marks(text, starts[last - 1] + 1), lexeme))
    return found


def _origins(text: str) -> list[int]:
    """For each character of the normal form, the offset in `text` of the character that it came from."""
    return [offset for offset, character in enumerate(text) for _ in _TABLE[ord(character)]]


def _end_with_marks(text: str, end: int) -> int:
    """`end`, moved behind the dropped accents that belong to the token's last letter."""
    while end < len(text) and not _TABLE[ord(text[end])] and unicodedata.category(text[end])[0] == "M":
        end += 1
    return end


@lru_cache(maxsize=65_536)
def lexeme_of(word: str) -> str:
    """The lexeme of one word in normal form; "" for a stop word. A very long word is known by its digest."""
    word = unicodedata.normalize("NFC", word)
    if word in STOP_WORDS:
        return ""
    stem: str = _stem(word)
    if len(stem) > LONGEST_LEXEME:
        return hashlib.sha256(stem.encode()).hexdigest()
    return stem


def search_vector(text: str) -> str:
    """The tsvector of a passage, as PostgreSQL reads it."""
    return _vector((position, token.lexeme, "") for position, token in enumerate(tokens(text), 1))


# Between a title's last word and its description's first, so that no phrase runs from one into the other.
# A query of 1,000 characters has at most 500 words.
DESCRIPTION_GAP = 1_000


def title_vector(title: str, description: str | None) -> str:
    """The tsvector of a source's title (weight A) and description (weight B)."""
    title_tokens = tokens(title)
    described = tokens(description or "")
    first = len(title_tokens) + DESCRIPTION_GAP
    return _vector(
        [
            *((position, token.lexeme, "A") for position, token in enumerate(title_tokens, 1)),
            *((position, token.lexeme, "B") for position, token in enumerate(described, first)),
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
    """What two titles share when they are the same name: a digest of NFKC, case and white space folded (SPEC R10)."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return hashlib.sha256(" ".join(folded.split()).encode("utf-8", "surrogatepass")).digest()
