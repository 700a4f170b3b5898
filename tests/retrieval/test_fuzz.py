"""Ten thousand questions: none is an error, and what they find is what the reference finds (R8, R9, R10, R13)."""

import asyncio
import random
import unicodedata
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from app.access.subject import Subject
from app.errors import AppError, InvalidInput
from app.models import Passage
from app.query import parse
from app.retrieval import service
from app.retrieval.request import RetrieveRequest, retrieve_request
from app.services import Services
from app.words import lexemes
from tests.retrieval import reference
from tests.retrieval.asking import Case, added, answers
from tests.world import READER, World

SEED = 20_261_130
# Connections that ask at the same time.
AT_ONCE = 4

CORPUS = [
    Case("", "The crane's load is checked, then the crane is moved. It's the quay's rule: don't lift twice.",
         title="Crane rules"),
    Case("", "Plan of action: budget first, action later. A plan, a budget and the plan's budget.",
         title="The plan", description="of action"),
    Case("", "See http://www.example.org/qwerty4?a=1&b=2#frag or write to team@example.org (today).",
         title="Links"),
    Case("", "Poseidon P-8A, DS-7604NI-E1/4P/A and node-js 2.0.1; Budget_2026-Q3.xlsx, /etc/nginx/nginx.conf",
         title="Budget_2026-Q3.xlsx"),
    Case("", "Café menu: crème brûlée, smørrebrød, Łódź, straße, naïve Änderungen.",
         title="Café Änderungen", description="crème"),
    Case("", "foo\u200bbar, soft\u00adware, zero\u200dwidth. ﬁle № ４２, ½ litre, ℡, ㎏, ⑴ ⒜ and 3/4.",
         title="ﬁnal ½"),
    Case("", "O’Brien, OʻBrien and O'Brien met D‘Arcy; rock 'n' roll in the '90s. `code`",
         title="O'Brien’s"),
    Case("", "東京案内。ｷﾞﾀｰ ギター 한국어 изменения Ωμέγα תפריט قائمة बदलाव",
         title="東京案内", description="Изменения ギター"),
    Case("", "Launch 🚀 on Monday 👩‍💻👨‍👩‍👧‍👦 1️⃣ ❤️ 100% C++ C# AT&T R&D",
         title="🚀 launch plan"),
    Case("", "The who, the what and the why of it all.",
         title="The Who", description="It's on"),
    Case("", "x x x y x y y x",
         title="x x y", description="y x x"),
    Case("", "to be or not to be, that is the question",
         title="To be, or not to be"),
    Case("", "<b>bold</b> &amp; &lt;img src=x onerror=alert(1)&gt; {{x}} \\n",
         title="<script>alert(1)</script>"),
    Case("", "running runner runs ran; schedules scheduling scheduled; universities university; flies fly flying",
         title="Running schedules"),
    Case("", "a1b2 1a 1-a 1.000,50 $3.14 +44 20 7946 0958 192.168.0.1 10:30 2026-11-30T10:30:00Z",
         title="192.168.0.1"),
    Case("", "“quoted words” and ‘single ones’, «guillemets» „low“ 24\" rack 5'10\"",
         title='The "quoted" Book'),
    Case("", "snake_case camelCase kebab-case SCREAMING_CASE dotted.name::space->arrow",
         title="kebab-case"),
    Case("", "e\u0301e\u0301e a\u0308nderung q\u0307\u0323 Å Å ﷽ ǅ ŉ ſ ẛ̣ ᾳ",
         title="Å"),
]  # fmt: skip


