"""What a question finds, read slowly from the rules' words (SPEC R8, R9, R10), to check the product by.

Nothing of the product is used but its list of stop words. Where the product has tables of characters, this asks for
their Unicode names; where it sends a tsquery to PostgreSQL, this tries every place of a text.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import Stemmer

from app.words import STOP_WORDS

Term = list[str | None]
"""The stems of words that stand side by side. None is a stop word: any word may stand there."""

_STEMMER = Stemmer.Stemmer("english")
_DOUBLE_QUOTES = '"“”„‟＂'
_SINGLE_QUOTES = (
    *("APOSTROPHE", "FULLWIDTH APOSTROPHE", "GRAVE ACCENT", "ACUTE ACCENT", "PRIME", "MODIFIER LETTER PRIME"),
    *("MODIFIER LETTER APOSTROPHE", "MODIFIER LETTER TURNED COMMA"),
    *("LEFT SINGLE QUOTATION MARK", "RIGHT SINGLE QUOTATION MARK", "SINGLE HIGH-REVERSED-9 QUOTATION MARK"),
)
_SPELT_OUT = {
    **{"LATIN SMALL LETTER AE": "ae", "LATIN SMALL LETTER ETH": "d", "LATIN SMALL LETTER THORN": "th"},
    **{"LATIN SMALL LETTER DOTLESS I": "i", "LATIN SMALL LETTER KRA": "k", "LATIN SMALL LETTER ENG": "n"},
    **{"LATIN SMALL LIGATURE OE": "oe", "LATIN SMALL LETTER O WITH STROKE": "o"},
    **{f"LATIN SMALL LETTER {letter} WITH STROKE": letter.lower() for letter in "DHLT"},
}
_INVISIBLE = ("VARIATION SELECTOR", "MONGOLIAN FREE VARIATION", "KHMER VOWEL INHERENT", "HANGUL FILLER")
_INVISIBLE_WHOLE = ("HANGUL CHOSEONG FILLER", "HANGUL JUNGSEONG FILLER", "HALFWIDTH HANGUL FILLER")
_BLOCKS_OF_ACCENTS = (
    *(("\u0300", "\u036f"), ("\u1ab0", "\u1aff"), ("\u1dc0", "\u1dff"), ("\u20d0", "\u20ff"), ("\ufe20", "\ufe2f")),
)


@dataclass
class Word:
    """A word of a text at `[start, end)` in code points. `stem` is None for a word that is not searched for."""

    start: int
    end: int
    folded: str
    after_apostrophe: bool

    @property
    def stem(self) -> str | None:
        word = unicodedata.normalize("NFC", self.folded)
        if word in STOP_WORDS or (self.after_apostrophe and word in {"s", "t", "d", "m", "ll", "re", "ve"}):
            return None
        return str(_STEMMER.stemWord(word))


def words(text: str) -> list[Word]:
    """The words of a text: letters, digits and marks side by side, folded; what is invisible is not there."""
    found: list[Word] = []
    joined = apostrophe = False
    for offset, character in enumerate(text):
        folded = [] if invisible(character) else _folded(character)
        if not folded:
            # An accent, or the choice of a letter's variant, is a part of what is shown of the words before it.
            for word in found[-4:]:
                if word.end == offset and unicodedata.category(character)[0] == "M":
                    word.end += 1
            continue
        for part in folded:
            if part is None or part == "'":
                apostrophe = part == "'" and joined
                joined = False
            elif joined:
                found[-1].folded += part
                found[-1].end = offset + 1
            else:
                found.append(Word(offset, offset + 1, part, apostrophe))
                joined, apostrophe = True, False
    return found


@lru_cache(maxsize=65_536)
def invisible(character: str) -> bool:
    name = unicodedata.name(character, "")
    return unicodedata.category(character) == "Cf" or name.startswith(_INVISIBLE) or name in _INVISIBLE_WHOLE


@lru_cache(maxsize=65_536)
def _folded(character: str) -> list[str | None]:
    """A character's letters, digits and marks; None for what separates, an apostrophe for every kind of it."""
    if unicodedata.name(character, "") in _SINGLE_QUOTES:
        return ["'"]
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", character).casefold())
    plain = "".join(part for part in plain if not any(first <= part <= last for first, last in _BLOCKS_OF_ACCENTS))
    folded: list[str | None] = []
    for part in unicodedata.normalize("NFC", plain):
        name = unicodedata.name(part, "")
        if name in _SINGLE_QUOTES:
            folded.append("'")
        elif name in _SPELT_OUT:
            folded.extend(_SPELT_OUT[name])
        else:
            folded.append(part if unicodedata.category(part)[0] in "LNM" else None)
    return folded


@lru_cache(maxsize=256)
def terms(query: str) -> list[Term]:
    """What a question asks for. Every term must be met; no terms, and nothing in it can be searched for."""
    parts: list[str] = []
    rest = query
    for quote in _DOUBLE_QUOTES:
        rest = rest.replace(quote, '"')
    while rest.count('"') >= 2:
        outside, phrase, rest = rest.split('"', 2)
        parts += [*outside.split(), phrase]
    parts += rest.split()
    found: list[Term] = []
    for part in parts:
        stems = [word.stem for word in words(part)]
        while stems and stems[0] is None:
            stems.pop(0)
        while stems and stems[-1] is None:
            stems.pop()
        if stems:
            found.append(stems)
    return found


@lru_cache(maxsize=256)
def stems_of(text: str) -> tuple[str | None, ...]:
    """The stems of a text's words, in order. Remembered: a few texts are asked for thousands of times."""
    return tuple(word.stem for word in words(text))


def occurrences(term: Term, stems: Sequence[str | None]) -> list[int]:
    """The places at which a term stands in a text's words."""
    return [
        start
        for start in range(len(stems) - len(term) + 1)
        if all(wanted is None or wanted == stems[start + place] for place, wanted in enumerate(term))
    ]


def content_matches(query: str, text: str) -> bool:
    """R8: whether every term stands in a passage."""
    wanted = terms(query)
    return bool(wanted) and all(occurrences(term, stems_of(text)) for term in wanted)


def title_matches(query: str, title: str, description: str | None) -> bool:
    """R9, R10: whether every term stands in the title or in the description, or the question is the whole title."""
    texts, wanted = (title, description or ""), terms(query)
    by_words = bool(wanted) and all(any(occurrences(term, stems_of(text)) for text in texts) for term in wanted)
    return by_words or same_title(query, title)


def same_title(query: str, title: str) -> bool:
    """R10: the same after NFKC, case and white space folded; what is invisible is not there."""
    return _name(query) == _name(title)


@lru_cache(maxsize=256)
def _name(text: str) -> str:
    shown = "".join(character for character in text if not invisible(character))
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", shown).casefold()).split())


def highlighted(query: str, text: str) -> set[int]:
    """The offsets in `text`, in code points, of all that a question's terms cover, each where it stands whole."""
    found = words(text)
    stems = [word.stem for word in found]
    places = {
        start + place
        for term in terms(query)
        for start in occurrences(term, stems)
        for place, wanted in enumerate(term)
        if wanted is not None
    }
    return covered((found[place].start, found[place].end) for place in places)


def covered(ranges: Iterable[tuple[int, int]]) -> set[int]:
    return {offset for start, end in ranges for offset in range(start, end)}
