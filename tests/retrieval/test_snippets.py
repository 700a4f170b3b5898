"""What is shown of a hit: the matched words, all of them, and a stretch that is safe and holds most of them (R14)."""

import html
import re
import sys
import unicodedata
from collections.abc import Sequence
from hashlib import sha256
from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.query import parse
from app.retrieval.snippets import MAX_SNIPPET, Snippet, TextRange, highlights, snippet
from tests.retrieval import hostile, reference
from tests.retrieval.asking import Case, added
from tests.world import World

BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
many = settings(max_examples=200, derandomize=True, deadline=None, database=None)


def folded(text: str) -> str:
    """The text as it is shown: no bidi controls, no other controls, white space folded."""
    kept = (" " if unicodedata.category(c) == "Cc" else c for c in text if c not in BIDI)
    return " ".join("".join(kept).split())


def shown(text: str, query: str) -> tuple[tuple[TextRange, ...], Snippet]:
    marks = highlights(text, parse(query))
    return marks, snippet(text, marks)


@many
@given(hostile.texts(), hostile.queries)
@example("½ price", "1/2")
@example("\u200bﬁle quay", "quay")
@example("ﬁle e\u0301 quay", "quay file")
@example("a 1\u00bd2 b", "11 22")
@example("quay\u0301\ufe0f\u0301.", "quay")
@example("it's s", "s")
@example("the the quay", '"the quay"')
def test_every_matched_word_is_inside_the_highlights_and_nothing_else(text: str, query: str) -> None:
    marks = highlights(text, parse(query))
    assert reference.covered(marks) == reference.highlighted(query, text)
    assert list(marks) == sorted(marks)
    assert all(0 <= mark.start < mark.end <= len(text) for mark in marks)
    assert all(one.end <= other.start for one, other in pairwise(marks))


@many
@given(hostile.texts(), hostile.queries)
@example("e" + "\u0301" * 700, "quay")
@example("👍🏽" * 200, "quay")
@example(" \u202e\n quay \x85\u2066", "quay")
def test_a_snippet_is_a_stretch_of_what_is_shown_cut_at_words(text: str, query: str) -> None:
    marks, found = shown(text, query)
    whole = folded(text)
    assert len(found.text) <= MAX_SNIPPET
    assert found.text == folded(found.text)
    assert found.text in whole
    assert found.text or not whole
    ends = {folded(text[mark.start : mark.end]) for mark in marks}
    assert any(
        _cut_at_words(whole, place.start(), found.text, ends)
        for place in re.finditer(f"(?={re.escape(found.text)})", whole)
    )


def _cut_at_words(whole: str, start: int, text: str, words: set[str]) -> bool:
    end = start + len(text)
    starts = start == 0 or whole[start - 1] == " " or text.startswith(tuple(words))
    # A word that is longer than a snippet is cut where it must be, but not inside of a letter.
    endless = " " not in text and not unicodedata.category(whole[end : end + 1] or " ").startswith("M")
    return starts and (
        end == len(whole) or whole[end] == " " or text.endswith(tuple(words)) or endless or len(text) == 1
    )


@many
@given(hostile.texts(), hostile.queries)
@example("quay " * 3 + "filler " * 60 + "quay crane", "quay crane")
@example("quay " + "filler " * 28 + "quay " + "filler " * 28 + "crane", "quay crane")
@example("quay " + "x" * 289 + " crane", "quay crane")
@example("filler quay " + "x" * 290 + " crane filler", "quay crane")
@example("quay quays QUAY " + "filler " * 60 + "quay crane", "quay crane")
@example("filler " * 60 + "quay" + " " * 900 + "crane " + "filler " * 60, "quay crane")
@example("filler " * 39 + "/quay/" + "x/" * 200, "quay")
@example("crane " + "x" * 288 + " quay, crane", "quay crane")
def test_a_snippet_holds_most_of_the_matched_words_and_says_where(text: str, query: str) -> None:
    marks, found = shown(text, query)
    words = [folded(text[mark.start : mark.end]) for mark in marks]
    held = [found.text[mark.start : mark.end] for mark in found.highlights]
    if all(len(word) <= MAX_SNIPPET for word in words):
        assert any(held == words[first : first + len(held)] for first in range(len(words) + 1))
        assert len(_different(held)) == _most_in_one_stretch(text, marks)
    else:
        assert bool(held) == bool(words)
    assert all(one.end <= other.start for one, other in pairwise(found.highlights))


def _different(words: list[str]) -> set[tuple[str | None, ...]]:
    return {reference.stems_of(word) for word in words}


def _most_in_one_stretch(text: str, marks: tuple[TextRange, ...]) -> int:
    """The most different words of any stretch: every pair of a first and a last one is tried."""
    most = 0
    for first, mark in enumerate(marks):
        for last in range(first, len(marks)):
            if len(folded(text[mark.start : marks[last].end])) <= MAX_SNIPPET:
                most = max(most, len(_different([folded(text[m.start : m.end]) for m in marks[first : last + 1]])))
    return most


@many
@given(hostile.texts())
def test_without_a_matched_word_it_is_the_start(text: str) -> None:
    found = snippet(text, ())
    assert folded(text).startswith(found.text)
    assert found.highlights == ()
    assert len(folded(text)) <= MAX_SNIPPET or len(found.text) > 150 or " " not in found.text[:150] or _endless(text)


