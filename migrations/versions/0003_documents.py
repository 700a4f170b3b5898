"""Documents that clients name by their hash."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.create_table(
        "persisted_documents",
        sa.Column("workspace_id", sa.UUID(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column(
            "registered_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name="fk_persisted_documents_workspace_id"),
        sa.PrimaryKeyConstraint("workspace_id", "sha256", name="pk_persisted_documents"),
    )
    op.create_index(
        "ix_persisted_documents_workspace_id_registered_at", "persisted_documents", ["workspace_id", "registered_at"]
    )
    op.create_table(
        "trusted_documents",
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column(
            "registered_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.PrimaryKeyConstraint("sha256", name="pk_trusted_documents"),
    )
