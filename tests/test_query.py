"""A question to what is looked for (SPEC R8, R10, R13)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.query import parse


@pytest.mark.parametrize(
    ("text", "tsquery"),
    [
        ("", ""),
        ("the 🚀 !!!", ""),
        ("harbor rigging", "('harbor') & ('rig')"),
        ("Harbor HARBORS harbor", "('harbor')"),
        ("2.0.1", "('2' <1> '0' <1> '1')"),
        ("alice::bob", "('alic' <1> 'bob')"),
        ("-8a !x | y & z:*", "('8a') & ('x') & ('y') & ('z')"),
        ('"plan of action"', "('plan' <2> 'action')"),
        ("“plan of action” „x y‟ ＂z＂", "('plan' <2> 'action') & ('x' <1> 'y') & ('z')"),
        ('"the plan of"', "('plan')"),
        ('a"b c"d', "('b' <1> 'c') & ('d')"),
        ('crane "quay wall', "('crane') & ('quay') & ('wall')"),
        ('5"x7', "('5' <1> 'x7')"),
        ('"" " " x', "('x')"),
        ("crane's", "('crane')"),
        ("'; DROP TABLE", "('drop') & ('tabl')"),
        ("\\'x\\'", "('x')"),
    ],
)
def test_a_question_is_these_terms(text: str, tsquery: str) -> None:
    assert parse(text).all_words == tsquery


@settings(max_examples=500, derandomize=True, deadline=None, database=None)
@given(st.text(max_size=1_000))
def test_every_text_is_a_question(text: str) -> None:
    query = parse(text)
    assert query.text == text.strip()
    assert query.lexemes == {lexeme for term in query.terms for lexeme, _ in term.lexemes}
    assert len(set(query.terms)) == len(query.terms)
    assert bool(query.all_words) is bool(query.terms)


def test_white_space_around_it_is_no_part_of_a_question() -> None:
    assert parse(" \u3000The Who\n") == parse("The Who")
    assert parse(" The  Who").title_key == parse("the who").title_key
