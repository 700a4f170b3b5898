"""Adding, changing and deleting sources and their versions."""

import asyncio
import base64
import binascii
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import TypedDict
from uuid import UUID

import strawberry

from app.errors import InvalidInput, NotFound
from app.inputs import parse_id
from app.library.service import Added, NewFile
from app.library.sources import MAX_DESCRIPTION, MAX_TITLE
from graphql_schema.context import Info
from graphql_schema.http.uploads import Uploaded
from graphql_schema.mutations.inputs import Input, given
from graphql_schema.types.enums import SourceAvailability
from graphql_schema.types.library import SourceType, SourceVersionType

TITLE = f"1 to {MAX_TITLE} characters after trimming, no NUL. The words that people will search for."
DESCRIPTION = f"At most {MAX_DESCRIPTION:,} characters after trimming; empty is none."
SOURCE_ID = "The source's id."
# Of the time that an operation has.
READ_NOW_SECONDS = 4.0


@strawberry.input(description="A file: its name, its media type, and exactly one of `text`, `base64` and `upload`.")
class FileInput:
    name: str = strawberry.field(description="The file's name, 1 to 255 characters.")
    media_type: str = strawberry.field(
        description="For example `text/markdown`. A hint: what counts is what the file holds."
    )
    text: str | None = strawberry.field(default=None, description="The file's content as text; it is stored as UTF-8.")
    base64: str | None = strawberry.field(default=None, description="The file's content, base64 (RFC 4648, section 4).")
    upload: Uploaded | None = strawberry.field(
        default=None, description="The file's content beside the operation, for files too large for the other two."
    )


@strawberry.input(description="A new source and its first version.")
class AddSourceInput:
    title: str = strawberry.field(description=TITLE)
    description: str | None = strawberry.field(default=None, description=DESCRIPTION)
    private: bool = strawberry.field(default=False, description="Whether workspace-wide reading should not open it.")
    file: FileInput = strawberry.field(description="The file of version 1.")


@strawberry.input(description="What should change of a source. What is left out stays as it is.")
class UpdateSourceInput:
    id: strawberry.ID = strawberry.field(description=SOURCE_ID)
    title: str | None = strawberry.field(default=strawberry.UNSET, description=TITLE)
    description: str | None = strawberry.field(
        default=strawberry.UNSET, description=f"{DESCRIPTION} Null takes it away."
    )
    private: bool | None = strawberry.field(
        default=strawberry.UNSET, description="Whether workspace-wide reading should not open it."
    )


@strawberry.input(description="A new version of a source.")
class AddSourceVersionInput:
    source_id: strawberry.ID = strawberry.field(description=SOURCE_ID)
    file: FileInput = strawberry.field(description="Its file. The newest version's own file again adds nothing.")


@strawberry.input(description="A version whose stored file should be dropped.")
class DiscardStoredFileInput:
    source_version_id: strawberry.ID = strawberry.field(description="The version's id.")


@strawberry.input(description="A source to delete.")
class DeleteSourceInput:
    id: strawberry.ID = strawberry.field(description=SOURCE_ID)


@strawberry.input(description="Whether searches may find a source.")
class SetSourceAvailabilityInput:
    id: strawberry.ID = strawberry.field(description=SOURCE_ID)
    availability: SourceAvailability = strawberry.field(description="From the next retrieval on.")


@strawberry.type(description="A source and a version of it.")
class SourceVersionPayload:
    source: SourceType = strawberry.field(description="The source.")
    version: SourceVersionType = strawberry.field(
        description="The version: INDEXED or FAILED when its file was small, else PENDING; its status tells."
    )


@strawberry.type(description="The source that was added.")
class AddSourcePayload(SourceVersionPayload):
    """Its own type, so that it can grow by itself."""


@strawberry.type(description="The version that was added.")
class AddSourceVersionPayload(SourceVersionPayload):
    """Its own type, so that it can grow by itself."""


@strawberry.type(description="The source as it is now.")
class UpdateSourcePayload:
    source: SourceType = strawberry.field(description="The source.")


@strawberry.type(description="The source as it is now.")
class SetSourceAvailabilityPayload:
    source: SourceType = strawberry.field(description="The source.")


@strawberry.type(description="The version as it is now.")
class DiscardStoredFilePayload:
    version: SourceVersionType = strawberry.field(description="The version, not kept any more.")


@strawberry.type(description="The source is hidden from now on; what is left of it is purged by a job.")
class DeleteSourcePayload:
    id: strawberry.ID = strawberry.field(description="The id that the source had.")