def _endless(text: str) -> bool:
    """Whether what follows the snippet is a word so long that nothing but a cut before it was possible."""
    return max(map(len, folded(text).split())) > 100


@many
@given(hostile.texts() | st.text().filter(lambda text: "\0" not in text), hostile.queries)
def test_as_html_it_is_the_same_text_without_any_markup(text: str, query: str) -> None:
    _, found = shown(text, query)
    assert html.unescape(found.html) == found.text
    assert not set("<>\"'") & set(found.html)
    assert re.findall(r"&(?!(?:amp|lt|gt|quot|#x27);)", found.html) == []


@many
@given(
    hostile.texts() | st.text("ab\u0301  \n\t\x85\u3000\u202e\u200b<", max_size=40), hostile.queries | st.just("a b ab")
)
@example("qu\u202eay crane", "quay")
@example(" \u202e quay\u202e  \u202ecr\u202eane\u2066 ", "quay crane")
@example("\u2067quay  \n\n\n  crane\r\n\r\nquay \u200f", "quay")
@example("filler  " * 60 + "quay" + " \x85\u00a0" * 300 + "crane", "quay crane")
def test_it_is_what_the_text_folded_one_character_at_a_time_would_show(text: str, query: str) -> None:
    marks, found = shown(text, query)
    whole, moved = _folded_slowly(text, marks)
    assert whole == folded(text)
    assert found == snippet(whole, moved)
    assert snippet(text, ()) == snippet(whole, ())


def _folded_slowly(text: str, marks: Sequence[TextRange]) -> tuple[str, list[TextRange]]:
    whole, blank = "", False
    offsets: dict[int, int] = {}
    for offset, character in enumerate(text):
        if character.isspace() or unicodedata.category(character) == "Cc":
            blank = True
        elif character not in BIDI:
            whole += " " if blank and whole else ""
            blank = False
            offsets[offset] = len(whole)
            whole += character
    return whole, [TextRange(offsets[mark.start], offsets[mark.end - 1] + 1) for mark in marks]


def test_every_white_space_and_control_character_of_unicode_is_shown_as_a_space() -> None:
    blanks = [c for c in map(chr, range(sys.maxunicode + 1)) if c.isspace() or unicodedata.category(c) == "Cc"]
    assert len(blanks) == 84
    for blank in blanks:
        assert snippet(f"{blank}a{blank}b {blank}", ()).text == "a b", hex(ord(blank))


def test_a_word_that_is_longer_than_a_snippet_is_shown_from_its_start() -> None:
    marks, found = shown("filler " * 100 + "x" * 3_000 + " end", "x" * 3_000)
    assert marks == ((700, 3_700),)
    assert found == Snippet("x" * 300, (TextRange(0, 300),))


def test_the_matched_words_stand_among_what_leads_up_to_them_and_what_follows() -> None:
    text = " ".join(f"w{n}" for n in range(200)) + " quay crane " + " ".join(f"v{n}" for n in range(200))
    _, found = shown(text, "crane quay")
    before, after = found.text.split(" quay crane ")
    assert (len(before) // 10, len(after) // 10) == (9, 19)
    assert [found.text[mark.start : mark.end] for mark in found.highlights] == ["quay", "crane"]


def test_a_snippet_at_the_end_reaches_back() -> None:
    _, found = shown("w " * 400 + "quay", "quay")
    assert found.text == "w " * 148 + "quay"
    assert found.highlights == (TextRange(296, 300),)


# over HTTP


async def test_r14_a_hit_shows_what_the_functions_make(world: World) -> None:
    text = "Intro. " * 60 + "It’s a <b>quay</b> … onetwo99three á 👩‍👩‍👧‍👦 quays & cranes.\n\nA last\tline"
    await added(world, [Case("", text, title="Quayside <i>", description="title words")])
    answer = await world.reader.ask(
        '{ retrieve(query: "quay cranes") { hits { text textHash snippetSafe highlights { start end } '
        "snippet { text highlights { start end } } } } }"
    )
    (hit,) = answer["retrieve"]["hits"]
    marks, found = shown(hit["text"], "quay cranes")
    assert hit["text"] == text
    assert hit["textHash"] == sha256(text.encode()).hexdigest()
    assert hit["snippetSafe"] == found.html
    assert hit["snippet"] == {"text": found.text, "highlights": [mark._asdict() for mark in found.highlights]}
    assert hit["highlights"] == [mark._asdict() for mark in marks]
    assert [text[mark.start : mark.end] for mark in marks] == ["quay", "quays", "cranes"]
    assert "<b>quay</b>" in found.text


async def test_r14_a_title_hit_shows_the_start_of_its_passage(world: World) -> None:
    await added(world, [Case("", "First words. " * 50 + "travel", title="Travel policy")])
    (hit,) = (await world.reader.retrieve("travel policy"))["hits"]
    assert hit["snippetSafe"] == ("First words. " * 23).rstrip()
    assert (hit["highlights"], hit["snippet"]) == ([], {"text": hit["snippetSafe"], "highlights": []})
