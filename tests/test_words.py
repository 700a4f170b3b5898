"""Text to lexemes: one reading for what is stored and what is asked (SPEC R8, R10)."""

import sys
import threading
import unicodedata
from itertools import product
from typing import Literal, get_args

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.finding import Token, find_words
from app.words import (
    LONGEST_LEXEME,
    STOP_WORDS,
    lexemes,
    search_vector,
    title_key,
    title_vector,
)
from tests.retrieval import reference

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
many = settings(max_examples=500, derandomize=True, deadline=None, database=None)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("", []),
        (" \n\t", []),
        ("The harbors' rigging", ["", "harbor", "rig"]),
        ("It's John’s", ["", "", "john", ""]),
        ("don't we'll I'd you're I've I'm", ["don", "", "", "", "", "", "", "", "", "", "", ""]),
        ("'s 's' s", ["s", "s", "s"]),
        ("rock 'n' roll", ["rock", "n", "roll"]),
        ("Budget_2026-Q3.xlsx", ["budget", "2026", "q3", "xlsx"]),
        ("foo\u200bbar soft\u00adware", ["foobar", "softwar"]),
        ("CAFÉ cafe\u0301 Łódź Øl straße Þór", ["cafe", "cafe", "lodz", "ol", "strass", "thor"]),
        ("ﬁle ４２ ½ ℡ ŉ", ["file", "42", "1", "2", "tel", "n"]),
        ("東京案内 한국어 ｷﾞﾀｰ बदलाव", ["東京案内", "한국어", "ギター", "बदलाव"]),
        ("🚀 C++ 100% ❤️ 1️⃣", ["c", "100", "1"]),
        ("葛\U000e0100飾 葛飾", ["葛飾", "葛飾"]),
    ],
)
def test_a_text_is_read_as_its_words(text: str, read: list[str]) -> None:
    assert lexemes(text) == read
    assert [word.stem or "" for word in reference.words(text)] == read


@many
@given(st.text(max_size=40), st.sampled_from(get_args(Form)))
@example("´", "NFC")
def test_every_form_of_a_text_has_the_same_words(text: str, form: Form) -> None:
    if "´" not in text:  # an apostrophe as it is typed; its compatibility form is a space with an accent
        assert lexemes(unicodedata.normalize(form, text)) == lexemes(text)


@many
@given(st.text(max_size=40))
def test_a_lexeme_is_letters_digits_and_marks_so_that_nothing_is_escaped(text: str) -> None:
    found = lexemes(text)
    assert {unicodedata.category(character)[0] for lexeme in found for character in lexeme} <= set("LNM")
    assert all(len(lexeme) <= LONGEST_LEXEME for lexeme in found)


def test_every_character_is_read_as_the_reference_reads_it() -> None:
    """All of Unicode, between two letters, a few thousand characters at a time."""
    codes = [code for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF]
    odd = [code for code in codes if unicodedata.category(chr(code)) not in {"Lo", "Cn", "Co"}]
    for code in [*odd, *range(0xAC00, 0xD7A4, 97), *range(0x4E00, 0xA000, 97), *range(0x20000, 0x30000, 997)]:
        text = f"ab{chr(code)}cd"
        assert lexemes(text) == [word.stem or "" for word in reference.words(text)], hex(code)


def test_a_very_long_word_is_known_by_its_digest() -> None:
    one, other = lexemes("x" * 3_000)[0], lexemes("x" * 3_001)[0]
    assert (len(one), len(other), one == other) == (64, 64, False)
    assert find_words(f"{'x' * 3_000} {'x' * 3_001}", {other}) == [Token(0, 3_001, 6_002, other)]


# where words stand


@many
@given(st.text(max_size=60) | st.text("aﬁ½é\u0301\u200b’'s ", max_size=40))
@example("\u200bﬁ x")
@example("a\u0301ﬁ b")
@example("\u1100\u1161 가")
@example("Ωmega's ωmega Σ'σ ''s")
def test_a_found_word_stands_where_the_reference_says(text: str) -> None:
    words = reference.words(text)
    wanted = {word.stem for word in words[::2] if word.stem}
    expected = [(place, word) for place, word in enumerate(words) if word.stem in wanted]
    first = expected[0][0] if expected else 0
    for more in (set(), MANY_MORE, A_DIGEST):
        found = find_words(text, wanted | more)
        assert [token[1:] for token in found] == [(word.start, word.end, word.stem) for _, word in expected]
        assert [token.place for token in found] == [place - first for place, _ in expected]
        assert find_words(text, wanted | more, placed=False) == [token._replace(place=0) for token in found]


