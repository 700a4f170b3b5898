"""What comes out of a file."""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """The kinds that can be read, by their media type."""

    PLAIN = "text/plain"
    MARKDOWN = "text/markdown"
    HTML = "text/html"
    CSV = "text/csv"
    JSON = "application/json"
    PDF = "application/pdf"
    DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


@dataclass(frozen=True, slots=True)
class Document:
    """A file's text, what it says its title and description are, and what a person should know of the reading."""

    text: str
    title: str | None = None
    description: str | None = None
    notes: tuple[str, ...] = ()


class ExtractionError(Exception):
    """A file that cannot be read. `reason` is one or two sentences: what is wrong, and what to do."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def too_long(limit: int) -> ExtractionError:
    return ExtractionError(f"The file's text has more than {limit:,} characters. Split the file and add its parts.")
