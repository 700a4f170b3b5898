"""Making, changing and deleting knowledge bases, and asking for work on their indexes."""

from collections.abc import Sequence
from uuid import UUID

import strawberry

from app.errors import NotFound
from app.inputs import parse_id
from app.knowledge_bases.facts import load_index
from app.knowledge_bases.lifecycle import Work
from app.knowledge_bases.service import MAX_SOURCE_IDS
from graphql_schema.context import Info
from graphql_schema.mutations.inputs import Input, given
from graphql_schema.types.knowledge_base import IndexType, KnowledgeBaseType

NAME = "1 to 200 characters after trimming. It need not be unique."
DESCRIPTION = "At most 5,000 characters after trimming; empty is none."
AUTO_REFRESH = "Whether its index refreshes itself when it is STALE."
BASE_ID = "The knowledge base's id."
SOURCE_IDS = f"At most {MAX_SOURCE_IDS:,} ids of sources"


@strawberry.input(description="A new knowledge base.")
class CreateKnowledgeBaseInput:
    name: str = strawberry.field(description=NAME)
    description: str | None = strawberry.field(default=None, description=DESCRIPTION)
    source_ids: list[strawberry.ID] = strawberry.field(
        default_factory=list,
        description=f"{SOURCE_IDS} that it should hold; one that the caller may not see is NOT_FOUND.",
    )
    auto_refresh: bool = strawberry.field(default=True, description=AUTO_REFRESH)


@strawberry.input(description="What should change of a knowledge base. What is left out stays as it is.")
class UpdateKnowledgeBaseInput:
    id: strawberry.ID = strawberry.field(description=BASE_ID)
    name: str | None = strawberry.field(default=strawberry.UNSET, description=NAME)
    description: str | None = strawberry.field(
        default=strawberry.UNSET, description=f"{DESCRIPTION} Null takes it away."
    )
    auto_refresh: bool | None = strawberry.field(default=strawberry.UNSET, description=AUTO_REFRESH)


@strawberry.input(description="A knowledge base to delete.")
class DeleteKnowledgeBaseInput:
    id: strawberry.ID = strawberry.field(description=BASE_ID)


@strawberry.input(description="Sources for a knowledge base.")
class AddKnowledgeBaseSourcesInput:
    knowledge_base_id: strawberry.ID = strawberry.field(description=BASE_ID)
    source_ids: list[strawberry.ID] = strawberry.field(
        description=f"{SOURCE_IDS}; one that the caller may not see is NOT_FOUND, one that is held already no error."
    )


@strawberry.input(description="Sources that a knowledge base should hold no longer.")
class RemoveKnowledgeBaseSourcesInput:
    knowledge_base_id: strawberry.ID = strawberry.field(description=BASE_ID)
    source_ids: list[strawberry.ID] = strawberry.field(description=f"{SOURCE_IDS}; one that is not held is no error.")


@strawberry.input(description="An index to bring up to what its knowledge base should hold.")
class RefreshIndexInput:
    knowledge_base_id: strawberry.ID = strawberry.field(description=BASE_ID)


@strawberry.input(description="An index to build anew.")
class RebuildIndexInput:
    knowledge_base_id: strawberry.ID = strawberry.field(description=BASE_ID)


@strawberry.input(description="An index whose failed members should be tried again.")
class RepairIndexInput:
    knowledge_base_id: strawberry.ID = strawberry.field(description=BASE_ID)


@strawberry.type(description="The knowledge base that was made.")
class CreateKnowledgeBasePayload:
    knowledge_base: KnowledgeBaseType = strawberry.field(description="It has no index yet: `rebuildIndex` builds one.")


@strawberry.type(description="The knowledge base as it is now.")
class UpdateKnowledgeBasePayload:
    knowledge_base: KnowledgeBaseType = strawberry.field(description="The knowledge base.")


@strawberry.type(description="The knowledge base is gone.")
class DeleteKnowledgeBasePayload:
    id: strawberry.ID = strawberry.field(description="The id that it had.")


@strawberry.type(description="The knowledge base as it is now.")
class AddKnowledgeBaseSourcesPayload:
    knowledge_base: KnowledgeBaseType = strawberry.field(description="If a source was new, its index is STALE.")


@strawberry.type(description="The knowledge base as it is now.")
class RemoveKnowledgeBaseSourcesPayload:
    knowledge_base: KnowledgeBaseType = strawberry.field(description="If a source was held, its index is STALE.")


@strawberry.type(description="The index that is being refreshed, or has no need to be.")
class RefreshIndexPayload:
    index: IndexType = strawberry.field(description="Watch its `state` and `progress`.")


@strawberry.type(description="The index that is being built. One that is READY goes on serving until it is done.")
class RebuildIndexPayload:
    index: IndexType = strawberry.field(description="The new generation. Watch its `state` and `progress`.")


@strawberry.type(description="The index that is being repaired, or has no need to be.")
class RepairIndexPayload:
    index: IndexType = strawberry.field(description="Watch its `state` and `progress`.")


