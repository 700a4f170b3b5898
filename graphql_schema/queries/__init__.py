"""The root fields that read."""

import strawberry

from graphql_schema.queries.explain import ExplainQueries
from graphql_schema.queries.knowledge_bases import KnowledgeBaseQueries
from graphql_schema.queries.library import LibraryQueries
from graphql_schema.queries.retrieve import RetrieveQueries


@strawberry.type(description="What can be read. Every field answers for the caller alone.")
class Query(RetrieveQueries, ExplainQueries, LibraryQueries, KnowledgeBaseQueries):
    """All of them: each room's fields are in its own file."""
