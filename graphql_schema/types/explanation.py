"""Why a source is, or is not, among the hits."""

from enum import Enum
from uuid import UUID

import strawberry

from app.retrieval.explanation import Explanation
from app.retrieval.gates import MAX_PLACE, Gate, NearestPassage
from app.retrieval.request import MAX_LIMIT
from graphql_schema.context import Info
from graphql_schema.types.enums import IndexState, value
from graphql_schema.types.library import SourceVersionType


@strawberry.enum(description="What stands between a source and the hits, in the order in which a retrieval asks.")
class RetrievalGateName(Enum):
    INDEX_READY = value("INDEX_READY", description="The knowledge base's index is READY.")
    MEMBER = value("MEMBER", description="The index holds the source, at one of its versions.")
    LIFECYCLE = value("LIFECYCLE", description="The source is not being deleted.")
    AVAILABILITY = value("AVAILABILITY", description="The source is AVAILABLE.")
    FILE_KEPT = value("FILE_KEPT", description="The stored file of the searched version is kept.")
    TEXT = value("TEXT", description="The searched version has passages.")
    SOURCE_LIST = value("SOURCE_LIST", description="The source is in `sourceIds`, if that was sent.")
    READABLE = value("READABLE", description="The caller may read the source.")
    CONTENT_MATCH = value("CONTENT_MATCH", description="One passage holds every word of the query.")
    TITLE_MATCH = value(
        "TITLE_MATCH",
        description="Title and description hold every word of the query, or the query is the whole title. Asked only "
        "where the content does not match.",
    )
    ANY_WORD_MATCH = value(
        "ANY_WORD_MATCH",
        description="With `match: ANY_WORD`: a passage holds any of the words. Asked only where the others fail.",
    )
    WITHIN_LIMIT = value("WITHIN_LIMIT", description="The hits that stand before it leave it a place.")


@strawberry.enum(description="What became of a gate.")
class GateOutcome(Enum):
    PASSED = value("PASSED", description="It let the source through.")
    FAILED = value("FAILED", description="It kept the source out, or left it to the other search.")
    NOT_REACHED = value("NOT_REACHED", description="It was not asked.")


@strawberry.enum(description="Which search finds a source.")
class RetrievalStep(Enum):
    CONTENT = value("CONTENT", description="The search of texts.")
    TITLE = value("TITLE", description="The search of titles and descriptions, for the places that texts leave free.")
    ANY_WORD = value("ANY_WORD", description="The search for any of the words, for the places that are left then.")


@strawberry.enum(description="What helps an index that is not READY.")
class IndexRemedy(Enum):
    REBUILD = value("REBUILD", description="It was never built: `rebuildIndex`.")
    WAIT = value("WAIT", description="It is being built: wait, or watch `indexProgress`.")
    REFRESH = value("REFRESH", description="Its sources changed: `refreshIndex`.")
    REPAIR = value("REPAIR", description="A source could not be read: mend that, then `repairIndex`.")


@strawberry.type(name="NearestPassage", description="The passage that lacks the fewest words of the query.")
class NearestPassageType:
    ordinal: int = strawberry.field(description="Its number in the searched version's text, from 0.")
    missing: list[str] = strawberry.field(description="The words and phrases that it lacks, as they were typed.")

    @classmethod
    def wrap(cls, nearest: NearestPassage) -> "NearestPassageType":
        return cls(ordinal=nearest.ordinal, missing=list(nearest.missing))


@strawberry.type(name="RetrievalGate", description="One gate, what became of it, and why.")
class RetrievalGateType:
    name: RetrievalGateName = strawberry.field(description="Which gate.")
    outcome: GateOutcome = strawberry.field(description="What became of it.")
    sentence: str = strawberry.field(description="Why, in English, for a person.")
    index_state: IndexState | None = strawberry.field(
        description="INDEX_READY: the index's state; null: it was never built, or the whole workspace is searched."
    )
    remedy: IndexRemedy | None = strawberry.field(description="INDEX_READY, FAILED: what helps.")
    missing: list[str] | None = strawberry.field(
        description="The words and phrases of the query, as they were typed, that no passage holds (CONTENT_MATCH, "
        "FAILED), or that title and description lack (TITLE_MATCH, FAILED)."
    )
    nearest_passage: NearestPassageType | None = strawberry.field(
        description="CONTENT_MATCH, FAILED: the passage that comes nearest; null where none holds a word of the query."
    )
    place: int | None = strawberry.field(
        description="The place of the source's first hit, from 1: among the hits of the search (CONTENT_MATCH, "
        "TITLE_MATCH, ANY_WORD_MATCH), among all (WITHIN_LIMIT). Counted over hits that the caller may read; null "
        f"behind {MAX_PLACE:,}."
    )
    gate: strawberry.Private[Gate]

    @classmethod
    def wrap(cls, gate: Gate) -> "RetrievalGateType":
        return cls(
            name=RetrievalGateName(gate.name.value),
            outcome=GateOutcome(gate.outcome.value),
            sentence=gate.sentence,
            index_state=None if gate.index_state is None else IndexState(gate.index_state.value),
            remedy=None if gate.remedy is None else IndexRemedy(gate.remedy.value),
            missing=None if gate.missing is None else list(gate.missing),
            nearest_passage=None if gate.nearest is None else NearestPassageType.wrap(gate.nearest),
            place=gate.place,
            gate=gate,
        )

    @strawberry.field(description="MEMBER: the version that is searched; null where there is none, or none to be seen.")
    async def searched_version(self, info: Info) -> SourceVersionType | None:
        return await _version(info, self.gate.searched_version_id)

    @strawberry.field(description="MEMBER: the source's newest version, whatever its status; null as above.")
    async def newest_version(self, info: Info) -> SourceVersionType | None:
        return await _version(info, self.gate.newest_version_id)


async def _version(info: Info, version_id: UUID | None) -> SourceVersionType | None:
    if version_id is None:
        return None
    version = await info.context.loaders.version_by_id.load(version_id)
    return None if version is None else SourceVersionType.wrap(version)


@strawberry.type(name="RetrievalExplanation", description="Why a source is, or is not, among the hits of a question.")
class RetrievalExplanationType:
    found: bool = strawberry.field(description="Whether `retrieve` with these arguments returns a hit of the source.")
    place: int | None = strawberry.field(
        description="The place of the source's first hit, from 1, also where `limit` ends before it; null where it "
        f"does not match, is kept out, or stands behind place {MAX_PLACE:,}."
    )
    step: RetrievalStep | None = strawberry.field(description="The search that finds it; null where none does.")
    smallest_limit: int | None = strawberry.field(
        description=f"The smallest `limit` that shows it; null where not even {MAX_LIMIT} does."
    )
    summary: str = strawberry.field(description="The answer in English, for a person.")
    gates: list[RetrievalGateType] = strawberry.field(description="All gates, in the order in which they are asked.")

    @classmethod
    def wrap(cls, explanation: Explanation) -> "RetrievalExplanationType":
        return cls(
            found=explanation.found,
            place=explanation.place,
            step=None if explanation.step is None else RetrievalStep(explanation.step.value),
            smallest_limit=explanation.smallest_limit,
            summary=explanation.summary,
            gates=[RetrievalGateType.wrap(gate) for gate in explanation.gates],
        )
