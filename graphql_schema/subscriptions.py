"""The root fields that go on answering."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

import strawberry

from app.errors import IndexNotReady, NotFound
from app.inputs import parse_id
from app.knowledge_bases.facts import watched_index
from app.knowledge_bases.lifecycle import Remedy
from graphql_schema.context import Info
from graphql_schema.types.enums import IndexState
from graphql_schema.types.knowledge_base import IndexType

POLL_SECONDS = 0.25


@strawberry.type(description="What can be watched, over graphql-transport-ws.")
class Subscription:
    @strawberry.subscription(
        description="The index of a knowledge base that is being worked on, the successor of a READY one too; else the "
        "current one: as it is, and again whenever its state, generation or progress changes. It ends when nothing is "
        "being built. INDEX_NOT_READY if it was never built."
    )
    async def index_progress(
        self,
        info: Info,
        knowledge_base_id: Annotated[strawberry.ID, strawberry.argument(description="The knowledge base's id.")],
    ) -> AsyncIterator[IndexType]:
        base_id = parse_id("knowledgeBaseId", knowledge_base_id)
        shown = None
        while True:
            info.context.renew()
            if await info.context.loaders.knowledge_base_by_id.load(base_id) is None:
                raise NotFound("knowledge base")
            async with info.context.services.database.read() as session:
                current = await watched_index(session, info.context.caller.workspace_id, base_id)
            if current is None:
                raise IndexNotReady(None, Remedy.REBUILD)
            if current != shown:
                shown = current
                index = IndexType.wrap(current)
                yield index
                if index.state is not IndexState.BUILDING:
                    return
            await asyncio.sleep(POLL_SECONDS)
