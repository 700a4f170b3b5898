"""DOCX: headings, list items and table rows are marked as in Markdown, in document order."""

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

import docx
from docx.opc.exceptions import PackageNotFoundError
from docx.oxml.ns import qn
from docx.oxml.parser import parse_xml

from app.library.formats.cleaning import one_line
from app.library.formats.document import Document, ExtractionError
from app.library.formats.markdown import LONGEST_DESCRIPTION, LONGEST_TITLE

_DAMAGED = "The DOCX file is damaged, too large or of another kind. Open it, save it as DOCX or in parts, and add that."
_HOSTILE = "The DOCX file holds a document type definition, which no Word document does. It was not read."
_BOMB = "The DOCX file unpacks to far more than a document holds. Save its text as a new file and add that."
_ARCHIVE = "The file is an archive, not a document. Unpack it and add the files inside."
_LOCKED = "The file is protected by a password. Remove the password and add the file again."
_OTHER_OFFICE = {
    "xl/workbook.xml": "The file is an Excel workbook. Save its sheets as CSV and add those.",
    "ppt/presentation.xml": "The file is a PowerPoint presentation. Save it as PDF and add that.",
    "content.xml": "The file is an OpenDocument file. Save it as DOCX or PDF and add that.",
    "META-INF/container.xml": "The file is an EPUB book. Save it as HTML or PDF and add that.",
}
# What zipfile, lxml (SyntaxError) and python-docx say to a broken file.
# What zipfile, lxml (SyntaxError) and python-docx say to a broken file.
_BROKEN: tuple[type[Exception], ...] = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, SyntaxError)
_BROKEN += (PackageNotFoundError, KeyError, ValueError, AttributeError)
# What a document may unpack to: far more than any text, far less than what a bomb asks for.
_MOST_UNPACKED = 200_000_000

_MOST_PARTS = 10_000

_TABLE, _ROW, _CELL, _PARAGRAPH = qn("w:tbl"), qn("w:tr"), qn("w:tc"), qn("w:p")
_TEXT = qn("w:t")
_CHARACTERS = {qn("w:tab"): "\t", qn("w:br"): "\n", qn("w:cr"): "\n", qn("w:noBreakHyphen"): "-"}
# Properties, deleted text, and what stands there a second time for older readers.
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_UNSEEN = {qn("w:pPr"), qn("w:rPr"), qn("w:del"), qn("w:moveFrom"), _FALLBACK}
_FOOT = ("/footnotes", "/endnotes")
_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
_LIST = re.compile(r"list (?:bullet|number)", re.IGNORECASE)


def read(content: bytes) -> Document:
    """The body's text, then its footnotes and endnotes. Headers and footers are left out: they repeat on each page."""
    try:
        _check_archive(content)
        document = docx.Document(io.BytesIO(content))
        styles = {style.style_id: style.name or "" for style in document.styles}
        lines = list(_blocks(document.element.body, styles))
        for relation in document.part.rels.values():
            if relation.reltype.endswith(_FOOT):
                lines += _blocks(parse_xml(relation.target_part.blob), styles)
        title, description = document.core_properties.title, document.core_properties.comments
    except _BROKEN as error:
        raise ExtractionError(_DAMAGED) from error
    text = "\n".join(lines).rstrip("\n")
    return Document(text, one_line(title, LONGEST_TITLE), one_line(description, LONGEST_DESCRIPTION))


def _check_archive(content: bytes) -> None:
    """Refuse what is no Word document, and what would cost much to open."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = archive.infolist()
        names = {part.filename for part in parts}
        if "word/document.xml" not in names:
            raise ExtractionError(next((why for name, why in _OTHER_OFFICE.items() if name in names), _ARCHIVE))
        if any(part.flag_bits & 1 for part in parts):
            raise ExtractionError(_LOCKED)
        if len(parts) > _MOST_PARTS or sum(part.file_size for part in parts) > _MOST_UNPACKED:
            raise ExtractionError(_BOMB)
        for part in parts:
            if part.filename.endswith((".xml", ".rels")):
                with archive.open(part) as file:
                    if b"<!DOCTYPE" in file.read(1024).replace(b"\0", b""):
                        raise ExtractionError(_HOSTILE)


def _blocks(parent: Any, styles: dict[str, str]) -> Iterator[str]:
    """The lines of paragraphs and tables, whatever they are wrapped in. An empty line ends what is no list item."""
    for child in parent:
        if child.tag == _PARAGRAPH:
            yield from _paragraph(child, styles)
        elif child.tag == _TABLE:
            for row in child.iter(_ROW):
                cells = (" ".join("".join(_inline(cell)).split()) for cell in row.iter(_CELL))
                yield f"| {' | '.join(cells)} |"
            yield ""
        elif child.tag not in _UNSEEN:
            yield from _blocks(child, styles)


def _paragraph(paragraph: Any, styles: dict[str, str]) -> Iterator[str]:
    text = "".join(_inline(paragraph)).strip()
    if not text:
        return
    style = styles.get(paragraph.style or "", "")
    if style == "Title":
        yield f"# {text}"
    elif heading := _HEADING.match(style):
        yield f"{'#' * min(int(heading[1]), 6)} {text}"
    elif _LIST.match(style) or (paragraph.pPr is not None and paragraph.pPr.numPr is not None):
        yield f"- {text}"
        return
    else:
        yield text
    yield ""


def _inline(element: Any) -> Iterator[str]:
    """The text inside an element. Paragraphs inside it, of a cell or a text box, are lines of their own."""
    for child in element:
        if child.tag == _TEXT:
            yield child.text or ""
        elif child.tag in _CHARACTERS:
            yield _CHARACTERS[child.tag]
        elif child.tag == _PARAGRAPH:
            yield "\n"
            yield from _inline(child)
            yield "\n"
        elif child.tag not in _UNSEEN:
            yield from _inline(child)
