"""Knowledge bases and their indexes."""

from datetime import datetime
from uuid import UUID

import strawberry

from app.access.grants import Action
from app.inputs import parse_id
from app.knowledge_bases.facts import Failure, IndexSize, failure_reason, index_failures, index_size
from app.knowledge_bases.facts import IndexState as CurrentIndex
from app.knowledge_bases.lifecycle import progress, shown_state
from app.knowledge_bases.repository import KnowledgeBaseDetails, list_held_sources
from graphql_schema.context import Info
from graphql_schema.types.connections import DEFAULT_FIRST, After, Connection, First, check_first, page, read_id
from graphql_schema.types.enums import IndexState
from graphql_schema.types.library import SourceType


@strawberry.type(name="IndexFailure", description="A source that an index should hold and could not read.")
class IndexFailureType:
    source: SourceType = strawberry.field(description="The source.")
    reason: str = strawberry.field(description="Why it could not be read, and what to do about it.")

    @classmethod
    def wrap(cls, failure: Failure) -> "IndexFailureType":
        return cls(source=SourceType.wrap(failure.source), reason=failure.reason)


@strawberry.type(
    name="Index",
    description="One generation of a knowledge base's index. Fields that count or name its members are null to callers "
    "without `library.manage`.",
)
class IndexType:
    id: strawberry.ID = strawberry.field(description="The generation's id.")
    state: IndexState = strawberry.field(description="Only a READY index is searched.")
    generation: int = strawberry.field(description="Counts up with every rebuild, refresh and repair.")
    progress: float = strawberry.field(description="The share of the work that is done, from 0 to 1.")
    built_at: datetime | None = strawberry.field(description="When it was last finished; null: not yet.")
    current: strawberry.Private[CurrentIndex]

    @classmethod
    def wrap(cls, index: CurrentIndex) -> "IndexType":
        state = shown_state(index.state, index.work)
        return cls(
            id=strawberry.ID(str(index.id)),
            state=IndexState(state.value),
            generation=index.generation,
            progress=progress(state, index.done, index.total),
            built_at=index.built_at,
            current=index,
        )

    @strawberry.field(description="How many sources it holds. With `library.manage` only.")
    async def member_count(self, info: Info) -> int | None:
        size = await self._size(info)
        return None if size is None else size.members

    @strawberry.field(description="How many passages its members have together. With `library.manage` only.")
    async def passage_count(self, info: Info) -> int | None:
        size = await self._size(info)
        return None if size is None else size.passages

    @strawberry.field(description="How many members the work in progress has done. With `library.manage` only.")
    async def done(self, info: Info) -> int | None:
        return self.current.done if await _manages(info) else None

    @strawberry.field(description="How many members the work in progress has to do. With `library.manage` only.")
    async def total(self, info: Info) -> int | None:
        return self.current.total if await _manages(info) else None

    @strawberry.field(
        description="Why it FAILED, where no member is to blame; null otherwise. With `library.manage` only."
    )
    async def failure_reason(self, info: Info) -> str | None:
        if not await _manages(info):
            return None
        async with info.context.services.database.read() as session:
            return await failure_reason(session, info.context.caller.workspace_id, self.current.id)

    @strawberry.field(
        description="The members that could not be read, those among them whose source the caller may see. "
        "With `library.manage` only."
    )
    async def failures(
        self, info: Info, first: First = DEFAULT_FIRST, after: After = None
    ) -> Connection[IndexFailureType] | None:
        limit, behind = check_first(first), read_id(after)
        if not await _manages(info):
            return None
        async with info.context.services.database.read() as session:
            rows = await index_failures(session, info.context.caller, self.current.id, after=behind, first=limit + 1)
        return page(rows, limit, IndexFailureType.wrap, lambda failure: failure.source.id)

    async def _size(self, info: Info) -> IndexSize | None:
        if not await _manages(info):
            return None
        async with info.context.services.database.read() as session:
            return await index_size(session, info.context.caller.workspace_id, self.current.id)


async def _manages(info: Info) -> bool:
    return Action.LIBRARY_MANAGE in await info.context.loaders.actions_by_subject.load(info.context.caller)


@strawberry.type(
    name="KnowledgeBase",
    description="A named set of sources, searched through its index. Every caller of the workspace knows it; of its "
    "sources each caller sees those whose details it may see.",
)
class KnowledgeBaseType:
    id: strawberry.ID = strawberry.field(description="Send it to `retrieve` as `knowledgeBaseId`.")
    name: str = strawberry.field(description="The name that a person gave it, 1 to 200 characters; need not be unique.")
    description: str | None = strawberry.field(description="What a person wrote of it, at most 5,000 characters.")
    auto_refresh: bool = strawberry.field(description="Whether its index refreshes itself when it is STALE.")

    @classmethod
    def wrap(cls, base: KnowledgeBaseDetails) -> "KnowledgeBaseType":
        return cls(
            id=strawberry.ID(str(base.id)),
            name=base.name,
            description=base.description,
            auto_refresh=base.auto_refresh,
        )

    @strawberry.field(description="The sources that it should hold, in the order they were added to the Library.")
    async def sources(self, info: Info, first: First = DEFAULT_FIRST, after: After = None) -> Connection[SourceType]:
        limit, behind = check_first(first), read_id(after)
        caller = info.context.caller
        async with info.context.services.database.read() as session:
            rows = await list_held_sources(session, caller, UUID(self.id), after=behind, first=limit + 1)
        return page(rows, limit, SourceType.wrap, lambda source: source.id)

    @strawberry.field(description="Its current index; null: it was never built.")
    async def index(self, info: Info) -> IndexType | None:
        current = await info.context.loaders.index_by_knowledge_base.load(parse_id("id", self.id))
        return None if current is None else IndexType.wrap(current)
