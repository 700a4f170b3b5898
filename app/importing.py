"""Bringing many documents into a Library at once: a folder of files, or a JSONL file of documents.

Each document has an external id: its path below the folder, or its own `id`. By it a second run recognises what is
there already: the same file adds nothing, a changed one becomes a new version. So a run that was cut off is simply run
again.
"""

import asyncio
import gzip
import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import orjson
from sqlalchemy import select

from app.database import WriteSession
from app.errors import AppError
from app.library import sources, versions
from app.library.extraction import ExtractionError, extract
from app.library.service import NewFile
from app.library.versions import FileFacts
from app.models import Source
from app.services import Services
from app.settings import Settings

# Documents under way at once: their files are stored and their rows written while others are being read.
AT_ONCE = 4
JSONL_ENDINGS = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")


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
    """What became of one document: `added`, `changed`, `unchanged` or `skipped`, and why it was skipped."""

    external_id: str
    what: str
    source_id: UUID | None = None
    reason: str | None = None


def count_documents(path: Path) -> int:
    """How many documents there are at `path`, those included that will be skipped."""
    return sum(1 for _ in (_lines(path) if is_jsonl(path) else _files(path)))


def is_jsonl(path: Path) -> bool:
    return path.is_file() and path.name.lower().endswith(JSONL_ENDINGS)


def read_documents(path: Path, longest: int) -> Iterator[Document | Outcome]:
    """The documents at `path`, or why one is none. Files of more than `longest` bytes are skipped unread.

    A folder: its files, those of its folders too, but for names that begin with a dot. A JSONL file, gzip or not: one
    object a line, with `id`, `body` or `text`, and if there are `title`, `description` and `private`. Else one file.
    """
    if is_jsonl(path):
        for number, line in enumerate(_lines(path), 1):
            yield _document_of_line(line, f"line {number}")
        return
    for file in _files(path):
        external_id = file.relative_to(path).as_posix() if path.is_dir() else file.name
        if file.stat().st_size > longest:
            yield Outcome(external_id, "skipped", reason=f"It is larger than {longest:,} bytes.")
        else:
            yield Document(external_id, NewFile(file.name, "application/octet-stream", file.read_bytes()))


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    for file in sorted(path.rglob("*")):
        hidden = any(part.startswith(".") for part in file.relative_to(path).parts)
        if file.is_file() and not hidden:
            yield file


def _lines(path: Path) -> Iterator[bytes]:
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
        yield from (line for line in lines if line.strip())


def _document_of_line(line: bytes, place: str) -> Document | Outcome:
    try:
        fields = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return Outcome(place, "skipped", reason=f"It is not JSON: {error.msg}.")
    text = fields.get("body", fields.get("text")) if isinstance(fields, Mapping) else None
    if not isinstance(text, str) or not isinstance(fields.get("id"), str | int):
        return Outcome(place, "skipped", reason="It is not an object with `id` and a `body` or `text`.")
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


async def import_documents(
    services: Services, workspace_id: UUID, owner: str, documents: Iterator[Document | Outcome]
) -> AsyncIterator[Outcome]:
    """Add or update one source a document, and read its text; an outcome for each, as they are done.

    A document that cannot be taken is skipped with a reason and stops nothing. The files' texts are read at once; one
    whose text cannot be read is added, and its version says why.
    """
    under_way: set[asyncio.Task[Outcome]] = set()
    for document in documents:
        if isinstance(document, Outcome):
            yield document
            continue
        under_way.add(asyncio.create_task(_import(services, workspace_id, owner, document)))
        if len(under_way) >= AT_ONCE:
            done, under_way = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                yield task.result()
    for finished in asyncio.as_completed(under_way):
        yield await finished


async def _import(services: Services, workspace_id: UUID, owner: str, document: Document) -> Outcome:
    try:
        return await _put(services, workspace_id, document.owner or owner, document)
    except AppError as error:
        return Outcome(document.external_id, "skipped", reason=error.message)


async def _put(services: Services, workspace_id: UUID, owner: str, document: Document) -> Outcome:
    title, description = await _named(services.settings, document)
    async with services.database.write() as session:
        known = await _known(session, workspace_id, document.external_id)
        if known is not None and await _is_unchanged(session, known, document, title, description):
            return Outcome(document.external_id, "unchanged", known.id)
    stored = await services.files.put(workspace_id, document.file.content)
    facts = FileFacts(
        versions.check_file_name(document.file.name), document.file.media_type, stored.size, stored.sha256
    )
    async with services.database.write() as session:
        if known is None:
            source_id = await sources.add_source(
                session,
                workspace_id,
                title=title,
                description=description,
                private=document.private,
                owner=owner,
                external_id=document.external_id,
            )
        else:
            source_id = known.id
            await sources.change_source(
                session, workspace_id, source_id, title=title, description=description, private=known.private
            )
        version_id, _ = await versions.add_version(session, workspace_id, source_id, facts)
    await services.worker.run_version(workspace_id, version_id)
    return Outcome(document.external_id, "added" if known is None else "changed", source_id)


async def _known(session: WriteSession, workspace_id: UUID, external_id: str) -> Source | None:
    return await session.scalar(
        select(Source).where(Source.workspace_id == workspace_id, Source.external_id == external_id)
    )


async def _is_unchanged(
    session: WriteSession, known: Source, document: Document, title: str, description: str | None
) -> bool:
    latest = (await versions.latest_versions(session, known.workspace_id, [known.id])).get(known.id)
    same_file = latest is not None and latest.sha256 == hashlib.sha256(document.file.content).hexdigest()
    return same_file and (known.title, known.description) == (title, description)


async def _named(settings: Settings, document: Document) -> tuple[str, str | None]:
    """The document's own title and description; else the file's; else its name without the ending, and none."""
    title, description = document.title, document.description
    if title is None:
        with suppress(ExtractionError):
            found = await extract(document.file.content, file_name=document.file.name, settings=settings)
            title, description = found.title, description or found.description
    name = Path(document.file.name).stem or document.file.name
    return sources.check_title(title or name), sources.check_description(description)


def summary(outcomes: Counter[str]) -> str:
    """One line: what was added, changed, left as it was, and skipped."""
    return ", ".join(f"{outcomes[what]:,} {what}" for what in ("added", "changed", "unchanged", "skipped"))
