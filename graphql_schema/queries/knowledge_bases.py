"""Knowledge bases: known to every caller of their workspace."""

from typing import Annotated

import strawberry

from app.errors import NotFound
from app.inputs import parse_id
from app.knowledge_bases.repository import list_knowledge_bases
from graphql_schema.context import Info
from graphql_schema.types.connections import DEFAULT_FIRST, After, Connection, First, check_first, page, read_id
from graphql_schema.types.knowledge_base import KnowledgeBaseType


@strawberry.type
class KnowledgeBaseQueries:
    @strawberry.field(description="A knowledge base by its id; NOT_FOUND for one that the workspace does not have.")
    async def knowledge_base(
        self, info: Info, id: Annotated[strawberry.ID, strawberry.argument(description="The knowledge base's id.")]
    ) -> KnowledgeBaseType | None:
        found = await info.context.loaders.knowledge_base_by_id.load(parse_id("id", id))
        if found is None:
            raise NotFound("knowledge base")
        return KnowledgeBaseType.wrap(found)

    @strawberry.field(description="The knowledge bases of the workspace, in the order they were made.")
    async def knowledge_bases(
        self, info: Info, first: First = DEFAULT_FIRST, after: After = None
    ) -> Connection[KnowledgeBaseType]:
        limit, behind = check_first(first), read_id(after)
        async with info.context.services.database.read() as session:
            rows = await list_knowledge_bases(session, info.context.caller.workspace_id, after=behind, first=limit + 1)
        return page(rows, limit, KnowledgeBaseType.wrap, lambda base: base.id)
