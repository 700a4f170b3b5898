"""SPEC R16: bytes to text. Real files of many kinds, and files made to do harm."""

import asyncio
import io
import json
import os
import resource
import signal
import sys
import time
import zipfile
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any

import docx
import pytest

from app.library.extraction import Extracted, ExtractionError, extract
from app.settings import Settings

REAL_FILES = Path(__file__).parents[3] / "shared" / "data" / "files"
MANIFEST = REAL_FILES / "manifest.json"
ENTRIES: list[dict[str, Any]] = json.loads(MANIFEST.read_text()) if MANIFEST.exists() else []

BOUNDED = Settings(extraction_seconds=2, extraction_memory_bytes=400_000_000, max_text_characters=1_000)
DAMAGED_DOCX = (
    "The DOCX file is damaged, too large or of another kind. Open it, save it as DOCX or in parts, and add that."
)
DAMAGED_PDF = "The PDF is damaged and cannot be read. Open it, save it again and add the new file."
UNKNOWN_ENCODING = "The file's character encoding cannot be told. Save it as UTF-8 and add it again."
TOO_SLOW = "Reading the file took more than 2 seconds. Split it and add its parts."


async def read(content: bytes | str, name: str = "", media_type: str | None = None) -> Extracted:
    content = content.encode() if isinstance(content, str) else content
    return await extract(content, media_type=media_type, file_name=name, settings=BOUNDED)


async def refusal(content: bytes | str, name: str = "") -> str:
    with pytest.raises(ExtractionError) as caught:
        await read(content, name)
    return caught.value.reason


# Real files


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: str(entry["name"]))
@pytest.mark.skipif(not ENTRIES, reason="the real files are not beside the repository")
async def test_a_real_file(entry: dict[str, Any]) -> None:
    name = entry["name"]
    if name == "report.txt":
        with pytest.raises(ExtractionError, match=r"^The file is a program, not a document\.$"):
            await extract(REAL_FILES / name, media_type="text/plain", file_name=name, settings=Settings())
        return
    extracted = await extract(REAL_FILES / name, media_type=None, file_name=name, settings=Settings())
    assert bool(extracted.text.strip()) is bool(entry["extractable"])
    assert (entry["phrase"] or "") in " ".join(extracted.text.split())
    assert not set(map(chr, [*range(9), *range(11, 32), *range(127, 160), 0xFEFF])) & {*extracted.text}


REAL_TITLES = {
    "feature-management.md": "Enabling upcoming features ahead of time",
    "analytics-crlf-bom.md": "Configure your tool’s settings carefully",
    "guide.html": "Configure your tool’s settings carefully",
    "siege-of-vicksburg-ocr.pdf": "Binder1.pdf",
    "digital-analytics.txt": None,
}


@pytest.mark.parametrize("name", REAL_TITLES)
@pytest.mark.skipif(not ENTRIES, reason="the real files are not beside the repository")
async def test_the_title_of_a_real_file(name: str) -> None:
    extracted = await extract(REAL_FILES / name, file_name=name, settings=Settings())
    assert extracted.title == REAL_TITLES[name]


@pytest.mark.skipif(not ENTRIES, reason="the real files are not beside the repository")
async def test_what_a_page_does_not_show_is_not_its_text() -> None:
    text = (await extract(REAL_FILES / "guide.html", settings=Settings())).text
    assert [word for word in ("zebrascript", "zebrastyle", "zebracomment") if word in text] == []
    assert "Tom & Jerry’s café <b>" in text


@pytest.mark.skipif(not ENTRIES, reason="the real files are not beside the repository")
async def test_a_hyphenated_word_of_a_pdf_is_whole() -> None:
    assert (
        "shells are visitors we" in (await extract(REAL_FILES / "siege-of-vicksburg-ocr.pdf", settings=Settings())).text
    )


# Markdown and plain text


async def test_front_matter_is_metadata_and_the_body_stays_whole() -> None:
    text = "---\ntitle: 'Harbour: rules'\nsummary: |\n  Rig\n  ging\ntags: []\nw: 3\n---\n# Other\n\n---\nBody\n---\n"
    assert await read(text, "a.md") == Extracted(
        "# Other\n\n---\nBody\n---\n",
        "text/markdown",
        "Harbour: rules",
        "Rig ging",
        ("The front matter was read as metadata, not as text. Not used: tags, w.",),
    )


