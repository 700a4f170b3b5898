"""A person's question as terms to look for. No character is an operator, save the double quote (SPEC R8)."""

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

from app.finding import Spellings
from app.words import lexemes, title_key

_QUOTES = str.maketrans(dict.fromkeys("\u201c\u201d\u201e\u201f\uff02", '"'))
_PHRASE = re.compile(r'"([^"]*)"')


@dataclass(frozen=True, slots=True)
class Term:
    """One word, or several that stand together: each lexeme with its distance from the one before (0 for the first).

    `typed` is how the person wrote it, a phrase in its quotes. Terms with the same lexemes are equal.
    """

    lexemes: tuple[tuple[str, int], ...]
    typed: str = field(compare=False)

    @property
    def tsquery(self) -> str:
        """The term as PostgreSQL's tsquery. A lexeme has no character that needs escaping (app/words.py)."""
        (first, _), *rest = self.lexemes
        return f"'{first}'" + "".join(f" <{distance}> '{lexeme}'" for lexeme, distance in rest)

    @property
    def places(self) -> list[tuple[str, int]]:
        """Each lexeme with its distance from the first."""
        return list(zip((lexeme for lexeme, _ in self.lexemes), accumulate(d for _, d in self.lexemes), strict=True))


@dataclass(frozen=True)
class Query:
    """The terms of a question, each once, in order. No terms: nothing in it can be searched for (SPEC R13).

    `times` is how often the question has each term: it tells what a long question is about (SPEC R28).
    """

    text: str
    terms: tuple[Term, ...]
    times: tuple[int, ...]

    @property
    def all_words(self) -> str:
        """The tsquery that every term must meet; "" where there is none."""
        return " & ".join(f"({term.tsquery})" for term in self.terms)

    @cached_property
    def lexemes(self) -> frozenset[str]:
        """Every lexeme of every term."""
        return frozenset(lexeme for term in self.terms for lexeme, _ in term.lexemes)

    @cached_property
    def has_phrases(self) -> bool:
        """Whether a term is more than one word."""
        return any(len(term.lexemes) > 1 for term in self.terms)

    @cached_property
    def spellings(self) -> Spellings:
        """What finds them in texts (app/finding.py)."""
        return Spellings(self.lexemes)

    @cached_property
    def title_key(self) -> bytes:
        """What a title that is this whole question has as its key (SPEC R10)."""
        return title_key(self.text)


def parse(text: str) -> Query:
    """Read a question. Every text is one: nothing raises.

    A stretch in double quotes is a phrase. Outside of quotes a stretch without white space is a word, and a word with
    punctuation inside is the phrase of its parts. A quote without a partner is punctuation. Stop words keep their
    place in a phrase but are not looked for.
    """
    text = text.strip()
    terms: list[Term | None] = []
    outside_first = _PHRASE.split(text.translate(_QUOTES))
    for number, stretch in enumerate(outside_first):
        words = [(stretch, f'"{stretch.strip()}"')] if number % 2 else [(word, word) for word in stretch.split()]
        terms += [_term(word, typed) for word, typed in words]
    counted = Counter(term for term in terms if term is not None)
    return Query(text, tuple(counted), tuple(counted.values()))


def _term(stretch: str, typed: str) -> Term | None:
    found: list[tuple[str, int]] = []
    last = 0
    for position, lexeme in enumerate(lexemes(stretch)):
        if lexeme:
            found.append((lexeme, position - last if found else 0))
            last = position
    return Term(tuple(found), typed) if found else None
