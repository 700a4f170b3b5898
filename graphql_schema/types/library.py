"""Sources, versions, passages and grants, as a caller who may see them sees them."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

import strawberry

from app.access.grants import Grant, grants_of_source
from app.errors import InvalidInput, NotFound
from app.inputs import clean_text, parse_id
from app.library.reading import ReadPassage, Stretch
from app.library.service import managed_source
from app.library.sources import MAX_DESCRIPTION, MAX_TITLE, SourceDetails
from app.library.versions import Version, list_versions
from graphql_schema.context import Info
from graphql_schema.types.connections import (
    DEFAULT_FIRST,
    After,
    Connection,
    First,
    check_first,
    page,
    read_cursor,
    read_number,
)
from graphql_schema.types.enums import Action, SourceAvailability, SourceLifecycle, VersionStatus


@strawberry.type(name="SourceGrant", description="An action that a subject holds on a source, in force now.")
class SourceGrantType:
    subject: str = strawberry.field(description="`user:…`, `agent:…` or `group:…`.")
    action: Action = strawberry.field(description="What the subject may do.")
    expires_at: datetime | None = strawberry.field(description="Until when; null: until it is revoked.")


DEFAULT_CONTEXT = 3
MAX_CONTEXT = 21
MAX_ORDINAL = 1_000_000_000

ContextLimit = Annotated[
    int,
    strawberry.argument(
        description=f"At most how many passages in all, from 1 to {MAX_CONTEXT}. More is INVALID_INPUT."
    ),
]


@strawberry.type(
    name="Passage",
    description="A piece of one version's text, to callers who may read it: about 200 words, cut where the text is. "
    "Passages never change; together they are their version's text, without the white space between them.",
)
class PassageType:
    id: strawberry.ID = strawberry.field(description="The passage's id; `chunkId` of its hits.")
    ordinal: int = strawberry.field(description="Its number in its version's text, from 0.")
    text: str = strawberry.field(description="The whole passage.")
    text_hash: str = strawberry.field(description="The sha256 of `text` in UTF-8, 64 hexadecimal digits.")
    version_id: strawberry.Private[UUID]

    @classmethod
    def wrap(cls, passage: ReadPassage) -> "PassageType":
        return cls(
            id=strawberry.ID(str(passage.id)),
            ordinal=passage.ordinal,
            text=passage.text,
            text_hash=passage.text_hash,
            version_id=passage.version_id,
        )

    @strawberry.field(description="The version whose text it is from.")
    async def version(self, info: Info) -> "SourceVersionType":
        return await version_of(info, self.version_id)

    @strawberry.field(
        description="The passage with those before and behind it, in the order of the text: at most `limit` in all, "
        "fewer at the text's ends."
    )
    async def context(self, info: Info, limit: ContextLimit = DEFAULT_CONTEXT) -> list["PassageType"]:
        if not 1 <= limit <= MAX_CONTEXT:
            raise InvalidInput("limit", f"must be from 1 to {MAX_CONTEXT}, not {limit}.")
        first = self.ordinal - (limit - 1) // 2
        stretch = Stretch(self.version_id, max(first, 0), first + limit - 1)
        return [self.wrap(passage) for passage in await info.context.loaders.passages_by_stretch.load(stretch)]


async def version_of(info: Info, version_id: UUID) -> "SourceVersionType":
    """The version, asked again whether the caller sees it. Raises NotFound."""
    version = await info.context.loaders.version_by_id.load(version_id)
    if version is None:
        raise NotFound("version")
    return SourceVersionType.wrap(version)


@strawberry.type(
    name="SourceVersion", description="One file of a source. Versions are numbered from 1 and never changed."
)
class SourceVersionType:
    id: strawberry.ID = strawberry.field(description="The version's id; `resourceVersionId` of its hits.")
    number: int = strawberry.field(description="1 for the first version of the source.")
    file_name: str = strawberry.field(description="The name that the file was given, 1 to 255 characters.")
    media_type: str = strawberry.field(
        description="The media type that the file was given. What it holds is what counts."
    )
    size: int = strawberry.field(description="The file's size in bytes.")
    sha256: str = strawberry.field(description="The sha256 of the file, 64 hexadecimal digits.")
    kept: bool = strawberry.field(
        description="Whether the stored file is kept. If it is not, no search finds the version."
    )
    status: VersionStatus = strawberry.field(description="How far the reading of the file has come.")
    status_reason: str | None = strawberry.field(
        description="Why it failed, or what should be known of the text; null where there is nothing to say."
    )
    passage_count: int = strawberry.field(description="How many passages its text has; 0 until it is INDEXED.")
    source_id: strawberry.Private[UUID]

    @classmethod
    def wrap(cls, version: Version) -> "SourceVersionType":
        return cls(
            id=strawberry.ID(str(version.id)),
            number=version.number,
            file_name=version.file_name,
            media_type=version.media_type,
            size=version.size,
            sha256=version.sha256,
            kept=version.kept,
            status=VersionStatus(version.status),
            status_reason=version.status_reason,
            passage_count=version.passage_count,
            source_id=version.source_id,
        )

    @strawberry.field(description="The source whose file it is.")
    async def source(self, info: Info) -> "SourceType":
        source = await info.context.loaders.source_by_id.load(self.source_id)
        if source is None:
            raise NotFound("source")
        return SourceType.wrap(source)

    @strawberry.field(
        description="Its text, passage by passage. Empty to who may not read it, while the source is UNAVAILABLE, and "
        "when its file is not kept."
    )
    async def passages(self, info: Info, first: First = DEFAULT_FIRST, after: After = None) -> Connection[PassageType]:
        limit, behind = check_first(first), read_number(after)
        start = 0 if behind is None else behind + 1
        stretch = Stretch(UUID(self.id), start, start + limit)
        rows = await info.context.loaders.passages_by_stretch.load(stretch)
        return page(rows, limit, PassageType.wrap, lambda passage: passage.ordinal)

    @strawberry.field(description="One passage of its text; null where there is none, or none to be read.")
    async def passage(
        self,
        info: Info,
        ordinal: Annotated[
            int,
            strawberry.argument(
                description=f"The passage's number, from 0 to {MAX_ORDINAL - 1:,}. Others are INVALID_INPUT."
            ),
        ],
    ) -> PassageType | None:
        if not 0 <= ordinal < MAX_ORDINAL:
            raise InvalidInput("ordinal", f"must be from 0 to {MAX_ORDINAL - 1:,}, not {ordinal}.")
        stretch = Stretch(UUID(self.id), ordinal, ordinal)
        rows = await info.context.loaders.passages_by_stretch.load(stretch)
        return PassageType.wrap(rows[0]) if rows else None


@strawberry.type(name="Source", description="A document of the Library, to callers who may see its details.")
class SourceType:
    id: strawberry.ID = strawberry.field(description="The source's id; `resourceId` of its hits.")
    title: str = strawberry.field(description=f"The name that a person gave it, 1 to {MAX_TITLE} characters.")
    description: str | None = strawberry.field(
        description=f"What a person wrote of it, at most {MAX_DESCRIPTION:,} characters; null where nobody did."
    )
    private: bool = strawberry.field(description="Whether workspace-wide reading does not open it.")
    owner: str = strawberry.field(description="The subject that may always read and manage it.")
    lifecycle_availability: strawberry.Private[tuple[str, str]]

    def __init__(
        self,
        id_: str,
        title: str,
        description: str | None,
        private: bool,
        owner: str,
        lifecycle_availability: tuple[str, str],
    ) -> None:
        """Written out, as a hit's is."""
        self.id = strawberry.ID(id_)
        self.title = title
        self.description = description
        self.private = private
        self.owner = owner
        self.lifecycle_availability = lifecycle_availability

    @classmethod
    def wrap(cls, source: SourceDetails) -> "SourceType":
        both = source.lifecycle, source.availability
        return cls(str(source.id), source.title, source.description, source.private, source.owner, both)

    # Made into enums when they are asked for: that would be half of what it takes to wrap the sources of 50 hits.
    @strawberry.field(description="ACTIVE for whatever a caller can see.")
    def lifecycle(self) -> SourceLifecycle:
        return SourceLifecycle[self.lifecycle_availability[0]]

    @strawberry.field(description="Whether searches may find it at present.")
    def availability(self) -> SourceAvailability:
        return SourceAvailability[self.lifecycle_availability[1]]

    @strawberry.field(description="The version with the highest number, whatever its status.")
    async def latest_version(self, info: Info) -> SourceVersionType | None:
        version = await info.context.loaders.latest_version_by_source.load(parse_id("id", self.id))
        return None if version is None else SourceVersionType.wrap(version)

    @strawberry.field(description="All versions, the newest first.")
    async def versions(
        self, info: Info, first: First = DEFAULT_FIRST, after: After = None
    ) -> Connection[SourceVersionType]:
        limit = check_first(first)
        before = read_number(after)
        caller = info.context.caller
        async with info.context.services.database.read() as session:
            rows = await list_versions(
                session, caller.workspace_id, parse_id("id", self.id), before=before, first=limit + 1
            )
        return page(rows, limit, SourceVersionType.wrap, lambda version: version.number)

    @strawberry.field(
        description="Who else holds what on the source, by subject. Only to who may manage the source: else FORBIDDEN."
    )
    async def grants(
        self, info: Info, first: First = DEFAULT_FIRST, after: After = None
    ) -> Connection[SourceGrantType] | None:
        limit = check_first(first)
        behind = clean_text("after", read_cursor(after) or "")
        caller = info.context.caller
        source_id = parse_id("id", self.id)
        async with info.context.services.database.read() as session:
            await managed_source(session, caller, source_id)
            rows = await grants_of_source(session, caller.workspace_id, source_id, after=behind, first=limit + 1)
        return page(rows, limit, _grant, lambda grant: grant.key)


def _grant(grant: Grant) -> SourceGrantType:
    return SourceGrantType(subject=grant.subject, action=Action(grant.action.value), expires_at=grant.expires_at)
