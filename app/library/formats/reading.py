"""A file of a known kind to its document."""

from collections.abc import Callable
from dataclasses import replace

from app.library.formats import markdown
from app.library.formats.cleaning import clean, is_binary
from app.library.formats.decoding import decode
from app.library.formats.document import Document, ExtractionError, Kind, too_long

Reader = Callable[[bytes, str], Document]

_BINARY = "The file is not text, and of no kind that can be read. Save it as PDF, DOCX or plain text and add that."


def read_text(text: str, *, limit: int) -> Document:
    """Plain text of at most `limit` characters. Raises ExtractionError."""
    return _bounded(_clean(text, Document), limit)


def read_markdown(text: str, *, limit: int) -> Document:
    """Markdown whose text has at most `limit` characters. Raises ExtractionError."""
    return _bounded(_clean(text, markdown.read), limit)


def reader(kind: Kind, *, limit: int) -> Reader:
    """What reads a file of this kind: its bytes, and what its declared type says of the charset.

    A kind's library is imported here, on demand: together they would triple the start of the process that reads one.
    """
    read = _reader(kind)

    def bounded(content: bytes, declared: str) -> Document:
        return _bounded(read(content, declared), limit)

    return bounded


def _reader(kind: Kind) -> Reader:
    match kind:
        case Kind.PDF:
            from app.library.formats import pdf

            return lambda content, _: _cleaned(pdf.read(content))
        case Kind.DOCX:
            from app.library.formats import word

            return lambda content, _: _cleaned(word.read(content))
        case Kind.HTML:
            from app.library.formats import html

            return lambda content, declared: _cleaned(html.read(content, declared))
        case _:
            parse = _parser(kind)
            return lambda content, declared: _clean(decode(content, declared), parse)


def _parser(kind: Kind) -> Callable[[str], Document]:
    match kind:
        case Kind.CSV:
            from app.library.formats import csv

            return csv.read
        case Kind.JSON:
            from app.library.formats import json

            return json.read
        case Kind.MARKDOWN:
            return markdown.read
        case _:
            return Document


def _clean(text: str, parse: Callable[[str], Document]) -> Document:
    """Clean first: a line end or a NUL must not hide front matter, a row or a value."""
    if is_binary(text):
        raise ExtractionError(_BINARY)
    text, notes = clean(text)
    document = _cleaned(parse(text))
    return replace(document, notes=notes + document.notes)


def _cleaned(document: Document) -> Document:
    text, notes = clean(document.text)
    return replace(document, text=text, notes=document.notes + notes)


def _bounded(document: Document, limit: int) -> Document:
    if len(document.text) > limit:
        raise too_long(limit)
    return document
