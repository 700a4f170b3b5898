"""The caller, and the sources that it may see."""

from typing import Annotated

import strawberry

from app.errors import NotFound
from app.inputs import parse_id, trimmed_text
from app.library.sources import list_sources
from app.retrieval.request import MAX_QUERY_CHARACTERS
from graphql_schema.context import Info
from graphql_schema.types.connections import DEFAULT_FIRST, After, Connection, First, check_first, page, read_id
from graphql_schema.types.enums import Action
from graphql_schema.types.library import PassageType, SourceType
from graphql_schema.types.viewer import ViewerType


@strawberry.type
class LibraryQueries:
    @strawberry.field(description="The caller.")
    async def viewer(self, info: Info) -> ViewerType:
        caller = info.context.caller
        actions = await info.context.loaders.actions_by_subject.load(caller)
        return ViewerType(
            subject=caller.id,
            groups=sorted(caller.groups),
            workspace=info.context.workspace or "",
            actions=[action for action in Action if action.value in actions],
        )

    @strawberry.field(
        description="A source by its id; NOT_FOUND for one that the caller may not see, as if it never was."
    )
    async def source(
        self, info: Info, id: Annotated[strawberry.ID, strawberry.argument(description="The source's id.")]
    ) -> SourceType | None:
        found = await info.context.loaders.source_by_id.load(parse_id("id", id))
        if found is None:
            raise NotFound("source")
        return SourceType.wrap(found)

    @strawberry.field(description="The sources whose details the caller may see, in the order they were added.")
    async def sources(
        self,
        info: Info,
        query: Annotated[
            str | None,
            strawberry.argument(
                description="Only those whose title and description hold all these words, or whose title this is; "
                f"1 to {MAX_QUERY_CHARACTERS:,} characters."
            ),
        ] = strawberry.UNSET,
        first: First = DEFAULT_FIRST,
        after: After = None,
    ) -> Connection[SourceType]:
        limit, behind = check_first(first), read_id(after)
        words = trimmed_text("query", query, longest=MAX_QUERY_CHARACTERS) if query else None
        async with info.context.services.database.read() as session:
            rows = await list_sources(session, info.context.caller, query=words, after=behind, first=limit + 1)
        return page(rows, limit, SourceType.wrap, lambda source: source.id)

    @strawberry.field(
        description="A passage by its id, the `chunkId` of a hit. NOT_FOUND for one that the caller may not read, as "
        "if it never was; while its source is UNAVAILABLE; and when its file is not kept."
    )
    async def passage(
        self, info: Info, id: Annotated[strawberry.ID, strawberry.argument(description="The passage's id.")]
    ) -> PassageType | None:
        found = await info.context.loaders.passage_by_id.load(parse_id("id", id))
        if found is None:
            raise NotFound("passage")
        return PassageType.wrap(found)
