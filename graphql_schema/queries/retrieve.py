"""Asking a question."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

import strawberry
from graphql import FieldNode, FragmentDefinitionNode, FragmentSpreadNode, InlineFragmentNode

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
            match=Match[match.name],
            sources=_asks_for_sources(info),
        )
        return RetrievalType.wrap(await info.context.loaders.answer(request, alone=_is_alone(info)))


def _is_alone(info: Info) -> bool:
    """Whether this is the only field of the operation."""
    selections = info._raw_info.operation.selection_set.selections
    return len(selections) == 1 and isinstance(selections[0], FieldNode)


def _asks_for_sources(info: Info) -> bool:
    """Whether `hits { source }` stands below this field, whatever the conditions on it."""
    fragments = info._raw_info.fragments  # strawberry's own way to the selection takes ten times as long
    hits = [node for node in _fields(info._raw_info.field_nodes, fragments) if node.name.value == "hits"]
    return any(node.name.value == "source" for node in _fields(hits, fragments))


def _fields(nodes: Sequence[FieldNode], fragments: Mapping[str, FragmentDefinitionNode]) -> Iterator[FieldNode]:
    """The fields that stand directly below any of these, those of fragments too."""
    pending = [selection for node in nodes if node.selection_set for selection in node.selection_set.selections]
    while pending:
        selection = pending.pop()
        if isinstance(selection, FieldNode):
            yield selection
        elif isinstance(selection, FragmentSpreadNode):
            pending += fragments[selection.name.value].selection_set.selections
        elif isinstance(selection, InlineFragmentNode):
            pending += selection.selection_set.selections
