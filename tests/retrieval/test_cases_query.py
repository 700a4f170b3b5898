"""What people type, over HTTP: no text is an error, none is an operator, and each finds what it should (R8, R13)."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from app.services import Services
from tests.retrieval.asking import Case, answers, expected, tried
from tests.world import World

TABLE = """| Quay | Depth |
|-----------------------|---------------------|
| North | 12 m |"""
ADDRESS = "https://example.com/a-b-c?x=1#frag"

CASES = [
    Case(
        "R8 a URL finds the text that it was copied from, whole or in part",
        "See http://www.example.co.uk/qwerty4?a=1 and http://google for more.",
        finds=["http://google", "http://www.example.co.uk/qwerty4?a=1", "qwerty4", "example.co.uk", "http://www.example"],
        misses=["http://bing", "qwerty", "http://www.example.co.uk/qwerty4?a=2", "co.example"],
    ),
    Case(
        "R8 a URL with a query and a fragment finds its text",
        f"The form is at {ADDRESS} (mirror).",
        finds=[ADDRESS, ADDRESS.upper(), f"<{ADDRESS}>", f"({ADDRESS}).", "a-b-c", "x=1", "frag"],
        misses=["a-c-b", "x=2"],
    ),
    Case(
        "R8 an apostrophe in a question breaks nothing",
        "All password policies are reviewed in May.",
        finds=["What's your password policies?", "password's policies", "'password' 'policies'", "'policies"],
        misses=["passwords' politics"],
    ),
    Case(
        "R8 every apostrophe is one, the curly and the modifier ones too",
        "Signed by Sinéad O’Brien. L‘Content is hers.",
        finds=[*(f"O{mark}Brien" for mark in "'‘’ʻʼ＇`´′"), "L‘Content", "l'content", "o brien", "SINEAD O'BRIEN"],
        misses=["obrien", "O'Brian"],
    ),
    Case(
        "R8 a contraction is its word",
        "It's the crane's load that we'll check; don't lift.",
        finds=["crane", "cranes", "crane’s load", '"crane\'s load"', "don't lift", "the crane’s"],
        misses=["ll check crane-s x"],
    ),
    Case(
        "R8 a mail contact finds its words",
        "Ann Example <ann@example.com> keeps the list.",
        finds=["Ann Example <ann@example.com>", "ann@example.com", "example", "Ann"],
        misses=["bob@example.com", "ann@example.org", "com@example"],
    ),
    Case(
        "R8 a double colon is punctuation inside a word",
        "Keys look like alice::bob in the log; the log is long.",
        finds=["alice::bob", "alice bob", "bob alice", "alice:bob", "alice", "log::the::log"],
        misses=["bob::alice", "alice::log"],
    ),
    Case(
        "R8 no character is an operator",
        "The R&D budget is no plan. Drop it: no gate is a logic gate.",
        finds=["R&D | budget & !plan", "-budget", "plan -gate", "gate or plan", "budget AND plan", "NOT plan",
               "+budget", "~plan", "plan*", "(plan", "plan)", "plan:*", "budget <-> plan", "budget & plan", "^plan"],
        misses=["budget OR draft", "plan or draft", "draft | plan", "-draft", "!draft", "pla*", "budge:*"],
    ),
    Case(
        "R8 words in capitals are words",
        "Do not use find here. A logic gate named ORECCA.",
        finds=["DO NOT USE FIND /", "OR gate", "ORECCA", "orecca GATE"],
        misses=["ECCA", "OR ECCA"],
    ),
    Case(
        "R8 a pasted Markdown table is its words",
        TABLE,
        finds=[TABLE, "|---|---| north", "-" * 60 + " quay", "| Quay | Depth |", "quay north"],
        misses=[TABLE.replace("12", "13")],
    ),
    Case(
        "R8 quotes make phrases, and only they do",
        "A plan of action follows the action of the board.",
        finds=['"plan of action"', "“plan of action”", "„plan of action“", "＂action follows＂", '"plan" "board"',
               "board plan", '"of the board"', '"plan the action"', '"PLAN of Actions"'],
        misses=['"action plan"', '"plan action"', "“board plan”", '"follows action"'],
    ),
    Case(
        "R8 a quote without a partner is punctuation",
        'The 24" rack and the 5"x7 card.',
        finds=['24" rack', '24"', 'rack "card', '5"x7', 'card"', 'rack " card'],
        misses=['7"x5', 'rack"card', 'rack "plan'],
    ),
    Case(
        "R8 codes are their parts, adjacent and in order",
        "Poseidon P-8A flies. Ship poseidon-1234 waits. Camera Hikvision DS-7604NI-E1/4P/A films.",
        finds=["p-8a", "P-8A", "-8a", "8a", "1234", "poseidon-1234", "DS-7604NI", "7604NI",
               "ds-7604ni-e1/4p/a", "E1/4P"],
        misses=["p-8", "DS-7604", "4p-e1", "poseidon-8a", "123"],
    ),
    Case("R8 the parts of a word stand together", "A shirt with t bar.", finds=["shirt", "t bar"], misses=["t-shirt"]),
    Case(
        "R8 the parts of a word are found, apart and together",
        "Wear a t-shirt. Install node-js or Node.js.",
        finds=["t-shirt", "T-Shirts", "shirt", "node-js", "node", "js", "node.js", "node/js", "t shirt"],
        misses=["shirt-t", "js-node", "nodejs"],
    ),
    Case(
        "R8 an e-mail address is found whole and by its parts",
        "Write to team@example.com today.",
        finds=["team@example.com", "example", "TEAM@EXAMPLE.COM", "team example"],
        misses=["team@example.co", "exam"],
    ),
    Case(
        "R8 all words must stand in the passage",
        "The thyroid/metabolic panel is fasting.",
        finds=["thyroid", "metabolic", "thyroid/metabolic panel", "panel thyroid", "fast panels"],
        misses=["thyroid lipid", "metabolic/thyroid", "panel panel lipid"],
    ),
    Case(
        "R8 versions are their parts",
        "Release 2.0.1 came after 1.9.",
        finds=["2.0.1", "2.0", "0.1", "release 1.9"],
        misses=["2.1", "2.0.1.9", "20.1", "1.2", "2.0.10"],
    ),
    Case(
        "R8 file names are their parts",
        "Attached: Budget_2026-Q3.xlsx, foo.png, sess.crate_types, /etc/nginx/nginx.conf.",
        finds=["budget_2026-q3.xlsx", "Budget", "2026", "Q3", "xlsx", "foo", "foo.png", "crate_types", "/etc/nginx",
               "nginx.conf", "etc\\nginx", "budget 2026 q3"],
        misses=["budg3t", "q3-2026", "png.foo", "Budget_2026-Q4.xlsx"],
    ),
    Case(
        "R8 usual forms are found, parts of words are not",
        "The Office inspected harbors while running schedules.",
        finds=["office", "the office", "offic", "offices", "inspection", "inspecting", "harbor", "runs", "scheduled"],
        misses=["off", "harb", "inspec", "run away", "schedule x"],
    ),
    Case(
        "R8 accents are folded, in every form",
        "Le café menu: smørrebrød, Øl, Łódź, straße, naïve, Änderungen, Ærø.",
        finds=["café", "cafe", "cafe\u0301", "CAFÉ", "smorrebrod", "smørrebrød", "ol", "lodz", "strasse", "STRASSE",
               "naive", "Änderungen", "anderungen", "aero", "A\u0308nderungen"],
        misses=["caf", "cafés bar"],
    ),
    Case(
        "R8 invisible characters are not there",
        "A foo\u200bbar, a soft\u00adware, \ufeffbom, zero\u200dwidth\u2060joiner.",
        finds=["foobar", "foo\u200bbar", "f\u200co\u200do\ufeffb\u00adar", "software", "bom", "zerowidthjoiner",
               "\u200bfoobar\u200b", "\u202efoobar\u202c"],
        misses=["foo", "ware", "zero"],
    ),
    Case(
        "R8 compatibility forms are the same",
        "The ﬁle № ４２ holds ½ litre, ℡ and ｷﾞﾀｰ.",
        finds=["file", "ﬁle", "FILE", "42", "４２", "1/2", "½", "tel", "ギター", "ｷﾞﾀｰ", "キ\u3099ター"],
        misses=["fi", "4", "ﬁ"],
    ),
    Case(
        "R8 emoji and symbols are punctuation",
        "Launch 🚀 on Monday 👩‍💻👨‍👩‍👧‍👦 after C++ and 100% tests.",
        finds=["launch 🚀", "🚀launch🚀", "launch🚀 monday",
               "100%", "c++", "C", "monday 👩‍💻"],
        misses=["launch🚀tests"],
    ),
    Case(
        "R8 text and question are read by the same rules in every language",
        "Users: Änderungen, изменения, تغييرات, 변경, बदलाव, การเปลี่ยนแปลง, 東京案内。",
        finds=["Users", "user", "Änderungen", "ИЗМЕНЕНИЯ", "تغييرات", "변경", "\u1107\u1167\u11ab\u1100\u1167\u11bc",
               "बदलाव", "การเปลี่ยนแปลง", "東京案内"],
        misses=["изменени", "東京", "변", "बदल"],
    ),
    Case(
        "R8 a title with its stop words is found by its words",
        "How to get started with the API: read on.",
        finds=["How to get started with the API", "get started with an API", '"started with the API"', "starting api"],
        misses=['"started API"'],
    ),
]  # fmt: skip


@pytest_asyncio.fixture(scope="module")
async def words(services: Services, server: str) -> AsyncIterator[World]:
    """One workspace for all that is only read."""
    async with World.made(services, server) as made:
        yield made


@pytest_asyncio.fixture(scope="module")
async def seen(words: World) -> dict[str, dict[str, list[int]]]:
    return await tried(words, CASES)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.rule) for case in CASES])
async def test_a_question_finds_its_text(seen: dict[str, dict[str, list[int]]], case: Case) -> None:
    assert seen[case.rule] == expected(case)


NOTHING_TO_SEARCH = [
    *("'\":*", "🚀", "It's On", "the", "!!!", "&|!()<->", "\\", "--", '""', '"the"', "\u200b", "\ufe0f", "👨‍👩‍👧‍👦"),
    *("-" * 1_000, '"' * 1_000, "(" * 1_000, "' " * 499 + "'", "the " * 249 + "the", "¡¿", "…", "I'll", "§ ¶ †", "%"),
]


async def test_r13_a_question_with_nothing_searchable_says_so_and_finds_nothing(words: World) -> None:
    await words.add("Plain", "The who and the what. 🚀")
    found = await answers(words.reader, [(query, None) for query in NOTHING_TO_SEARCH])
    seen = {query: (answer["notice"], answer["hits"]) for query, answer in zip(NOTHING_TO_SEARCH, found, strict=True)}
    assert seen == dict.fromkeys(NOTHING_TO_SEARCH, ("NO_SEARCHABLE_WORDS", []))


async def test_r8_a_question_of_450_words_is_answered(words: World) -> None:
    named = [f"{letter}{digit}" for letter in "abcdefghijklm" for digit in range(10)]
    source = await words.add("Long", " ".join(named))
    ordinary = " ".join(["x", *["n"] * 449])
    found = await answers(words.reader, [(" ".join(named * 2), source), (ordinary, source)])
    assert [len(answer["hits"]) for answer in found] == [1, 0]
    assert len(ordinary.split()) == 450
