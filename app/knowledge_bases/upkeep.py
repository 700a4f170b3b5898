"""What PostgreSQL is told after much was written, so that the searches that follow are quick from the first on.

Both need a role that owns the tables, as the one that ran the migrations does. Without, nothing is done: autovacuum
does the same, later.
"""

from uuid import UUID

import structlog
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from app.database import Database, ReadSession, WriteSession

log = structlog.get_logger(__name__)

# A table's statistics are taken anew when this share of its rows is new, and these are many.
GROWTH = 0.1
MANY_ROWS = 1_000
# Fewer rows than these are searched quickly with any plan.
SOME_ROWS = 200
# The share of a table's rows above which the listed workspaces are taken to be all of them.
NEARLY_ALL = 0.999
# All that a retrieval joins.
SEARCHED = ("index_postings", "index_members", "version_access", "sources", "source_grants", "passages")
NOT_ALLOWED = "42501"


async def clean_pending_postings(database: Database) -> None:
    """Put into the index's order what waits to enter it: a search reads the waiting rows one by one (measured: up to
    4 times slower). Nobody waits for it: rows may be read and written meanwhile.
    """
    try:
        async with database.write(patient=True) as session:
            await session.execute(text("SELECT gin_clean_pending_list('ix_index_postings_tsv')"))
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) != NOT_ALLOWED:
            raise
        log.debug("pending_postings_left_to_autovacuum")


async def settle(database: Database, workspace_id: UUID, new_postings: int) -> None:
    """After `new_postings` rows of a workspace were committed: take the planner's statistics anew if they mislead it.

    They do when the new rows are a large share; and when they list every workspace but this one, since then the
    planner takes it to have a single row (measured: 11 s for a search of 4,000 passages, 0.05 s when it knows better).
    """
    async with database.read() as session:
        grown = new_postings >= max(MANY_ROWS, GROWTH * await _known_postings(session))
        if not grown and (new_postings < SOME_ROWS or await _is_known(session, workspace_id)):
            return
    for table in SEARCHED:
        # One transaction a table: the lock, which stops no reader and no writer, is held for one at a time.
        async with database.write(patient=True) as session:
            await session.execute(text(f"ANALYZE {table}"))
    await clean_pending_postings(database)


async def _is_known(session: ReadSession, workspace_id: UUID) -> bool:
    """Whether the planner can guess how many postings the workspace has: it lists it, or does not list all others."""
    found = await session.scalar(
        text(
            "SELECT :workspace = ANY (most_common_vals::text::text[]) OR"
            " (SELECT sum(frequency) FROM unnest(most_common_freqs) frequency) < :all"
            " FROM pg_stats WHERE tablename = 'index_postings' AND attname = 'workspace_id'"
        ),
        {"workspace": str(workspace_id), "all": NEARLY_ALL},
    )
    return found is True


async def _known_postings(session: ReadSession | WriteSession) -> float:
    """How many rows the planner believes the table to have; -1 before anything is known."""
    found = await session.scalar(text("SELECT reltuples FROM pg_class WHERE oid = 'index_postings'::regclass"))
    return -1.0 if found is None else float(found)