# Where one of these is wanted too, every word of a text is looked at.
MANY_MORE = {f"{letter}{digit}q" for letter in "bcdfghjk" for digit in "0123456789"}
A_DIGEST = {"0" * 64}

ENDINGS = """
    s es ed ing ings ingly edly ied ies ying eed eedly ly li y ily e er or ion ation ization ize izer ational tional
    enci ency anci ancy ably abli ible ibly bli bly bility ibility ality alism al ally fulness ful fully ousness ous
    ously iveness ive ivity ogi ogy logist less lessly icate icity ical ness ative ance ence able ant ement ment ent
    ism ate iti ity sses ss us l ll le bb dd gg nn tt at bl iz
"""
EXCEPTIONS = """
    skis skies sky dying lying tying vying idly gently ugly early only singly news howe atlas cosmos bias andes inning
    innings outing canning herring earring proceed exceed succeed evening general communism arsenal universal
"""


def test_a_word_is_found_by_its_lexeme_however_the_stemmer_changed_its_end() -> None:
    """Every short word of the letters that endings have, any two endings behind a stem, what has rules of its own."""
    short = ["".join(letters) for size in (1, 2, 3, 4) for letters in product("aeidglnsty", repeat=size)]
    endings = ["", *ENDINGS.split()]
    ended = [
        f"{stem}{one}{other}"
        for stem in ("b", "hop", "fly", "sens", "contr")
        for one, other in product(endings, endings)
    ]
    for word in {*short, *ended, *EXCEPTIONS.split()} - STOP_WORDS:
        (lexeme,) = lexemes(word)
        assert find_words(word, {lexeme}) == [Token(0, 0, len(word), lexeme)], word


def test_nothing_wanted_is_nothing_found() -> None:
    assert find_words("the quay", frozenset()) == []
    assert find_words("", {"quay"}) == []


# vectors


def test_a_passage_is_its_lexemes_with_their_positions() -> None:
    assert search_vector("The quay's quays: a crane") == "'quay':2,4 'crane':6"
    assert search_vector("the … 🚀") == ""


def test_positions_stay_inside_what_postgresql_keeps() -> None:
    vector = search_vector("quay " * 300 + "the " * 20_000 + "crane")
    assert vector.count(",") == 254
    assert vector.endswith(" 'crane':16383")


def test_title_words_weigh_more_and_no_phrase_runs_into_the_description() -> None:
    assert title_vector("The Harbor", "of harbors") == "'harbor':2A,1003B"
    assert title_vector("Harbor", None) == title_vector("Harbor", "") == "'harbor':1A"
    assert title_vector("🚀", None) == ""


# names


@many
@given(st.text(max_size=30))
def test_a_name_is_the_same_in_every_form(title: str) -> None:
    for form in get_args(Form):
        assert title_key(unicodedata.normalize(form, title)) == title_key(title)
    assert title_key(f" \n{title}\u3000") == title_key(title)
    assert title_key(title.replace(" ", " \u200b\t")) == title_key(title)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        *(
            ("The Who", "the  WHO", True),
            ("Straße", "STRASSE", True),
            ("ＦＵＬＬ", "full", True),
            ("ﬁne", "FINE", True),
        ),
        *(("❤️", "❤", True), ("C\u200b++", "c++", True), ("é", "e\u0301", True), ("½", "1⁄2", True), ("Σ", "ς", True)),
        *(("C++", "C", False), ("C++", "C+", False), ("é", "e", False), ("ab", "a b", False), ("🚀", "🚀🚀", False)),
        *(("a-b", "a b", False), ("O'Brien", "O’Brien", False), ("2.0.1", "2.0", False)),
    ],
)
def test_names_are_the_same_after_nfkc_case_and_white_space(one: str, other: str, same: bool) -> None:
    assert (title_key(one) == title_key(other)) is same
    assert reference.same_title(one, other) is same


# threads


def test_threads_read_the_same_words_at_the_same_time() -> None:
    """A job reads texts in a thread of its own; the stemmer's state is not shared."""
    texts = [" ".join(f"w{n}{letter}ing" for n in range(200)) for letter in "abcdefgh"]
    found: dict[str, list[str]] = {}
    threads = [threading.Thread(target=lambda text=text: found.update({text: lexemes(text)})) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {text: [word.stem or "" for word in reference.words(text)] for text in texts}
