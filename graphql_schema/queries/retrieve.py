"""Asking a question."""

from typing import Annotated

import strawberry

from app.retrieval.request import DEFAULT_LIMIT, MAX_LIMIT, MAX_QUERY_CHARACTERS, MAX_SOURCE_IDS, retrieve_request
from app.retrieval.request import MatchMode as Match
from graphql_schema.context import Info
from graphql_schema.types.enums import MatchMode
from graphql_schema.types.retrieval import RetrievalType

KnowledgeBaseId = Annotated[
    strawberry.ID | None,
    strawberry.argument(
        description="Search the sources that this knowledge base's index holds, at the versions it holds. Without it: "
        "the whole workspace, each source at its newest indexed version. An unknown id is NOT_FOUND."
    ),
]
QueryText = Annotated[
    str,
    strawberry.argument(
        description=f"Words to look for, 1 to {MAX_QUERY_CHARACTERS:,} characters after trimming. A stretch in double "
        "quotes is a phrase; no other character is an operator. Whole words and their usual forms match, accents "
        "folded."
    ),
]
Limit = Annotated[
    int, strawberry.argument(description=f"At most how many hits, from 1 to {MAX_LIMIT}. More is INVALID_INPUT.")
]
SourceIds = Annotated[
    list[strawberry.ID] | None,
    strawberry.argument(
        description=f"Only hits of these sources, at most {MAX_SOURCE_IDS:,} ids. An empty list finds nothing; ids "
        "that are unknown, or that the caller may not see, find nothing and are no error."
    ),
]


@strawberry.type
class RetrieveQueries:
    @strawberry.field(
        description="The passages that the caller may read and that match the query, best first. "
        "Errors: INVALID_INPUT, NOT_FOUND, INDEX_NOT_READY (with `indexState` and `remedy`), and, worth a retry, "
        "AUTHORIZATION_UNAVAILABLE, UNAVAILABLE and TIMEOUT."
    )
    async def retrieve(
        self,
        info: Info,
        query: QueryText,
        knowledge_base_id: KnowledgeBaseId = strawberry.UNSET,
        limit: Limit = DEFAULT_LIMIT,
        source_ids: SourceIds = strawberry.UNSET,
        match: Annotated[
            MatchMode, strawberry.argument(description="Which words a passage must hold.")
        ] = MatchMode.ALL_WORDS,
    ) -> RetrievalType | None:
        request = retrieve_request(
            query=query,
            knowledge_base_id=None if knowledge_base_id is strawberry.UNSET else knowledge_base_id,
            limit=limit,
            source_ids=None if source_ids is strawberry.UNSET else source_ids,
            match=Match(match.value),
        )
        return RetrievalType.wrap(await info.context.loaders.answer_by_request.load(request))