@pytest.mark.parametrize(
    "front",
    ["a: &a [x]\nb: *a", "a: [", "a: !!python/object:os.system x", "[" * 900, "d: 2026-99-99"],
    ids=["alias", "broken", "tag", "deep", "date"],
)
async def test_front_matter_that_is_not_plain_yaml_is_text(front: str) -> None:
    text = f"---\n{front}\n---\n# Title\n"
    note = "The front matter is not plain YAML. It was kept as text."
    assert await read(text, "a.md") == Extracted(text, "text/markdown", "Title", None, (note,))


@pytest.mark.parametrize(
    "text", ["---\njust a line\n---\nBody", "---\ntitle: never closed\n", f"---\na: {'x' * 900}\n"]
)
async def test_lines_that_are_no_front_matter_are_text(text: str) -> None:
    assert await read(text, "a.md") == Extracted(text, "text/markdown", None, None, ())


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("intro\n\n## *The* [rules](x.md) ##\n\n# Later", "The rules"),
        ("Title\n=====\n", "Title"),
        ("```\n# a comment\n```\n# Title", "Title"),
        ("# C#", "C#"),
        ("# #", None),
        ("#" + " " * 900 + "x", "x"),
        ("#hashtag\n\ntext", None),
        (f"# {'x' * 501}", None),
        ("", None),
    ],
)
async def test_the_first_heading_is_a_title(text: str, title: str | None) -> None:
    assert (await read(text, "a.md")).title == title
    assert (await read(text, "a.txt")).title is None


async def test_control_characters() -> None:
    text = "\ufeffa\r\nb\rc\x0cd\x0be\x85f\u2028g\th\x08i\x1bj\x7fk\x9fl\0m"
    assert await read(text) == Extracted(
        "a\nb\nc\nd\ne\nf\ng\th i j k lm",
        "text/plain",
        None,
        None,
        ("NUL characters were dropped: 1.", "Control characters were replaced by spaces: 4."),
    )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be", "utf-32-le"])
async def test_unicode_in_all_its_encodings(encoding: str) -> None:
    assert (await read("Harbour 港 \U0001f6a2".encode(encoding))).text == "Harbour 港 \U0001f6a2"


LEGACY = {
    "cp1252": "Où est passée l'écriture théâtrale de Molière ? Ça, c'est « une question » à 5 €.",
    "cp1250": "Kontrola olinowania odbywa się co roku. Wszystkie statki muszą zostać sprawdzone, również żaglówki.",
    "cp1251": "Проверка такелажа в порту проводится каждый год. Все суда должны быть осмотрены.",
    "koi8_r": "Проверка такелажа в порту проводится каждый год. Все суда должны быть осмотрены.",
    "cp1254": "Liman teçhizatının denetimi her yıl yapılır. Bütün gemiler önce denetlenmelidir, ığdır şehri.",
    "cp932": "港の索具の検査は毎年行われます。すべての船は出航前に検査を受けなければなりません。",
    "big5": "港口的索具檢查每年進行一次。所有船隻在啟航前都必須接受檢查。維基大典",
}


@pytest.mark.parametrize("encoding", LEGACY)
async def test_legacy_encodings(encoding: str) -> None:
    assert (await read(LEGACY[encoding].encode(encoding))).text == LEGACY[encoding]


async def test_a_declared_charset_is_believed() -> None:
    japanese = "港の索具"
    assert (await read(japanese.encode("euc_jp"), media_type="text/plain; charset=EUC-JP")).text == japanese


@pytest.mark.parametrize("content", ["港の".encode("euc_jp"), b"\xff\xfe\x00", bytes(range(128, 256)) * 4])
async def test_an_encoding_that_cannot_be_told_is_refused(content: bytes) -> None:
    assert await refusal(content, "a.txt") == UNKNOWN_ENCODING


async def test_an_empty_file_has_no_text() -> None:
    assert await read(b"", "a.pdf", "application/pdf") == Extracted("", "text/plain", None, None, ())


