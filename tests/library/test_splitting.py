"""SPEC R16: about 150 words, at headings, paragraphs, then sentences; nothing lost, nothing repeated; linear time."""

import time
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.library.splitting import MAX_CHARACTERS, MAX_WORDS, Span, split

MEGABYTE = 1_000_000


def passages(text: str) -> list[str]:
    return [text[span.start : span.end] for span in split(text)]


def words(count: int, word: str = "word") -> str:
    return " ".join([word] * count)


def assert_lawful(text: str) -> None:
    """All that holds for every text."""
    spans = split(text)
    assert all(text[span.start : span.end].strip() == text[span.start : span.end] != "" for span in spans)
    edges = [Span(0, 0), *spans, Span(len(text), len(text))]
    assert [text[a.end : b.start].strip() for a, b in pairwise(edges)] == [""] * (len(spans) + 1)
    assert all(a.end <= b.start for a, b in pairwise(edges))
    assert "".join("".join(text[a:b].split()) for a, b in spans) == "".join(text.split())
    assert all(span.end - span.start <= MAX_CHARACTERS for span in spans)
    assert all(sum(any(map(str.isalnum, word)) for word in text[a:b].split()) <= MAX_WORDS for a, b in spans)


marks = st.sampled_from(
    ["# ", "## ", "\n", "\n\n", "```\n", "~~~", "===\n", "---\n", "- ", "> ", "| ", ". ", "。", "\r\n", "\t", "\x85"]
)
pieces = st.lists(marks | st.text(max_size=12) | st.integers(1, 200).map(words), max_size=60)


@given(st.text(max_size=4_000))
def test_any_text(text: str) -> None:
    assert_lawful(text)


@given(pieces)
@example(["\u0301" * 5_000])
@example(["x" * 1_000 + "\u0301" * 3_000])
@example(["。" * 5_000])
def test_anything_that_looks_like_markdown(parts: list[str]) -> None:
    assert_lawful("".join(parts))


@given(pieces, st.integers(1, 6), st.integers(1, 3_000))
def test_a_heading_is_never_the_last_line_of_a_passage_while_its_body_follows(
    parts: list[str], level: int, length: int
) -> None:
    before = "".join(parts).replace("`", "").replace("~", "")
    text = f"{before}\n\n{'#' * level} Harbour rules\n\n{words(length, 'body')}"
    assert not any(passage.endswith("Harbour rules") for passage in passages(text))


def test_a_short_text_is_one_passage() -> None:
    assert split("\n  # Harbour\n\nRigging is checked.\n") == [Span(3, 33)]


@pytest.mark.parametrize("text", ["", " ", "\n" * 5_000, "\u2003\x85\t\x1f"])
def test_no_text_no_passage(text: str) -> None:
    assert split(text) == []


def test_a_passage_half_full_ends_at_the_next_heading() -> None:
    first, second = f"# One\n\n{words(80)}", f"## Two\n\n{words(100)}"
    assert passages(f"{first}\n\n{second}") == [first, second]


def test_short_sections_are_joined() -> None:
    first, second, third = (f"# Part\n\n{words(length)}" for length in (20, 60, 90))
    assert passages(f"{first}\n{second}\n{third}") == [f"{first}\n{second}", third]


def test_a_heading_goes_with_the_headings_above_it() -> None:
    # The underlined title, the section and the text are one thing, and the shorter section before it another.
    before, after = words(100), f"Title\n=====\n\n## Section\n\n{words(120)}"
    assert passages(f"{before}\n\n{after}") == [before, after]


def test_a_heading_is_not_left_behind_by_the_deeper_one_under_it() -> None:
    text = f"{words(73)}\n\n# Title of all\n\n## Section\n\n{words(120)}"
    assert passages(text)[0] == f"{words(73)}\n\n# Title of all\n\n## Section\n\n{words(73)}"


def test_a_sentence_that_is_a_heading_is_no_place_to_cut() -> None:
    text = f"{words(72)}\n\n# These rules hold for all.\n{words(120, 'Word')}"
    assert passages(text)[0] == f"{words(72)}\n\n# These rules hold for all.\n{words(73, 'Word')}"


