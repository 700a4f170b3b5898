"""The enums of the schema, a word on every value. Their values are those of the product's own enums and columns."""

from enum import Enum
from typing import Any

import strawberry


def value(value: str, description: str) -> Any:  # strawberry replaces it by `value` when the enum is made
    """An enum's value, with a word on it."""
    return strawberry.enum_value(value, description=description)


@strawberry.enum(description="Which words a passage must hold to be found.")
class MatchMode(Enum):
    ALL_WORDS = value("ALL_WORDS", description="Every word of the query. For names, terms and short queries.")
    ANY_WORD = value(
        "ANY_WORD",
        description="First the whole ALL_WORDS answer; then, in the places left, passages that hold any of the words, "
        "rare words weighing more. For questions in whole sentences.",
    )


@strawberry.enum(description="What a caller should know about an answer that is no error.")
class RetrievalNotice(Enum):
    NO_SEARCHABLE_WORDS = value(
        "NO_SEARCHABLE_WORDS",
        description="The query holds nothing to search for (stop words, symbols or emoji alone), "
        "so only a source whose whole title it is could be found.",
    )


@strawberry.enum(description="What a subject can be allowed to do.")
class Action(Enum):
    WORKSPACE_READ = value("workspace.read", description="On the workspace: read every source that is not private.")
    LIBRARY_READ = value("library.read", description="On the workspace: read every source that is not private.")
    LIBRARY_MANAGE = value(
        "library.manage",
        description="On the workspace: add sources, manage those whose details one sees, manage knowledge bases and "
        "their indexes, and grant access. It does not open what one may not read.",
    )
    SOURCE_READ = value("source.read", description="On one source: read it, private or not. Includes SOURCE_DETAILS.")
    SOURCE_DETAILS = value(
        "source.details",
        description="On one source: see its title, description and versions. It lets one read a source that is not "
        "private; a private one only together with SOURCE_CONTENT.",
    )
    SOURCE_CONTENT = value(
        "source.content", description="On one source: read its content, together with SOURCE_DETAILS."
    )


@strawberry.enum(description="Whether a source exists or is on its way out.")
class SourceLifecycle(Enum):
    ACTIVE = value("ACTIVE", description="It exists.")
    DELETING = value("DELETING", description="It is being deleted: no search finds it, no caller sees it.")


@strawberry.enum(description="Whether a source may be found at present.")
class SourceAvailability(Enum):
    AVAILABLE = value("AVAILABLE", description="Searches find it.")
    UNAVAILABLE = value("UNAVAILABLE", description="No search finds it until it is available again.")


@strawberry.enum(description="How far the reading of a version's file has come.")
class VersionStatus(Enum):
    PENDING = value("PENDING", description="Its text waits to be extracted.")
    INDEXED = value("INDEXED", description="Its text is extracted and can be searched; it may have no text at all.")
    FAILED = value("FAILED", description="Its file could not be read; `statusReason` says why.")


@strawberry.enum(description="The state of an index. Only a READY one is searched.")
class IndexState(Enum):
    BUILDING = value("BUILDING", description="It is being built, refreshed or repaired. Wait.")
    READY = value("READY", description="It holds what its knowledge base should hold, and is searched.")
    STALE = value("STALE", description="The set of sources changed, or a source has a newer version. Refresh it.")
    FAILED = value("FAILED", description="A member could not be read; `failures` names it. Mend that, then repair it.")
