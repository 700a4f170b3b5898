"""Adding many documents: by batches, each of them whole or not at all."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from app.database import WriteSession
from app.errors import AppError
from app.importing.documents import Document, Outcome, cannot_open
from app.knowledge_bases.adding import ReadSource, add_read_sources
from app.knowledge_bases.preparing import Preparer, notes_on
from app.library import sources, versions
from app.library.extraction import Extracted, ExtractionError, extract
from app.library.service import NewFile
from app.library.unused import keep_files
from app.library.versions import FileFacts, Version
from app.models import Source, new_id
from app.services import Services

# A batch is one transaction. While one is being written, the next is being read.
BATCH_DOCUMENTS = 50
BATCH_BYTES = 2_000_000
BATCHES_AT_ONCE = 2
# Of one batch: their files are read, stored and prepared at the same time.
DOCUMENTS_AT_ONCE = 4
# The versions of changed documents are read here, at once; should we die, the workers take them after this time.
READ_WITHIN = timedelta(seconds=60)


class _Known(NamedTuple):
    source: Source
    latest: Version | None


async def import_documents(
    services: Services, workspace_id: UUID, owner: str, documents: Iterator[Document | Outcome]
) -> AsyncIterator[Outcome]:
    """Add or update one source a document; an outcome for each, as they are done.

    A document that cannot be taken, or whose text cannot be read, is skipped with a reason and stops nothing. If a
    known one cannot be read any more, its new version says why, the one before goes on serving, and the outcome has
    the reason too.
    """
    run = _Import(services, workspace_id, owner)
    under_way: set[asyncio.Task[list[Outcome]]] = set()
    try:
        for batch in _batches(documents):
            under_way.add(asyncio.create_task(run.put(batch)))
            if len(under_way) >= BATCHES_AT_ONCE:
                done, under_way = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    for outcome in task.result():
                        yield outcome
        for finished in asyncio.as_completed(under_way):
            for outcome in await finished:
                yield outcome
    finally:
        for task in under_way:
            task.cancel()
        run.close()


def _batches(documents: Iterator[Document | Outcome]) -> Iterator[list[Document | Outcome]]:
    """The documents in their order. The second of one external id is an Outcome."""
    batch: list[Document | Outcome] = []
    seen: set[str] = set()
    size = 0
    for document in documents:
        if isinstance(document, Outcome):
            batch.append(document)
        elif document.external_id in seen:
            batch.append(Outcome(document.external_id, "skipped", reason="An earlier document has the same id."))
        else:
            seen.add(document.external_id)
            size += _size(document)
            batch.append(document)
        if len(batch) >= BATCH_DOCUMENTS or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    yield batch


def _size(document: Document) -> int:
    content = document.file.content
    return len(content) if isinstance(content, bytes) else BATCH_BYTES


class _Import:
    """One run."""

    def __init__(self, services: Services, workspace_id: UUID, owner: str) -> None:
        self._services = services
        self._workspace_id = workspace_id
        self._owner = owner
        self._preparer = Preparer()
        self._gate = asyncio.Semaphore(DOCUMENTS_AT_ONCE)

    def close(self) -> None:
        self._preparer.close()

    async def put(self, batch: Sequence[Document | Outcome]) -> list[Outcome]:
        """What became of a batch."""
        outcomes = [document for document in batch if isinstance(document, Outcome)]
        documents = [document for document in batch if isinstance(document, Document)]
        known = await self._known([document.external_id for document in documents])
        new = [document for document in documents if document.external_id not in known]
        read = await asyncio.gather(*(self._read(document) for document in new))
        outcomes += [found for found in read if isinstance(found, Outcome)]
        by_id = {document.external_id: document for document in documents}
        outcomes += await self._add([found for found in read if isinstance(found, ReadSource)], by_id)
        return outcomes + await asyncio.gather(*(self._update(known[id_], by_id[id_]) for id_ in known))

    async def _known(self, external_ids: Sequence[str]) -> dict[str, _Known]:
        async with self._services.database.read() as session:
            statement = select(Source).where(
                Source.workspace_id == self._workspace_id, Source.external_id.in_(external_ids)
            )
            found = (await session.scalars(statement)).all()
            latest = await versions.latest_versions(session, self._workspace_id, [source.id for source in found])
        return {source.external_id or "": _Known(source, latest.get(source.id)) for source in found}

    async def _read(self, document: Document) -> ReadSource | Outcome:
        """A new document, read and prepared, its file stored; or why it is skipped."""
        async with self._gate:
            try:
                content = await _content(document.file)
                file = replace(document.file, content=content)
                extracted = await extract(content, file_name=file.name, settings=self._services.settings)
                title, description = _named(document, extracted)
                stored = await self._services.files.put(self._workspace_id, content)
                facts = FileFacts(versions.check_file_name(file.name), file.media_type, stored.size, stored.sha256)
            except AppError as error:
                return Outcome(document.external_id, "skipped", reason=error.message)
            except ExtractionError as error:
                return Outcome(document.external_id, "skipped", reason=error.reason)
            except OSError as error:
                return Outcome(document.external_id, "skipped", reason=cannot_open(error))
            source_id, version_id = new_id(), new_id()
            passages = await self._preparer.prepare(source_id, version_id, extracted.text)
            return ReadSource(
                source_id=source_id,
                version_id=version_id,
                title=title,
                description=description,
                private=document.private,
                owner=document.owner or self._owner,
                external_id=document.external_id,
                file=facts,
                notes=notes_on(extracted, passages),
                passages=passages,
            )

    async def _add(self, read: Sequence[ReadSource], document_by_id: Mapping[str, Document]) -> list[Outcome]:
        """The new sources, in one transaction. If another run was faster with one of them, each by itself."""
        if not read:
            return []
        try:
            async with self._services.database.write(patient=True) as session:
                await keep_files(session, self._workspace_id)
                await self._store_again(read, document_by_id)
                await add_read_sources(session, self._workspace_id, read)
        except IntegrityError:
            known = await self._known([source.external_id or "" for source in read])
            if not known:
                raise
            rest = await self._add([s for s in read if s.external_id not in known], document_by_id)
            return rest + [await self._update(known[id_], document_by_id[id_]) for id_ in known]
        return [Outcome(source.external_id or "", "added", source.source_id, source.notes) for source in read]

    async def _store_again(self, read: Sequence[ReadSource], document_by_id: Mapping[str, Document]) -> None:
        """From now on no file is deleted. What was deleted with another source since it was stored comes back."""
        files = self._services.files
        for source in read:
            if not await files.exists(self._workspace_id, source.file.sha256):
                content = await _content(document_by_id[source.external_id or ""].file)
                await files.put(self._workspace_id, content)

    async def _update(self, known: _Known, document: Document) -> Outcome:
        """A document that is known by its id: nothing, other words about it, or a new version."""
        async with self._gate:
            try:
                return await self._change(known, document)
            except AppError as error:
                return Outcome(document.external_id, "skipped", known.source.id, error.message)
            except OSError as error:
                return Outcome(document.external_id, "skipped", known.source.id, cannot_open(error))

    async def _change(self, known: _Known, document: Document) -> Outcome:
        source, latest = known
        content = await _content(document.file)
        digest = (await asyncio.to_thread(hashlib.sha256, content)).hexdigest()
        same_file = latest is not None and latest.sha256 == digest and latest.kept
        title, description = await self._named_again(document, content)
        same_words = (source.title, source.description) == (title, description)
        if same_file and same_words and latest is not None and latest.status != "PENDING":
            return Outcome(document.external_id, "unchanged", source.id)

        async def write(session: WriteSession, facts: FileFacts) -> UUID:
            await sources.change_source(
                session, self._workspace_id, source.id, title=title, description=description, private=source.private
            )
            version_id, _ = await versions.add_version(
                session, self._workspace_id, source.id, facts, read_within=READ_WITHIN
            )
            return version_id

        file = replace(document.file, content=content)
        version_id = await self._services.library.storing(self._workspace_id, file, write)
        await self._services.worker.run_version(self._workspace_id, version_id)
        async with self._services.database.read() as session:
            version = (await versions.find_versions(session, self._workspace_id, [version_id])).get(version_id)
        what = "unchanged" if same_file and same_words else "changed"
        return Outcome(document.external_id, what, source.id, None if version is None else version.status_reason)

    async def _named_again(self, document: Document, content: bytes) -> tuple[str, str | None]:
        if document.title is not None:
            return _named(document, None)
        try:
            return _named(
                document, await extract(content, file_name=document.file.name, settings=self._services.settings)
            )
        except ExtractionError:
            return _named(document, None)


async def _content(file: NewFile) -> bytes:
    content = file.content
    if isinstance(content, Path):
        return await asyncio.to_thread(content.read_bytes)
    assert isinstance(content, bytes)
    return content


def _named(document: Document, extracted: Extracted | None) -> tuple[str, str | None]:
    """The document's own title and description; else the file's; else its name without the ending, and none."""
    title, description = document.title, document.description
    if title is None and extracted is not None:
        title, description = extracted.title, description or extracted.description
    name = Path(document.file.name).stem or document.file.name
    return sources.check_title(title or name), sources.check_description(description)