@strawberry.type
class LibraryMutations:
    @strawberry.mutation(description="Add a source with its first version. Needs `library.manage`; the caller owns it.")
    async def add_source(self, info: Info, input: Input[AddSourceInput]) -> AddSourcePayload:
        added = await info.context.services.library.add_source(
            info.context.caller,
            title=input.title,
            description=input.description,
            private=input.private,
            file=_file(input.file),
        )
        return AddSourcePayload(**await _read_now(info, added))

    @strawberry.mutation(
        description="Change a source's title, description or private flag, from the next retrieval on."
    )
    async def update_source(self, info: Info, input: Input[UpdateSourceInput]) -> UpdateSourcePayload:
        source_id = parse_id("id", input.id)
        changed = await info.context.services.library.change_source(
            info.context.caller,
            source_id,
            title=given("title", input.title),
            description=input.description or None,
            keep_description=input.description is strawberry.UNSET,
            private=given("private", input.private),
        )
        info.context.renew()
        return UpdateSourcePayload(source=SourceType.wrap(changed))

    @strawberry.mutation(
        description="Add a version to a source. Indexes that hold the source turn stale when it is read."
    )
    async def add_source_version(self, info: Info, input: Input[AddSourceVersionInput]) -> AddSourceVersionPayload:
        source_id = parse_id("sourceId", input.source_id)
        added = await info.context.services.library.add_version(info.context.caller, source_id, _file(input.file))
        return AddSourceVersionPayload(**await _read_now(info, added))

    @strawberry.mutation(
        description="Drop a version's stored file: no search finds the version any more. Safe to repeat."
    )
    async def discard_stored_file(self, info: Info, input: Input[DiscardStoredFileInput]) -> DiscardStoredFilePayload:
        version_id = parse_id("sourceVersionId", input.source_version_id)
        version = await info.context.services.library.discard_stored_file(info.context.caller, version_id)
        return DiscardStoredFilePayload(version=SourceVersionType.wrap(version))

    @strawberry.mutation(
        description="Delete a source: it is hidden at once, and its passages and files are purged by a job."
    )
    async def delete_source(self, info: Info, input: Input[DeleteSourceInput]) -> DeleteSourcePayload:
        source_id = parse_id("id", input.id)
        await info.context.services.library.delete_source(info.context.caller, source_id)
        return DeleteSourcePayload(id=strawberry.ID(str(source_id)))

    @strawberry.mutation(
        description="Take a source out of all searches, or let it be found again; no index is touched."
    )
    async def set_source_availability(
        self, info: Info, input: Input[SetSourceAvailabilityInput]
    ) -> SetSourceAvailabilityPayload:
        source_id = parse_id("id", input.id)
        await info.context.services.library.set_availability(info.context.caller, source_id, input.availability.value)
        return SetSourceAvailabilityPayload(source=await _source(info, source_id))


def _file(file: FileInput) -> NewFile:
    """The file that came in. Raises InvalidInput unless exactly one of its contents is given and can be read."""
    if [file.text, file.base64, file.upload].count(None) != 2:
        raise InvalidInput("file", "must have exactly one of `text`, `base64` and `upload`.")
    return NewFile(name=file.name, media_type=file.media_type, content=_content(file))


def _content(file: FileInput) -> bytes | Callable[[], AsyncIterator[bytes]]:
    if file.upload is not None:
        return file.upload.chunks
    return _encoded(file.text) if file.text is not None else _decoded(file.base64 or "")


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InvalidInput("file.text", "must not contain half of a surrogate pair.") from None


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInput("file.base64", "is not base64 (RFC 4648, section 4).") from None


class _SourceAndVersion(TypedDict):
    source: SourceType
    version: SourceVersionType


async def _read_now(info: Info, added: Added) -> _SourceAndVersion:
    """Read the new version at once where that is quick, so that most callers need not ask again.

    What takes longer than expected is handed back, and a worker takes it up.
    """
    if added.is_small:
        with suppress(TimeoutError):
            async with asyncio.timeout(READ_NOW_SECONDS):
                await info.context.services.worker.run_version(info.context.caller.workspace_id, added.version_id)
    source = await _source(info, added.source_id)
    version = await info.context.loaders.version_by_id.load(added.version_id)
    if version is None:
        raise NotFound("version")
    return {"source": source, "version": SourceVersionType.wrap(version)}


async def _source(info: Info, source_id: UUID) -> SourceType:
    """The source as it is after the write."""
    info.context.renew()
    source = await info.context.loaders.source_by_id.load(source_id)
    if source is None:
        raise NotFound("source")
    return SourceType.wrap(source)
