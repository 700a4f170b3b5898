"""An index of grants by source and subject: a search looks up one caller's grants on one source."""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # By the source alone, a look-up went through all who hold something on it. Built as the index of 0002 is.
    with op.get_context().autocommit_block():
        op.execute("SET lock_timeout = '10min'")
        op.execute("DROP INDEX CONCURRENTLY IF EXISTS ix_source_grants_workspace_id_source_id_subject")
        op.execute(
            "CREATE INDEX CONCURRENTLY ix_source_grants_workspace_id_source_id_subject "
            "ON source_grants (workspace_id, source_id, subject)"
        )
        op.execute("DROP INDEX CONCURRENTLY IF EXISTS ix_source_grants_workspace_id_source_id")
        op.execute("RESET lock_timeout")
