"""An index of the sampled postings, by which the words of a question are counted (SPEC R28)."""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Built while the table is read and written. It waits for transactions that are open, and meanwhile blocks nobody:
    # so it may wait longer than a lock that would. What a build that was cut off left behind is dropped first.
    with op.get_context().autocommit_block():
        op.execute("SET lock_timeout = '10min'")
        op.execute("DROP INDEX CONCURRENTLY IF EXISTS ix_index_postings_sample")
        op.execute(
            "CREATE INDEX CONCURRENTLY ix_index_postings_sample ON index_postings USING gin (index_id, tsv) "
            "WHERE sample = 0"
        )
        op.execute("RESET lock_timeout")
