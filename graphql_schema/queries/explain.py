"""Asking why."""

from typing import Annotated

import strawberry

from app.inputs import parse_id
from app.retrieval.explanation import Asked, explain
from app.retrieval.request import DEFAULT_LIMIT, retrieve_request
from app.retrieval.request import MatchMode as Match
from graphql_schema.context import Info
from graphql_schema.queries.retrieve import KnowledgeBaseId, Limit, QueryText, SourceIds
from graphql_schema.types.enums import MatchMode
from graphql_schema.types.explanation import RetrievalExplanationType


@strawberry.type
class ExplainQueries:
    @strawberry.field(
        description="Why a source is, or is not, among the hits of `retrieve` with the same arguments, gate by gate. "
        "An index that is not ready is a failed gate and no error. Errors: INVALID_INPUT; NOT_FOUND for a knowledge "
        "base that does not exist and for a source whose details the caller may not see; and, worth a retry, "
        "AUTHORIZATION_UNAVAILABLE, UNAVAILABLE and TIMEOUT."
    )
    async def explain_retrieval(
        self,
        info: Info,
        query: QueryText,
        source_id: Annotated[strawberry.ID, strawberry.argument(description="The source that is asked about.")],
        knowledge_base_id: KnowledgeBaseId = strawberry.UNSET,
        limit: Limit = DEFAULT_LIMIT,
        source_ids: SourceIds = strawberry.UNSET,
        match: Annotated[
            MatchMode, strawberry.argument(description="Which words a passage must hold.")
        ] = MatchMode.ALL_WORDS,
    ) -> RetrievalExplanationType | None:
        request = retrieve_request(
            query=query,
            knowledge_base_id=None if knowledge_base_id is strawberry.UNSET else knowledge_base_id,
            limit=limit,
            source_ids=None if source_ids is strawberry.UNSET else source_ids,
            match=Match(match.value),
        )
        loaders = info.context.loaders
        asked = Asked(
            database=info.context.services.database,
            subject=info.context.caller,
            request=request,
            source_id=parse_id("sourceId", source_id),
            retrieve=loaders.answer_by_request.load,
            read_check=loaders.read_checks,
            narrowed=info.context.services.retrieval.narrowed,
        )
        return RetrievalExplanationType.wrap(await explain(asked))
