"""The root fields that write. Each takes one `input` and returns a payload; each is one transaction."""

import strawberry

from graphql_schema.mutations.access import AccessMutations
from graphql_schema.mutations.knowledge_bases import KnowledgeBaseMutations
from graphql_schema.mutations.library import LibraryMutations


@strawberry.type(
    description="What can be changed. Managing needs `library.manage` on the workspace, or to own the source. "
    "What the caller may not see is NOT_FOUND, what it may not manage FORBIDDEN."
)
class Mutation(LibraryMutations, AccessMutations, KnowledgeBaseMutations):
    """All of them: each room's fields are in its own file."""
