"""The answer of a retrieval: plain rows, and what is drawn from them only if it is asked for."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, cast
from uuid import UUID

import strawberry

from app.query import Query
from app.retrieval.repository import Hit
from app.retrieval.service import Answer
from app.retrieval.snippets import Snippet, TextRange, highlights, snippet
from graphql_schema.context import Info
from graphql_schema.types.enums import RetrievalNotice
from graphql_schema.types.knowledge_base import IndexType
from graphql_schema.types.library import PassageType, SourceType, SourceVersionType, version_of

_ADMITTED = ("ACTIVE", "AVAILABLE")  # what was admitted is (R7)
_id: Callable[[UUID], strawberry.ID] = cast("Any", str)


@strawberry.type(name="TextRange", description="A range of a text, in Unicode code points.")
class TextRangeType:
    start: int = strawberry.field(description="The offset of its first code point.")
    end: int = strawberry.field(description="The offset behind its last code point.")


@strawberry.type(name="Snippet", description="A stretch of a passage as plain text, for a client that draws its own.")
class SnippetType:
    text: str = strawberry.field(description="Plain text, at most 300 code points. Escape it before it becomes HTML.")
    highlights: list[TextRangeType] = strawberry.field(description="Where the matched words stand in `text`.")


@strawberry.type(
    name="Hit",
    description="A passage that the caller may read. Its fields are the same whichever search found it; `rank` of a "
    "hit found by its source's title measures title and description and is not comparable with that of other hits.",
)
class HitType:
    chunk_id: strawberry.ID = strawberry.field(description="The passage's id.")
    resource_id: strawberry.ID = strawberry.field(description="The id of its source.")
    resource_version_id: strawberry.ID = strawberry.field(description="The id of the version whose text it is from.")
    ordinal: int = strawberry.field(description="The passage's number in its version's text, from 0.")
    text_hash: str = strawberry.field(description="The sha256 of `text` in UTF-8, 64 hexadecimal digits.")
    rank: float = strawberry.field(description="How well it matches, above 0. Comparable within one search step only.")
    text: str = strawberry.field(description="The whole passage.")
    hit: strawberry.Private[Hit]
    query: strawberry.Private[Query]

    def __init__(self, hit: Hit, query: Query) -> None:
        """Written out: strawberry's own, which takes each field by its name, is half as fast."""
        self.chunk_id = _id(hit.passage_id)
        self.resource_id = _id(hit.source_id)
        self.resource_version_id = _id(hit.version_id)
        self.ordinal = hit.ordinal
        self.text_hash = hit.text_hash
        self.rank = hit.rank
        self.text = hit.text
        self.hit = hit
        self.query = query

    # Drawn once, however many fields show it.
    @cached_property
    def _marks(self) -> tuple[TextRange, ...]:
        """A title hit is shown from its start: its passage was not searched for the words (R14)."""
        return () if self.hit.by_title else highlights(self.hit.text, self.query)

    @cached_property
    def _shown(self) -> Snippet:
        return snippet(self.hit.text, self._marks)

    @strawberry.field(
        description="At most 300 characters of the passage as safe HTML: inserted as HTML it shows what was written "
        "and runs nothing. The stretch that holds most of the matched words, or the passage's start."
    )
    def snippet_safe(self) -> str:
        return self._shown.html

    @strawberry.field(description="The same stretch as plain text, with the ranges of the matched words in it.")
    def snippet(self) -> SnippetType:
        return SnippetType(text=self._shown.text, highlights=_ranges(self._shown.highlights))

    @strawberry.field(description="Where the matched words stand in `text`; empty where the title matched.")
    def highlights(self) -> list[TextRangeType]:
        return _ranges(self._marks)

    @strawberry.field(description="The source of the passage.")
    def source(self) -> SourceType:
        hit = self.hit
        if hit.title is None:
            raise RuntimeError("the search was not asked for sources")
        return SourceType(self.resource_id, hit.title, hit.description, hit.private, hit.owner, _ADMITTED)

    @strawberry.field(description="The version whose text the passage is from.")
    async def version(self, info: Info) -> SourceVersionType:
        return await version_of(info, self.hit.version_id)

    @strawberry.field(description="The passage itself, to go on from: to its version, and to what stands around it.")
    def passage(self) -> PassageType:
        return PassageType(
            id=self.chunk_id,
            ordinal=self.hit.ordinal,
            text=self.hit.text,
            text_hash=self.hit.text_hash,
            version_id=self.hit.version_id,
        )


def _ranges(ranges: tuple[TextRange, ...]) -> list[TextRangeType]:
    return [TextRangeType(start=range_.start, end=range_.end) for range_ in ranges]


@strawberry.type(name="Retrieval", description="The answer to one question.")
class RetrievalType:
    hits: list[HitType] = strawberry.field(
        description="Content hits first, best first; then, in the places left, sources whose title or description "
        "match."
    )
    answer: strawberry.Private[Answer]

    @classmethod
    def wrap(cls, answer: Answer) -> "RetrievalType":
        return cls(hits=[HitType(hit, answer.query) for hit in answer.hits], answer=answer)

    @strawberry.field(description="The index that was searched; null for the whole workspace.")
    def index(self) -> IndexType | None:
        return None if self.answer.index is None else IndexType.wrap(self.answer.index)

    @strawberry.field(description="What should be known of this answer.")
    def notice(self) -> RetrievalNotice | None:
        return None if self.answer.query.terms else RetrievalNotice.NO_SEARCHABLE_WORDS
