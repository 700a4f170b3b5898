"""From a request to a Subject: a verified token, in a workspace that exists."""

from dataclasses import dataclass
from uuid import UUID

from starlette.types import Scope

from app.access.subject import Subject
from app.access.workspaces import find_workspace
from app.database import Database
from app.errors import Unauthenticated
from app.web.authentication import Authenticator


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, and the name of its workspace."""

    subject: Subject
    workspace: str


class Callers:
    """Finds out who asks. Workspaces are never renamed or deleted, so their ids are remembered."""

    def __init__(self, authenticator: Authenticator, database: Database) -> None:
        self._authenticate = authenticator
        self._database = database
        self._workspaces: dict[str, UUID] = {}

    async def of(self, scope: Scope) -> Caller | None:
        """The caller of a request; None without a token. Raises Unauthenticated for a token that is not good."""
        identity = await self._authenticate(scope)
        if identity is None:
            return None
        workspace_id = await self._workspace_id(identity.workspace)
        return Caller(Subject(workspace_id, identity.subject_id, identity.groups), identity.workspace)

    async def _workspace_id(self, name: str) -> UUID:
        known = self._workspaces.get(name)
        if known is not None:
            return known
        async with self._database.read() as session:
            found = await find_workspace(session, name)
        if found is None:
            raise Unauthenticated("The token names a workspace that does not exist.")
        self._workspaces[name] = found
        return found
