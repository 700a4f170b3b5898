"""What people call a source finds it, over HTTP, whatever the name is made of (R9, R10, R11, R15)."""

import unicodedata
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from app.services import Services
from tests.retrieval.asking import Case, added, answers, expected, tried
from tests.world import World

BODY = "Lorem dolor sit amet."

TITLES = [
    *("It's On", "Who Is Who", "The Who", "To be, or not to be", "Same", "I", "a", "0"),
    *("C++", "C#", ".NET", "AT&T", "Q3/Q4", "2.0.1", "100%", "§ 12 (3)", "R&D | budget & !plan", "-fish", "a OR b"),
    *("Title with trailing slash\\", "\\", "C:\\new\\table", 'The "Big" Book', '"', "'", "`code`", "“Quoted”"),
    *("Budget_2026-Q3.xlsx", "foo.png", "waarnemingen.be", "sess.crate_types", "/etc/nginx/nginx.conf", "O'Brien’s"),
    *("http://www.example.org/qwerty4?a=1#b", "ann@example.com", "Hikvision DS-7604NI-E1/4P/A", "Poseidon P-8A"),
    *("The Office [WIP]", "How to get started with the API", "DNS-over-HTTPS (DoH) FAQs", "thyroid/metabolic"),
    *("東京案内", "Руководство по установке", "دليل المستخدم", "מדריך למשתמש", "उपयोगकर्ता गाइड", "คู่มือผู้ใช้"),
    *("사용 설명서", "የተጠቃሚ መመሪያ", "Οδηγός χρήσης", "Straße", "Ångström", "Łódź", "ﬁnal ﬁle", "½ price"),
    *("№ 5", "ＦＵＬＬ", "ｷﾞﾀｰ", "İstanbul", "Ŀ", "ŉ", "ᾳ", "ǅ", "ſ", "\u1e9b\u0323", "葛\U000e0100飾"),
    *("🚀", "🚀 launch plan", "👩‍💻👨‍👩‍👧‍👦", "❤️", "🇩🇪🇫🇷", "1️⃣", "!!!", "…", "-", "---", "∑ ∫ √", "☃", "ㅤ"),
    *("x" * 500, "word " * 99 + "word!", "🚀" * 500, "the " * 124 + "end.", "﷽" * 500),
    *("Title\twith \u00a0  odd\u3000white  space", "{{template}}", "$1", "\u202eevil", "zero\u200bwidth"),
    *("<script>alert(1)</script> plan", "NULL", "undefined", "1e309", "true", "%s %d", "'; DROP TABLE sources; --"),
]


def typed(title: str) -> list[str]:
    """Forms in which the same name is typed."""
    forms = [title, title.upper(), title.casefold(), f"  {title}\n", title.replace(" ", "\u00a0  "), f"\ufeff{title}"]
    forms += [unicodedata.normalize(form, title) for form in ("NFC", "NFD", "NFKC", "NFKD")]
    return [form for form in dict.fromkeys(forms) if len(form.strip()) <= 1_000]


@pytest_asyncio.fixture(scope="module")
async def names(services: Services, server: str) -> AsyncIterator[World]:
    """One workspace in which every title is one source's, for all that is only read."""
    async with World.made(services, server) as made:
        sources = await added(made, [Case("", BODY, title=title) for title in TITLES])
        made.sources = dict(zip(TITLES, sources, strict=True))
        yield made


async def test_r10_every_title_in_full_is_found_first_in_every_form(names: World) -> None:
    asked = [(title, form) for title in TITLES for form in typed(title)]
    found = await answers(names.reader, [(form, None) for _, form in asked], limit=1)
    wrong = [
        (title, form)
        for (title, form), answer in zip(asked, found, strict=True)
        if [hit["resourceId"] for hit in answer["hits"]] != [names.sources[title]]
    ]
    assert wrong == []
    assert len(asked) > 3 * len(TITLES)


PARTS = [
    "rigg",
    "harbo",
    "東京",
    "案内",
    "Budget_2026-Q",
    "T&T Q",
    "x" * 499,
    "🚀🚀",
    "The Wh",
    "qwert",
    "??",
]


async def test_r10_a_part_of_a_word_or_of_a_name_without_words_finds_nothing(names: World) -> None:
    found = await answers(names.reader, [(part, None) for part in PARTS])
    assert {part: answer["hits"] for part, answer in zip(PARTS, found, strict=True)} == {part: [] for part in PARTS}