# Kinds


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"MZ\x90\0\x03", "The file is a program, not a document."),
        (b"\x7fELF\x02\x01", "The file is a program, not a document."),
        (b"\x89PNG\r\n\x1a\n", "The file is an image, not a document."),
        (b"\xff\xd8\xff\xe0", "The file is an image, not a document."),
        (b"\0\0\0\x20ftypmp42", "The file is sound or video, not a document."),
        (b"SQLite format 3\0", "The file is a database, not a document."),
        (b"\x1f\x8b\x08", "The file is an archive. Unpack it and add the files inside."),
        (b"{\\rtf1 harbor}", "The file is Rich Text (RTF). Save it as DOCX or plain text and add it again."),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
            "The file is an old or a protected Office file. Save it as DOCX without a password and add it again.",
        ),
        (
            b"\x01\x02\x03\x04harbor",
            "The file is not text, and of no kind that can be read. Save it as PDF, DOCX or plain text and add that.",
        ),
    ],
)
async def test_what_is_no_document_is_refused_whatever_its_name(content: bytes, reason: str) -> None:
    assert await refusal(content, "harbor.md") == reason


@pytest.mark.parametrize(
    ("content", "name", "media_type", "kind"),
    [
        ("MZ is no program here", "a.txt", None, "text/plain"),
        ("a,b", "a.csv", None, "text/csv"),
        ("a,b", "a.csv", "text/plain", "text/csv"),
        ("a,b", "a.txt", "text/csv; charset=utf-8", "text/csv"),
        ("# a", "A.MD", None, "text/markdown"),
        ("# a", "a.pdf", "application/pdf", "text/plain"),
        ("<!-- x -->\n<!DOCTYPE HTML><p>a", "a.txt", "text/plain", "text/html"),
        ("<p>a", "a.md", None, "text/markdown"),
        ("<p>a", "a.htm", None, "text/html"),
        ("The mark %PDF-1.4 begins one", "a.txt", None, "text/plain"),
    ],
)
async def test_content_decides_then_the_declared_type_then_the_name(
    content: str, name: str, media_type: str | None, kind: str
) -> None:
    assert (await read(content, name, media_type)).media_type == kind


async def test_html() -> None:
    page = """<html><head><title> Harbour &amp;\n rules </title><meta name=Description content="What&nbsp;holds"></head>
    <body><h2>Rig<b>ging</b></h2><p>One\n line<br>Two<script>x</script><style>y</style>
    <!-- z --><template>t</template><noscript>n</noscript>
    <ul><li>First<ul><li>Inner</ul><li>Second</ul><table><tr><th>A<td>B<tr><td>C<td>D</table><pre>a\n  b</pre>end"""
    assert await read(page) == Extracted(
        "## Rigging\n\nOne line\nTwo\n\n- First\n\n- Inner\n\n- Second\n\n| A | B |\n| C | D |\n\na\n  b\n\nend",
        "text/html",
        "Harbour & rules",
        "What holds",
        (),
    )


async def test_html_paragraphs_in_items_and_cells() -> None:
    page = "<!doctype html><ul><li><p>Rope</p><p>Knot</p></li></ul><table><tr><td><p>A</p><td><p>B</p></table>"
    assert (await read(page)).text == "- Rope\n\nKnot\n\n| A\n\nB"


async def test_comments_without_a_page_are_text() -> None:
    assert (await read("<!---->" * 120 + "text")).media_type == "text/plain"


async def test_html_in_the_charset_of_its_meta_element() -> None:
    page = '<!doctype html><meta charset="shift_jis"><p>港の索具'
    assert (await read(page.encode("shift_jis"))).text.strip() == "港の索具"


async def test_csv() -> None:
    text = 'name;note\n"Quay; north";"two\nlines"\n;\n"say ""hi""";x\n'
    assert (await read(text, "a.csv")).text == '| name | note |\n| Quay; north | two lines |\n| say "hi" | x |'


async def test_json() -> None:
    text = '{"a": "x", "a": [1.50, true, null, {"b": {}}, "\\ud800"], "c": {"d": 12345678901234567890}}'
    extracted = await read(text, "a.json")
    assert extracted.text == "a: x\na:\n- 1.50\n- true\n- null\n\nb:\n- \ufffd\nc:\nd: 12345678901234567890"
    assert extracted.notes == ("Halves of surrogate pairs were replaced by U+FFFD: 1.",)


def word_document() -> bytes:
    document = docx.Document()
    document.core_properties.title = "Harbour"
    document.core_properties.comments = "What holds"
    document.add_heading("Rules", 0)
    document.add_heading("Rigging", 2)
    document.add_paragraph("Checked\tdaily.")
    document.add_paragraph("Rope", style="List Bullet")
    table = document.add_table(2, 2)
    table.cell(0, 0).merge(table.cell(0, 1)).text = "Wide"
    table.cell(1, 0).text = "Left"
    table.cell(1, 1).add_paragraph("Right")
    document.add_paragraph("End")
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


