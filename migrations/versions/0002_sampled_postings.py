"""An index of the sampled postings, by which the words of a question are counted (SPEC R28); statistics on grants."""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    # A subject's grants are in one workspace. Unless the planner knows, it takes a hundred grants for one or none, and
    # searches the titles once for each of them.
    op.execute(
        "CREATE STATISTICS st_source_grants_workspace_id_subject (dependencies, ndistinct, mcv) "
        "ON workspace_id, subject FROM source_grants"
    )
    op.execute("ANALYZE source_grants")
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