RULES = [
    Case(
        "R9 words of the title and of the description count together",
        BODY, title="Harbor rigging", description="Every quarterly check of shackles",
        finds=["harbor quarterly", "rigging", "check harbor", '"quarterly check"', '"harbor rigging"', "HARBORS check"],
        misses=['"rigging every"', '"rigging quarterly"', "harbor amet", "harborevery", "riggingevery", "rigg"],
    ),
    Case("R9 a description may be missing", BODY, title="Harbor", finds=["harbor"], misses=["harbor null", "none"]),
    Case("R9 a description may be empty", BODY, title="Quay", description="", finds=["quay"], misses=["quay null"]),
    Case("R9 no word runs from the title into the description", BODY, title="Har", description="bor",
         finds=["har", "bor", "har bor"], misses=["harbor", "har-bor", '"har bor"']),
    Case("R9 the body's words and the name's do not add up", "draft text about the quay",
         title="Harbor rigging inspection", finds=["harbor rigging", "quay draft"], misses=["harbor rigging quay"]),
    Case("R9 a title that the body never says", "- bread\n- olives\n- fish", title="the ideal diet",
         finds=["ideal diet", "the ideal diet", "diets", "olives"], misses=["ideal olives"]),
    Case("R10 a file's name is its parts", BODY, title="Budget_2026-Q3.xlsx",
         finds=["budget", "2026", "q3", "xlsx", "Budget_2026", "budget 2026 q3 xlsx", "Q3.xlsx"],
         misses=["budge", "202", "q3-2026", "budget-q3"]),
    Case("R10 a path is its parts", BODY, title="/etc/nginx/nginx.conf",
         finds=["nginx", "nginx.conf", "/etc/nginx", "etc", "conf"], misses=["ngin", "/nginx/etc"]),
    Case("R8 a title's accents are folded", BODY, title="café menu",
         finds=["café", "cafe", "cafe\u0301", "MENU", "the Cafe's menu"], misses=["caf"]),
    Case("R10 brackets and stop words in a title", BODY, title="The Office [WIP]",
         finds=["office", "the office", "offic", "[WIP]", "wip", "The Office [WIP]"], misses=["off", "wi"]),
    Case("R13 emoji in a title need a word beside them, or the whole title", BODY, title="🚀 launch plan",
         finds=["launch 🚀", "🚀 launch plan", "plan🚀"], misses=["🚀"]),
    Case("R10 a number is its parts, whole", BODY, title="Release 2.0.1",
         finds=["2.0.1", "2.0", "release 2.0.1", "0.1"], misses=["2.1", "20.1", "2.0.10"]),
]  # fmt: skip


@pytest_asyncio.fixture(scope="module")
async def seen(services: Services, server: str) -> AsyncIterator[dict[str, dict[str, list[int]]]]:
    async with World.made(services, server) as made:
        yield await tried(made, RULES)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.rule) for case in RULES])
async def test_a_name_finds_its_source(seen: dict[str, dict[str, list[int]]], case: Case) -> None:
    assert seen[case.rule] == expected(case)


async def test_r10_the_title_in_full_is_first_though_others_say_its_words_more_often(world: World) -> None:
    await added(
        world,
        [
            Case("", BODY, title="Travel travel travel", description="Travel travel policy, policies, travel."),
            Case("", BODY, title="The travel policy of the travel policy team"),
            Case("", BODY, title="Travel policy."),
            Case("", BODY, title="Travel Policy"),
            Case("", "A travel policy stands here.", title="Content"),
        ],
    )
    assert await world.reader.titles("travel  POLICY", limit=2) == ["Content", "Travel Policy"]
    assert (await world.reader.titles("travel policy."))[1] == "Travel policy."
    assert len(await world.reader.titles("travel policy")) == 5


async def test_r9_content_fills_the_limit_and_a_title_gets_what_is_left(world: World) -> None:
    title = "DNS-over-HTTPS (DoH) FAQs"
    await added(
        world,
        [
            *(
                Case("", f"DNS over HTTPS, DoH, and FAQs, part {n}: DNS-over-HTTPS (DoH) FAQs.", title=f"P{n}")
                for n in "123"
            ),
            Case("", BODY, title=title),
        ],
    )
    assert title not in await world.reader.titles(title, limit=2)
    assert title not in await world.reader.titles(title, limit=3)
    assert (await world.reader.titles(title, limit=4))[3] == title


async def test_r15_a_rename_counts_at_once_and_the_old_name_no_longer(world: World) -> None:
    source = await world.add("Crane manual", BODY, "On ropes")
    base = await world.knowledge_base("Crane manual")
    await world.manager.change("updateSource", "source { id }", id=source, title="The Who", description="On hooks")
    for kb in (None, base):
        assert await world.reader.titles("crane manual", kb) == []
        assert await world.reader.titles("ropes", kb) == []
        assert await world.reader.titles("the who", kb) == ["The Who"]
        assert await world.reader.titles("hook", kb) == ["The Who"]
    await world.manager.change("updateSource", "source { id }", id=source, description=None)
    assert await world.reader.titles("hook", base) == []
    assert await world.reader.titles("the who", base) == ["The Who"]


async def test_r9_default_arguments_find_a_title_and_the_same_question_the_same_list(world: World) -> None:
    await added(world, [Case("", BODY, title=f"Mooring {n}") for n in range(12)])
    first = await world.reader.hits("mooring")
    assert len(first) == 10
    assert [await world.reader.hits("mooring") for _ in range(3)] == [first] * 3


async def test_r7_a_source_list_and_a_title_word_find_only_that_source(world: World) -> None:
    await world.add("Mooring one", BODY)
    wanted = await world.add("Mooring two", BODY)
    assert await world.reader.titles("mooring", ids=[wanted]) == ["Mooring two"]
    assert await world.reader.titles("mooring two", ids=[wanted, wanted.upper()]) == ["Mooring two"]


async def test_r11_a_title_without_text_is_not_found(world: World) -> None:
    await world.add("Scanned form", "")
    await world.add("Blank form", "\n\n \t")
    await world.add("Form with text", "x")
    assert await world.reader.titles("form") == ["Form with text"]
    assert await world.reader.titles("Scanned form") == []


async def test_r9_a_title_word_weighs_more_than_a_word_of_a_description(world: World) -> None:
    await added(
        world,
        [
            Case("", BODY, title="First", description="Mooring"),
            Case("", BODY, title="Mooring", description="Second"),
            Case("", BODY, title="Third", description="Mooring"),
        ],
    )
    assert await world.reader.titles("mooring") == ["Mooring", "First", "Third"]
