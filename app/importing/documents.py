"""The documents at a path, one after the other. Nothing that is wrong with one keeps the others from being read."""

import gzip
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple
from uuid import UUID

import orjson

from app.library.service import NewFile

JSONL_ENDINGS = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")
# A character takes up to six bytes in JSON, and a document has more than its text.
LINE_BYTES_A_BYTE, LINE_BYTES_BESIDE = 6, 100_000


@dataclass(frozen=True, slots=True)
class Document:
    """One document to import. `title` and `description` None: taken from the file, else its heading and its name."""

    external_id: str
    file: NewFile
    title: str | None = None
    description: str | None = None
    private: bool = False
    owner: str | None = None


class Outcome(NamedTuple):
    """What became of one document: `added`, `changed`, `unchanged` or `skipped`.

    `reason` is why it was skipped; for others, what should be known of their text.
    """

    external_id: str
    what: str
    source_id: UUID | None = None
    reason: str | None = None


def count_documents(path: Path) -> int:
    """How many documents there are at `path`, those included that will be skipped."""
    return sum(1 for _ in (_lines(path, 1_000_000) if is_jsonl(path) else _files(path)))


def is_jsonl(path: Path) -> bool:
    return path.is_file() and path.name.lower().endswith(JSONL_ENDINGS)


def read_documents(path: Path, longest: int) -> Iterator[Document | Outcome]:
    """The documents at `path`, or why one is none. Files of more than `longest` bytes are skipped unread.

    A folder: its files, those of its folders too, but for names that begin with a dot. A JSONL file, gzip or not: one
    object a line, with `id`, `body` or `text`, and if there are `title`, `description` and `private`. Else one file.
    """
    if is_jsonl(path):
        for number, line in _lines(path, longest * LINE_BYTES_A_BYTE + LINE_BYTES_BESIDE):
            yield Outcome(f"line {number}", "skipped", reason=line) if isinstance(line, str) else _of_line(line, number)
        return
    for file in _files(path):
        external_id = file.relative_to(path).as_posix() if path.is_dir() else file.name
        yield _of_file(file, external_id, longest)


def _of_file(file: Path, external_id: str, longest: int) -> Document | Outcome:
    try:
        size = file.stat().st_size
    except OSError as error:
        return Outcome(external_id, "skipped", reason=cannot_open(error))
    if size > longest:
        return Outcome(external_id, "skipped", reason=f"It is larger than {longest:,} bytes.")
    return Document(external_id, NewFile(file.name, "application/octet-stream", file))


def cannot_open(error: OSError) -> str:
    return f"It cannot be opened: {error.strerror or type(error).__name__}."


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    for file in sorted(path.rglob("*")):
        hidden = any(part.startswith(".") for part in file.relative_to(path).parts)
        if file.is_file() and not hidden:
            yield file


def _lines(path: Path, longest: int) -> Iterator[tuple[int, bytes | str]]:
    """The lines that are not blank, by their numbers from 1; for one that cannot be read, why."""
    number = 0
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
        while True:
            number += 1
            try:
                line = lines.readline(longest + 1)
                too_long = len(line) > longest
                if too_long:
                    _skip_line(lines, line)
            except (OSError, EOFError, zlib.error):
                yield number, "The file is damaged here; what follows cannot be read."
                return
            if not line:
                return
            if too_long:
                yield number, f"It is longer than {longest:,} bytes."
            elif line.strip():
                yield number, line


def _skip_line(lines: IO[bytes] | gzip.GzipFile, line: bytes) -> None:
    while line and not line.endswith(b"\n"):
        line = lines.readline(1_000_000)


def _of_line(line: bytes, number: int) -> Document | Outcome:
    try:
        fields = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return Outcome(f"line {number}", "skipped", reason=f"It is not JSON: {error.msg}.")
    text = fields.get("body", fields.get("text")) if isinstance(fields, Mapping) else None
    if not isinstance(text, str) or not isinstance(fields.get("id"), str | int):
        return Outcome(f"line {number}", "skipped", reason="It is not an object with `id` and a `body` or `text`.")
    external_id = str(fields["id"])
    return Document(
        external_id=external_id,
        file=NewFile(f"{external_id[:200]}.md", "text/markdown", text.encode("utf-8", "replace")),
        title=_text(fields, "title"),
        description=_text(fields, "description"),
        private=fields.get("private") is True,
    )


def _text(fields: Mapping[str, object], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) and value.strip() else None


def summary(outcomes: Counter[str]) -> str:
    """One line: what was added, changed, left as it was, and skipped."""
    return ", ".join(f"{outcomes[what]:,} {what}" for what in ("added", "changed", "unchanged", "skipped"))