def seeded(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 # the same questions in every run are wanted


@dataclass
class Corpus:
    """What was stored, as the reference reads it: texts by source, names by source."""

    world: World
    texts: dict[str, str]
    names: dict[str, tuple[str, str | None]]

    async def ask(self, queries: Sequence[str], limit: int = 50) -> list[service.Answer | AppError]:
        """Straight to the service: what HTTP adds is tested elsewhere."""
        requests = [retrieve_request(query=query, limit=limit) for query in queries]
        size = -(-len(requests) // AT_ONCE)
        batches = [requests[first : first + size] for first in range(0, len(requests), size)]
        answered = await asyncio.gather(*(self._retrieve(batch) for batch in batches))
        return [answer for batch in answered for answer in batch]

    async def _retrieve(self, requests: Sequence[RetrieveRequest]) -> list[service.Answer | AppError]:
        subject: Subject = self.world.subject(READER)

        async def all_may_be_served(source_ids: Sequence[object]) -> list[bool]:
            return [True] * len(source_ids)

        return await self.world.services.retrieval.answers(subject, requests, all_may_be_served)


@pytest_asyncio.fixture(scope="module")
async def corpus(services: Services, server: str) -> AsyncIterator[Corpus]:
    async with World.made(services, server) as made:
        sources = await added(made, CORPUS)
        async with services.database.read() as session:
            rows = await session.execute(
                select(Passage.source_id, Passage.text).where(Passage.workspace_id == made.workspace_id)
            )
            texts = {str(source): text for source, text in rows}
        assert len(texts) == len(CORPUS), "each text is one passage"
        names = {source: (case.title, case.description) for source, case in zip(sources, CORPUS, strict=True)}
        yield Corpus(made, texts, names)


def wrong(corpus: Corpus, query: str, answer: service.Answer | AppError) -> str | None:
    """What an answer has that the reference has not, or the other way round. None: they agree."""
    if isinstance(answer, AppError):
        return f"{query!r}: {answer!r}"
    content = {source for source, text in corpus.texts.items() if reference.content_matches(query, text)}
    named = {source for source, name in corpus.names.items() if reference.title_matches(query, *name)} - content
    exact = {source for source in named if reference.same_title(query, corpus.names[source][0])}
    found = [(hit.by_title, str(hit.source_id)) for hit in answer.hits]
    by_title = [source for title, source in found if title]
    if {source for title, source in found if not title} != content or set(by_title) != named:
        return f"{query!r}: found {found}, not {content} and {named}"
    if found != sorted(found, key=lambda hit: hit[0]) or len(found) != len(content) + len(named):
        return f"{query!r}: titles before contents, or twice"
    if set(by_title[: len(exact)]) != exact:
        return f"{query!r}: the whole title is not first"
    if bool(answer.query.terms) != bool(reference.terms(query)):
        return f"{query!r}: searchable or not"
    return None


# questions made of what the texts say


def questions(random_: random.Random, count: int) -> list[str]:
    """Questions of one to three stretches of the corpus, each spelt, joined or quoted in some other way."""
    said = [part for case in CORPUS for part in (case.text, case.title, case.description or "x")]
    found: list[str] = []
    while len(found) < count:
        query = random_.choice([" ", " ", " ", "-", ", ", "\u3000"]).join(
            _changed(random_, _stretch(random_, random_.choice(said)))
            for _ in range(random_.choice([1, 1, 1, 2, 2, 3]))
        )
        if query.strip():
            found.append(query[:1_000])
    return found


def _stretch(random_: random.Random, text: str) -> str:
    """Some words side by side; or some characters, wherever that cuts."""
    if random_.random() < 0.2:
        start = random_.randrange(len(text))
        return text[start : start + random_.randint(1, 12)]
    words = text.split()
    start = random_.randrange(len(words))
    return " ".join(words[start : start + random_.choice([1, 1, 2, 3, 8])])


def _changed(random_: random.Random, text: str) -> str:
    change = random_.randrange(12)
    place = random_.randint(0, len(text))
    if change < 4:
        forms = (str.upper, str.lower, str.title, str.casefold)
        return forms[change](text)
    if change == 4:
        return unicodedata.normalize(random_.choice(["NFC", "NFD", "NFKC", "NFKD"]), text)
    if change == 5:
        return f'"{text}"' if random_.random() < 0.5 else f"“{text}”"
    if change == 6:
        return text[:place] + random_.choice("\u200b\u200d\u00ad\ufeff\u2060\ufe0f\u0301\u202e") + text[place:]
    if change == 7:
        return text[:place] + random_.choice("'\"’`&|!*:()<>-/\\_.,@#%+~ \t") + text[place:]
    if change == 8:
        return text.replace(" ", random_.choice(["-", "/", "::", " 🚀 ", " & ", "\n", " the "]))
    if change == 9:
        return "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c)) or text
    if change == 10:
        return text + random_.choice(["s", "ing", "ed", "'s", "’s", "ly"])
    return text


async def test_r8_r9_r10_both_searches_find_what_the_reference_finds(corpus: Corpus) -> None:
    asked = questions(seeded(SEED), 6_000)
    answered = await corpus.ask(asked)
    assert [
        fault for query, answer in zip(asked, answered, strict=True) if (fault := wrong(corpus, query, answer))
    ] == []
    steps = [{hit.by_title for hit in answer.hits} for answer in answered if isinstance(answer, service.Answer)]
    # The questions are worth asking: many find something, many do not.
    assert min(steps.count({False}), steps.count({True}), steps.count({False, True}), steps.count(set())) > 50


# questions made of anything


def anything(random_: random.Random, count: int) -> list[str]:
    """Short texts of characters of every category, some of them among words."""
    categories: dict[str, list[str]] = {}
    for code in range(0x110000):
        if not 0xD800 <= code <= 0xDFFF and code:
            categories.setdefault(unicodedata.category(chr(code)), []).append(chr(code))
    assert len(categories) == 29  # every category there is, but surrogates
    names = sorted(categories)
    found: list[str] = []
    while len(found) < count:
        characters = [random_.choice(categories[random_.choice(names)]) for _ in range(random_.randint(1, 12))]
        query = "".join(random_.choice([c, c, c, f"plan{c}", f" {c}", f'"{c}', f"x{c}x"]) for c in characters)
        if query.strip():
            found.append(query)
    return found


async def test_r13_no_text_of_any_characters_is_an_error(corpus: Corpus) -> None:
    asked = anything(seeded(SEED), 3_400)
    answered = await corpus.ask(asked)
    assert [
        fault for query, answer in zip(asked, answered, strict=True) if (fault := wrong(corpus, query, answer))
    ] == []


async def test_r13_no_text_is_an_error_over_http(corpus: Corpus) -> None:
    asked = [*anything(seeded(1), 300), *questions(seeded(2), 300)]
    answered = await answers(corpus.world.reader, [(query, None) for query in asked])
    assert len(answered) == 600


@settings(max_examples=60, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(queries=st.lists(st.text(max_size=40) | st.text("ab\"'- x.", max_size=20), min_size=1, max_size=12))
async def test_r13_a_text_is_answered_or_refused_by_name(corpus: Corpus, queries: list[str]) -> None:
    asked = []
    for query in queries:
        if not query.strip() or "\0" in query or any(unicodedata.category(c) == "Cs" for c in query):
            with pytest.raises(InvalidInput, match="query"):
                retrieve_request(query=query)
        else:
            asked.append(query)
    answered = await corpus.ask(asked) if asked else []
    assert [
        fault for query, answer in zip(asked, answered, strict=True) if (fault := wrong(corpus, query, answer))
    ] == []


# without a database


@settings(max_examples=700, derandomize=True, deadline=None, database=None)
@given(text=st.text(max_size=60) | st.text("aé’'s-\u0301ﬁ½ \u200b한ｶﾞ", max_size=30))
def test_r8_a_text_has_the_words_that_the_reference_reads(text: str) -> None:
    assert lexemes(text) == [word.stem or "" for word in reference.words(text)]


@settings(max_examples=700, derandomize=True, deadline=None, database=None)
@given(text=st.text(max_size=40) | st.text("ab the\"“”'-. ", max_size=30))
def test_r8_a_question_asks_what_the_reference_reads(text: str) -> None:
    wanted = [tuple(_with_distances(term)) for term in reference.terms(text)]
    assert [term.lexemes for term in parse(text).terms] == list(dict.fromkeys(wanted))


def _with_distances(term: reference.Term) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    last = 0
    for place, stem in enumerate(term):
        if stem is not None:
            found.append((stem, place - last))
            last = place
    return found
