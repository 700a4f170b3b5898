"""CSV: a row is a line, marked as a table row in Markdown."""

import csv
import io

from app.library.formats.document import Document

_DELIMITERS = ",;\t|"
_NOT_CSV = "The file is not valid CSV. It was read as plain text."


def read(text: str) -> Document:
    """A line for each row that has text. Line ends inside a cell become spaces. Broken CSV is plain text."""
    csv.field_size_limit(max(len(text), 1))
    header = text.lstrip().partition("\n")[0]
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=max(_DELIMITERS, key=header.count))
    try:
        return Document("\n".join(f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows if any(row)))
    except csv.Error:
        return Document(text, notes=(_NOT_CSV,))


def _cell(cell: str) -> str:
    return " ".join(cell.split())
