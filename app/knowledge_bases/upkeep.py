"""What PostgreSQL is told after much was written, so that the searches that follow are quick from the first on.

Both need a role that owns the tables, as the one that ran the migrations does. Without, nothing is done: autovacuum
does the same, later.
"""

import structlog
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from app.database import Database, ReadSession, WriteSession

log = structlog.get_logger(__name__)

# A table's statistics are taken anew when this share of its rows is new, and these are many.
GROWTH = 0.1
MANY_ROWS = 1_000
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


async def settle(database: Database, new_postings: int) -> None:
    """After `new_postings` rows were committed: take the planner's statistics anew if they are a large share."""
    async with database.read() as session:
        known = await _known_postings(session)
    if new_postings < max(MANY_ROWS, known * GROWTH):
        return
    for table in SEARCHED:
        # One transaction a table: the lock, which stops no reader and no writer, is held for one at a time.
        async with database.write(patient=True) as session:
            await session.execute(text(f"ANALYZE {table}"))
    await clean_pending_postings(database)


async def _known_postings(session: ReadSession | WriteSession) -> float:
    """How many rows the planner believes the table to have; -1 before anything is known."""
    found = await session.scalar(text("SELECT reltuples FROM pg_class WHERE oid = 'index_postings'::regclass"))
    return -1.0 if found is None else float(found)