def test_a_rule_under_a_wrapped_paragraph_makes_no_heading_of_its_last_line() -> None:
    first, second = f"{words(80)}\nlast line\n---", words(100)
    assert passages(f"{first}\n\n{second}") == [first, second]


def test_a_heading_under_one_of_its_own_level_begins_a_passage() -> None:
    assert passages("# a\n" * 160) == ["\n".join(["# a"] * 76), "\n".join(["# a"] * 84)]


def test_paragraphs_before_sentences() -> None:
    first, second = words(90) + ". Yes.", words(90) + ". No."
    assert passages(f"{first}\n\n{second}") == [first, second]


@pytest.mark.parametrize("mark", ["- ", "1. ", "12) ", "| "])
def test_items_and_rows_before_sentences(mark: str) -> None:
    items = [f"{mark}{words(37)}. Word" for _ in range(4)]
    assert passages("\n".join(items)) == ["\n".join(items[:3]), items[3]]


def test_sentences_before_the_lines_of_a_wrapped_paragraph() -> None:
    first, second = f"{words(60)}\n{words(60)}.", f"Next {words(20)}\n{words(60)}"
    assert passages(f"{first} {second}") == [first, second]


def test_lines_before_words() -> None:
    lines = [words(40) for _ in range(4)]
    assert passages("\n".join(lines)) == ["\n".join(lines[:3]), lines[3]]


def test_sentences_before_words() -> None:
    first, second = words(100) + '." ', "We met e.g. " + words(90)
    assert passages(first + second) == [first.strip(), second]


def test_words_are_kept_whole() -> None:
    # 2.0.1 is searched as a phrase: it must stand in one passage.
    assert passages(f"{words(149)} v-2.0.1 is out")[0] == words(149)


def test_a_comment_in_code_is_no_heading() -> None:
    code = [words(10), "", "```python", *["# count the word"] * 90, "```"]
    text = "\n".join([*code, "# Heading", words(140)])
    assert passages(text) == ["\n".join(code[:49]), "\n".join(code[49:]), f"# Heading\n{words(140)}"]


def test_a_line_of_inline_code_opens_no_fence() -> None:
    first, second = f"```mooring``` {words(80)}", f"# Heading\n\n{words(80)}"
    assert passages(f"{first}\n{second}") == [first, second]


def test_a_word_is_what_a_person_counts() -> None:
    assert passages(words(150, "don't")) == [words(150, "don't")]
    assert passages(words(150, "e\u0301te\u0301 हिन्दी")) == [words(75, "e\u0301te\u0301 हिन्दी")] * 2


def test_chinese_is_cut_at_its_sentences() -> None:
    sentence = "東京湾の" * 45 + "です。"
    assert passages(sentence * 20) == [sentence * 10, sentence * 10]


def test_letters_keep_their_accents_and_emoji_their_parts() -> None:
    assert passages("xe\u0301" * 700)[0] == "xe\u0301" * 666 + "x"
    assert passages("x" + "\U0001f469\u200d\U0001f469" * 700)[0] == "x" + "\U0001f469\u200d\U0001f469" * 666


UNITS = ["x", "\n", " ", "#", "# ", "# a\n", "|", "|a", "`", "```\n", "*", "*a ", "> ", ">", "- ", "- a\n", "[", "<a"]
UNITS += [
    "a. ",
    ".",
    "\u0301",
    "e\u0301",
    "東",
    "。",
    "_",
    "a\n===\n",
    "=\n",
    "~~~",
    "\u200d",
    "\r",
    "---\n\n",
    "[a]: b\n",
    "'",
]


@pytest.mark.parametrize("unit", UNITS)
def test_a_megabyte_takes_linear_time(unit: str) -> None:
    text = unit * (MEGABYTE // len(unit))
    began = time.process_time()
    split(text)
    assert time.process_time() - began < 2  # 0.05 to 0.5 s where this was written


@pytest.mark.parametrize("mark", ["> ", "  "])
def test_deep_nesting_takes_linear_time(mark: str) -> None:
    text = "\n".join(mark * depth + "- a" for depth in range(1_000))
    began = time.process_time()
    assert_lawful(text)
    assert time.process_time() - began < 2