async def test_docx() -> None:
    extracted = await read(word_document(), "a.bin")
    assert extracted == Extracted(
        "# Rules\n\n## Rigging\n\nChecked\tdaily.\n\n- Rope\n| Wide |\n| Left | Right |\n\nEnd",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "Harbour",
        "What holds",
        (),
    )


def with_parts(content: bytes, parts: dict[str, bytes]) -> bytes:
    """A DOCX file with some of its parts replaced."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as source,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as target,
    ):
        for name in source.namelist():
            target.writestr(name, parts.get(name, source.read(name)))
    return buffer.getvalue()


def body(inner: str, before: str = "") -> bytes:
    namespace = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    return (
        f'<?xml version="1.0"?>{before}<w:document xmlns:w="{namespace}"><w:body>{inner}</w:body></w:document>'.encode()
    )


async def test_docx_text_wherever_it_stands() -> None:
    inner = (
        "<w:sdt><w:sdtContent><w:p><w:r><w:t>Control</w:t></w:r></w:p></w:sdtContent></w:sdt>"
        "<w:p><w:ins><w:r><w:t>New</w:t></w:r></w:ins><w:del><w:r><w:delText>Old</w:delText></w:r></w:del>"
        "<w:hyperlink><w:r><w:t> link</w:t></w:r></w:hyperlink></w:p>"
    )
    document = with_parts(word_document(), {"word/document.xml": body(inner)})
    assert (await read(document)).text == "Control\n\nNew link"


# Harmful files


def bomb(megabytes: int) -> bytes:
    return with_parts(word_document(), {"word/document.xml": body("<w:p/>" * (megabytes * 1_000_000 // 6))})


LAUGHS = "<!DOCTYPE d [<!ENTITY a 'ha'>" + "".join(
    f"<!ENTITY {b} '{f'&{a};' * 10}'>" for a, b in zip("abcdefghi", "bcdefghij", strict=True)
)


async def test_a_docx_that_unpacks_to_more_than_a_document() -> None:
    reason = "The DOCX file unpacks to far more than a document holds. Save its text as a new file and add that."
    assert await refusal(bomb(201)) == reason


async def test_a_docx_that_needs_more_memory_than_allowed() -> None:
    assert await refusal(bomb(100)) == DAMAGED_DOCX


@pytest.mark.parametrize("padding", [0, 5_000])
async def test_a_docx_with_entities(padding: int) -> None:
    attack = body("<w:p><w:r><w:t>&j;</w:t></w:r></w:p>", f"<!--{'x' * padding}-->{LAUGHS}]>")
    assert await refusal(with_parts(word_document(), {"word/document.xml": attack})) == (
        DAMAGED_DOCX
        if padding
        else "The DOCX file holds a document type definition, which no Word document does. It was not read."
    )


async def test_a_docx_does_not_read_the_servers_files(tmp_path: Path) -> None:
    (secret := tmp_path / "secret").write_text("hunter2")
    attack = body(
        "<w:p><w:r><w:t>a&x;b</w:t></w:r></w:p>", f"<!--{'x' * 5_000}--><!DOCTYPE d [<!ENTITY x SYSTEM '{secret}'>]>"
    )
    extracted = await read(with_parts(word_document(), {"word/document.xml": attack}))
    assert extracted.text == "a"


@pytest.mark.parametrize("part", [0.2, 0.5, 0.99])
async def test_a_docx_cut_off(part: float) -> None:
    document = word_document()
    assert await refusal(document[: int(len(document) * part)]) == DAMAGED_DOCX


@pytest.mark.parametrize(
    ("inside", "reason"),
    [
        ("xl/workbook.xml", "The file is an Excel workbook. Save its sheets as CSV and add those."),
        ("readme.txt", "The file is an archive, not a document. Unpack it and add the files inside."),
    ],
)
async def test_an_archive_that_is_no_word_document(inside: str, reason: str) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(inside, "x")
    assert await refusal(buffer.getvalue(), "a.docx") == reason


def pdf(objects: list[str], trailer: str = "") -> bytes:
    numbered = "".join(f"{number} 0 obj\n{content}\nendobj\n" for number, content in enumerate(objects, 1))
    return f"%PDF-1.4\n{numbered}trailer\n<</Root 1 0 R {trailer}>>\n%%EOF".encode()


CATALOG = "<</Type/Catalog/Pages 2 0 R>>"


async def test_a_pdf_with_a_password() -> None:
    zeros = "0" * 64
    lock = f"/Encrypt <</Filter/Standard/V 1/R 2/O<{zeros}>/U<{zeros}>/P -4>> /ID[<00><00>]"
    locked = pdf([CATALOG, "<</Type/Pages/Kids[]/Count 0>>"], lock)
    assert await refusal(locked) == "The PDF is protected by a password. Remove the password and add the file again."


@pytest.mark.parametrize(
    "pages",
    [
        "<</Type/Pages/Kids[2 0 R]/Count 1000000000>>",
        "<</Type/Pages/Kids[3 0 R 3 0 R]/Count 100000>>",
        "<</Type/Pages>>",
    ],
)
async def test_a_pdf_whose_pages_never_end(pages: str) -> None:
    endless = pdf([CATALOG, pages, "<</Type/Pages/Kids[2 0 R]/Count 100000/Parent 2 0 R>>"])
    assert await refusal(endless) == DAMAGED_PDF


async def test_a_pdf_that_is_only_a_beginning() -> None:
    assert await refusal(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<</Type") == DAMAGED_PDF


async def test_json_that_needs_more_memory_than_allowed() -> None:
    limited = Settings(extraction_memory_bytes=150_000_000)
    with pytest.raises(ExtractionError) as caught:
        await extract(b"[" + b"[]," * 3_000_000 + b"[]]", media_type=None, file_name="a.json", settings=limited)
    assert caught.value.reason == (
        "The file cannot be read: it is damaged, or reading it takes more than 150 MB of memory. "
        "Save it again, or split it, and add the new file."
    )
    assert caught.value.__notes__ == ["more than 150000000 bytes"]


async def test_json_nested_too_deeply() -> None:
    reason = "The JSON is nested too deeply to be read. Flatten it, or add its text as plain text."
    assert await refusal("[" * 1_000_000, "a.json") == reason
    assert await refusal("[" * 1_000_000 + "]" * 1_000_000, "a.json") == reason


async def test_html_nested_too_deeply_ends_in_time() -> None:
    began = time.monotonic()
    assert await refusal("<!doctype html>" + "<div>" * 1_000_000) == TOO_SLOW
    assert time.monotonic() - began < 4


async def test_html_nested_deeply() -> None:
    assert (await read("<!doctype html>" + "<div>" * 5_000 + "harbor")).text.strip() == "harbor"


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.csv", "a.html"])
async def test_a_text_of_the_length_allowed_and_one_character_more(name: str) -> None:
    around = 4 if name == "a.csv" else 0
    assert len((await read("é" * (1_000 - around), name)).text) == 1_000
    reason = "The file's text has more than 1,000 characters. Split the file and add its parts."
    assert await refusal("é" * (1_001 - around), name) == reason


# The process


def workers() -> list[Path]:
    """The reading processes that this process has started, as folders of /proc."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid() and b"app.library.formats.worker" in (folder / "cmdline").read_bytes():
                found.append(folder)
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
async def test_a_reader_no_longer_wanted_is_gone_and_never_knew_our_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://ada:secret@db/gctl")
    reading = asyncio.create_task(read("<!doctype html>" + "<div>" * 1_000_000))
    while not (running := workers()):  # noqa: ASYNC110 - nothing tells when it has started
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.3)
    names = {entry.partition(b"=")[0] for entry in (running[0] / "environ").read_bytes().split(b"\0")}
    assert names <= {b"PYTHONPATH", b"LC_CTYPE", b""}
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert workers() == []


async def test_a_large_text_is_read_whole() -> None:
    text = "é" * 3_000_000
    assert (await extract(text.encode(), media_type=None, file_name="", settings=Settings())).text == text


async def test_a_reader_whose_parent_is_gone_ends_by_itself() -> None:
    arguments = ["-m", "app.library.formats.worker", "text/html", "", "1000", "1", "400000000"]
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, stdin=PIPE, stdout=PIPE, cwd=Path(__file__).parents[2]
    )
    output, _ = await process.communicate(b"<div>" * 1_000_000)
    assert output == b""
    assert process.returncode == -signal.SIGXCPU


async def test_text_starts_no_process() -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    texts = await asyncio.gather(*(read(f"# Source {number}", f"{number}.md") for number in range(1_000)))
    assert [text.title for text in texts] == [f"Source {number}" for number in range(1_000)]
    assert resource.getrusage(resource.RUSAGE_CHILDREN) == before