@strawberry.type
class KnowledgeBaseMutations:
    @strawberry.mutation(description="Make a knowledge base. Needs `library.manage`.")
    async def create_knowledge_base(
        self, info: Info, input: Input[CreateKnowledgeBaseInput]
    ) -> CreateKnowledgeBasePayload:
        base_id = await info.context.services.knowledge_bases.create(
            info.context.caller,
            name=input.name,
            description=input.description,
            auto_refresh=input.auto_refresh,
            source_ids=_ids(input.source_ids),
        )
        return CreateKnowledgeBasePayload(knowledge_base=await _base(info, base_id))

    @strawberry.mutation(description="Change a knowledge base's name, description or `autoRefresh`.")
    async def update_knowledge_base(
        self, info: Info, input: Input[UpdateKnowledgeBaseInput]
    ) -> UpdateKnowledgeBasePayload:
        base_id = parse_id("id", input.id)
        await info.context.services.knowledge_bases.change(
            info.context.caller,
            base_id,
            name=given("name", input.name),
            description=input.description or None,
            keep_description=input.description is strawberry.UNSET,
            auto_refresh=given("autoRefresh", input.auto_refresh),
        )
        return UpdateKnowledgeBasePayload(knowledge_base=await _base(info, base_id))

    @strawberry.mutation(description="Delete a knowledge base. Its sources stay in the Library.")
    async def delete_knowledge_base(
        self, info: Info, input: Input[DeleteKnowledgeBaseInput]
    ) -> DeleteKnowledgeBasePayload:
        base_id = parse_id("id", input.id)
        await info.context.services.knowledge_bases.delete(info.context.caller, base_id)
        return DeleteKnowledgeBasePayload(id=strawberry.ID(str(base_id)))

    @strawberry.mutation(description="Add sources to what a knowledge base should hold.")
    async def add_knowledge_base_sources(
        self, info: Info, input: Input[AddKnowledgeBaseSourcesInput]
    ) -> AddKnowledgeBaseSourcesPayload:
        base_id = parse_id("knowledgeBaseId", input.knowledge_base_id)
        await info.context.services.knowledge_bases.add_sources(info.context.caller, base_id, _ids(input.source_ids))
        return AddKnowledgeBaseSourcesPayload(knowledge_base=await _base(info, base_id))

    @strawberry.mutation(description="Take sources out of what a knowledge base should hold.")
    async def remove_knowledge_base_sources(
        self, info: Info, input: Input[RemoveKnowledgeBaseSourcesInput]
    ) -> RemoveKnowledgeBaseSourcesPayload:
        base_id = parse_id("knowledgeBaseId", input.knowledge_base_id)
        await info.context.services.knowledge_bases.remove_sources(info.context.caller, base_id, _ids(input.source_ids))
        return RemoveKnowledgeBaseSourcesPayload(knowledge_base=await _base(info, base_id))

    @strawberry.mutation(
        description="Bring an index up to date: only what changed is done. One that is READY has nothing to do; one "
        "that was never built is INDEX_NOT_READY with the remedy REBUILD."
    )
    async def refresh_index(self, info: Info, input: Input[RefreshIndexInput]) -> RefreshIndexPayload:
        return RefreshIndexPayload(index=await _work(info, input.knowledge_base_id, Work.REFRESH))

    @strawberry.mutation(description="Build a new generation of an index from all sources that it should hold.")
    async def rebuild_index(self, info: Info, input: Input[RebuildIndexInput]) -> RebuildIndexPayload:
        return RebuildIndexPayload(index=await _work(info, input.knowledge_base_id, Work.REBUILD))

    @strawberry.mutation(
        description="Try again the members that could not be read. One that is READY has nothing to do; one that was "
        "never built is INDEX_NOT_READY with the remedy REBUILD."
    )
    async def repair_index(self, info: Info, input: Input[RepairIndexInput]) -> RepairIndexPayload:
        return RepairIndexPayload(index=await _work(info, input.knowledge_base_id, Work.REPAIR))


def _ids(values: Sequence[str]) -> list[UUID]:
    return [parse_id("sourceIds", value) for value in dict.fromkeys(values)]


async def _base(info: Info, base_id: UUID) -> KnowledgeBaseType:
    """The knowledge base as it is after the write."""
    info.context.renew()
    base = await info.context.loaders.knowledge_base_by_id.load(base_id)
    if base is None:
        raise NotFound("knowledge base")
    return KnowledgeBaseType.wrap(base)


async def _work(info: Info, knowledge_base_id: str, work: Work) -> IndexType:
    base_id = parse_id("knowledgeBaseId", knowledge_base_id)
    caller, services = info.context.caller, info.context.services
    index_id = await services.knowledge_bases.request_work(caller, base_id, work)
    info.context.renew()
    async with services.database.read() as session:
        index = await load_index(session, caller.workspace_id, index_id)
    if index is None:
        raise NotFound("knowledge base")
    return IndexType.wrap(index)
