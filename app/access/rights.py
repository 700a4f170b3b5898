"""What a caller may manage: `library.manage` for the whole Library, an owner for a source of its own."""

from app.access.grants import Action, workspace_actions
from app.access.subject import Subject
from app.database import ReadSession, WriteSession
from app.errors import Forbidden


async def require(session: ReadSession | WriteSession, subject: Subject, action: Action) -> None:
    """Raises Forbidden unless the caller, or one of its groups, holds the action on the workspace now."""
    if action not in await workspace_actions(session, subject):
        raise Forbidden(f"This needs {action} on the workspace.")
