"""What files hold, over HTTP: it is kept, found, and shown as it was written (R8, R14, R16)."""

import html
import unicodedata
from hashlib import sha256
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select

from app.library.extraction import extract
from app.models import Passage
from app.settings import Settings
from tests.retrieval.asking import Case, added, answers
from tests.world import World


async def add(world: World, text: str, title: str = "Untitled", media_type: str = "text/plain") -> dict[str, Any]:
    """The payload of addSource, whatever became of the version."""
    return await world.manager.change(
        "addSource",
        "source { id } version { id status statusReason passageCount }",
        title=title,
        file={"name": "file", "mediaType": media_type, "text": text},
    )


async def test_r16_very_many_long_words_are_indexed_and_each_is_found(world: World) -> None:
    words = [sha256(str(n).encode()).hexdigest()[:32] for n in range(25_000)]
    payload = await add(world, " ".join(words))
    assert payload["version"]["status"] == "INDEXED"
    assert payload["version"]["passageCount"] > 200
    wanted = [words[0], words[12_345], words[-1]]
    found = await answers(world.reader, [(word, None) for word in wanted])
    assert [len(answer["hits"]) for answer in found] == [1, 1, 1]
    assert all(word in answer["hits"][0]["text"] for word, answer in zip(wanted, found, strict=True))


async def test_r16_nul_is_dropped_and_said_so(world: World) -> None:
    payload = await add(world, "Hello wor\x00ld\x00!")
    assert (payload["version"]["status"], payload["version"]["statusReason"]) == (
        "INDEXED",
        "NUL characters were dropped: 2.",
    )
    (hit,) = (await world.reader.retrieve("world"))["hits"]
    assert hit["text"] == "Hello world!"


@pytest.mark.parametrize("media_type", ["text/plain", "text/markdown"])
async def test_r14_entities_and_markup_are_shown_as_typed(world: World, media_type: str) -> None:
    text = "See &lt;img src=x onerror=alert(1)&gt; and <img src=x onerror=alert(2)> & \"quotes\" 'n' quay"
    await add(world, text, media_type=media_type)
    (hit,) = (await world.reader.retrieve("quay"))["hits"]
    assert hit["text"] == text
    assert hit["snippetSafe"] == html.escape(text)
    assert hit["snippetSafe"].startswith("See &amp;lt;img src=x onerror=alert(1)&amp;gt; and &lt;img")
    assert hit["snippet"]["text"] == text


async def test_r14_markup_in_a_title_is_words_and_is_found(world: World) -> None:
    title = "<script>alert(1)</script> plan"
    await added(world, [Case("", "Nothing of the kind.", title=title)])
    for query in ("plan", "alert", "script alert", title, "alert(1)"):
        assert await world.reader.titles(query) == [title]


@pytest.mark.parametrize(
    ("text", "query", "words"),
    [
        ("it's … á onetwo99three", "onetwo99three", ["onetwo99three"]),
        ("👩‍👩‍👧‍👦 and 🇩🇪 then quay", "quay", ["quay"]),
        ("cafe\u0301 and café", "cafe", ["cafe\u0301", "café"]),
        ("foo\u200bbar foobar", "foobar", ["foo\u200bbar", "foobar"]),
        ("\u200bﬁle file", "file", ["ﬁle", "file"]),
        ("½ and 1/2", "1/2", ["½", "1", "2"]),
        ("a P-8A, a p 8a", "p-8a", ["P", "8A", "p", "8a"]),
        ("the plan of action, action plan", '"plan of action"', ["plan", "action"]),
        ("harbors harbour harbor’s harbor-side", "harbor", ["harbors", "harbor", "harbor"]),
        ("ａｂｃ ABC", "abc", ["ａｂｃ", "ABC"]),
        ("İstanbul ISTANBUL", "istanbul", ["İstanbul", "ISTANBUL"]),
        ("𝐛𝐨𝐥𝐝 \U0001f680 bold", "bold", ["𝐛𝐨𝐥𝐝", "bold"]),
    ],
)
async def test_r14_offsets_are_code_points_of_the_text(world: World, text: str, query: str, words: list[str]) -> None:
    await add(world, text)
    (hit,) = (await world.reader.retrieve(query))["hits"]
    assert hit["text"] == text
    assert [text[mark["start"] : mark["end"]] for mark in hit["highlights"]] == words
    shown = hit["snippet"]
    assert [shown["text"][mark["start"] : mark["end"]] for mark in shown["highlights"]] == words


TEXTS = {
    "sections": "\n\n".join(f"# Part {n}\n\n" + f"Sentence {n} of the part. " * (n * 7 % 60) for n in range(40)),
    "one paragraph": "word " * 3_000,
    "no white space": "x" * 9_000,
    "Chinese": "東京案内。" * 1_500,
    "accents": "e\u0301" * 4_000,
    "emoji": "👩‍👩‍👧‍👦" * 800,
    "odd white space": " \n\t quay\u00a0\u3000\u2028\r\n\x0b crane \x85 " * 300,
    "a table": "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 900,
    "short": "quay",
}


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in TEXTS.items()])
async def test_r16_passages_are_the_text_in_order_and_lose_only_white_space(
    world: World, settings: Settings, text: str
) -> None:
    extracted = await extract(text.encode(), media_type="text/plain", file_name="file", settings=settings)
    payload = await add(world, text)
    async with world.services.database.read() as session:
        passages = list(
            await session.scalars(
                select(Passage)
                .where(Passage.workspace_id == world.workspace_id, Passage.version_id == UUID(payload["version"]["id"]))
                .order_by(Passage.ordinal)
            )
        )
    assert [passage.ordinal for passage in passages] == list(range(payload["version"]["passageCount"]))
    assert [passage.text for passage in passages] == [extracted.text[p.start_offset : p.end_offset] for p in passages]
    assert [passage.text_hash for passage in passages] == [sha256(p.text.encode()).hexdigest() for p in passages]
    kept = [offset for p in passages for offset in range(p.start_offset, p.end_offset)]
    assert kept == sorted(set(kept))
    lost = set(range(len(extracted.text))) - set(kept)
    assert all(extracted.text[offset].isspace() for offset in lost)
    assert unicodedata.normalize("NFC", "".join(extracted.text.split())) == unicodedata.normalize(
        "NFC", "".join(text.split())
    )
