"""The tables. Import them from here, so that the metadata is whole."""

from app.models.access import SourceGrant, VersionAccess, Workspace, WorkspaceGrant
from app.models.base import Base, new_id
from app.models.documents import PersistedDocument, TrustedDocument
from app.models.knowledge_base import (
    IndexFailure,
    IndexMember,
    IndexPosting,
    KnowledgeBase,
    KnowledgeBaseSource,
    SearchIndex,
)
from app.models.library import Passage, Source, SourceVersion

__all__ = [
    "Base",
    "IndexFailure",
    "IndexMember",
    "IndexPosting",
    "KnowledgeBase",
    "KnowledgeBaseSource",
    "Passage",
    "PersistedDocument",
    "SearchIndex",
    "Source",
    "SourceGrant",
    "SourceVersion",
    "TrustedDocument",
    "VersionAccess",
    "Workspace",
    "WorkspaceGrant",
    "new_id",
]
