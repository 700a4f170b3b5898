"""Workspaces by name. The only look-up that no workspace leads: it is what finds one."""

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert

from app.database import ReadSession, WriteSession
from app.errors import InvalidInput
from app.models import SearchIndex, Workspace, new_id

MAX_NAME = 200


async def find_workspace(session: ReadSession | WriteSession, name: str) -> UUID | None:
    """The id of the workspace of that name; None where there is none."""
    return await session.scalar(select(Workspace.id).where(Workspace.name == name))


async def ensure_workspace(session: WriteSession, name: str) -> UUID:
    """The id of the workspace of that name, made with its own index if it was never named before.

    For operators only: no caller over the network makes a workspace. Raises InvalidInput for a name that is none.
    """
    if not 1 <= len(name) <= MAX_NAME or not name.isprintable():
        raise InvalidInput("workspace", f"must be a name of 1 to {MAX_NAME} printable characters.")
    made: UUID | None = await session.scalar(
        insert(Workspace).values(id=new_id(), name=name).on_conflict_do_nothing().returning(Workspace.id)
    )
    if made is None:
        found = await find_workspace(session, name)
        assert found is not None
        return found
    # The workspace's own index has the workspace's id and is always ready: versions enter it as they are indexed.
    session.add(SearchIndex(workspace_id=made, id=made, knowledge_base_id=None, generation=1, state="READY"))
    await session.flush()
    return made
