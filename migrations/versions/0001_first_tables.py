"""The first tables.

Every key is led by workspace_id, so that all of them distribute by it. What PostgreSQL must know beyond the columns
(storage, statistics) is set here, where the tables are made.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    # The searched rows' GIN index leads with a uuid; the extension is a trusted one, so an owner may make it.
    op.execute("CREATE EXTENSION IF NOT EXISTS btree_gin")
    _access_and_library()
    _knowledge_bases()
    _postings()


def _access_and_library() -> None:
    op.create_table(
        "workspaces",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_workspaces"),
        sa.UniqueConstraint("name", name="uq_workspaces_name"),
    )
    op.create_table(
        "workspace_grants",
        sa.Column("workspace_id", sa.UUID(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("workspace_read_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("library_read_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("library_manage_until", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name="fk_workspace_grants_workspace_id"),
        sa.PrimaryKeyConstraint("workspace_id", "subject", name="pk_workspace_grants"),
    )
    op.create_table(
        "sources",
        sa.Column("workspace_id", sa.UUID(), nullable=False),
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("private", sa.Boolean(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("external_id", sa.Text(), nullable=True),
        sa.Column("lifecycle", sa.Text(), server_default=sa.text("'ACTIVE'"), nullable=False),
        sa.Column("availability", sa.Text(), server_default=sa.text("'AVAILABLE'"), nullable=False),
        sa.Column("title_key", sa.LargeBinary(), nullable=False),
        sa.Column("title_tsv", postgresql.TSVECTOR(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("attempt", sa.SmallInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("run_after", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("leased_by", sa.Text(), nullable=True),
        sa.CheckConstraint("availability IN ('AVAILABLE', 'UNAVAILABLE')", name="ck_sources_availability"),
        sa.CheckConstraint("lifecycle IN ('ACTIVE', 'DELETING')", name="ck_sources_lifecycle"),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name="fk_sources_workspace_id"),
        sa.PrimaryKeyConstraint("workspace_id", "id", name="pk_sources"),
        sa.UniqueConstraint("workspace_id", "external_id", name="uq_sources_workspace_id_external_id"),
    )
    op.create_index(
        "ix_sources_purge", "sources", ["workspace_id", "run_after"], postgresql_where=sa.text("lifecycle = 'DELETING'")
    )
    op.create_index(
        "ix_sources_title",
        "sources",
        ["workspace_id", "title_tsv"],
        postgresql_using="gin",
        postgresql_with={"fastupdate": "off"},
    )
    op.create_index("ix_sources_workspace_id_title_key", "sources", ["workspace_id", "title_key"])
    op.create_table(
        "source_grants",
        sa.Column("workspace_id", sa.UUID(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("source_id", sa.UUID(), nullable=False),
        sa.Column("owner", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("read_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("details_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("content_until", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["workspace_id", "source_id"],
            ["sources.workspace_id", "sources.id"],
            name="fk_source_grants_workspace_id_source_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("workspace_id", "subject", "source_id", name="pk_source_grants"),
    )
    op.create_index("ix_source_grants_workspace_id_source_id", "source_grants", ["workspace_id", "source_id"])
    op.create_table(
        "source_versions",
        sa.Column("workspace_id", sa.UUID(), nullable=False),
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("source_id", sa.UUID(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("file_name", sa.Text(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("kept", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("status", sa.Text(), server_default=sa.text("'PENDING'"), nullable=False),
        sa.Column("status_reason", sa.Text(), nullable=True),
        sa.Column("passage_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("attempt", sa.SmallInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("run_after", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("leased_by", sa.Text(), nullable=True),
        sa.CheckConstraint("status IN ('PENDING', 'INDEXED', 'FAILED')", name="ck_source_versions_status"),
        sa.ForeignKeyConstraint(
            ["workspace_id", "source_id"],
            ["sources.workspace_id", "sources.id"],
            name="fk_source_versions_workspace_id_source_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("workspace_id", "id", name="pk_source_versions"),
        sa.UniqueConstraint(
            "workspace_id", "source_id", "number", name="uq_source_versions_workspace_id_source_id_number"
        ),
    )
    op.create_index(
        "ix_source_versions_pending",
        "source_versions",
        ["workspace_id", "run_after"],
        postgresql_where=sa.text("status = 'PENDING'"),
    )
    op.create_index("ix_source_versions_workspace_id_sha256", "source_versions", ["workspace_id", "sha256"])
    op.create_table(
        "version_access",
        sa.Column("workspace_id", sa.UUID(), nullable=False),
        sa.Column("version_id", sa.UUID(), nullable=False),
        sa.Column("source_id", sa.UUID(), nullable=False),
        sa.Column("private", sa.Boolean(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("available", sa.Boolean(), nullable=False),
        sa.Column("kept", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["workspace_id", "version_id"],
            ["source_versions.workspace_id", "source_versions.id"],
            name="fk_version_access_workspace_id_version_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("workspace_id", "version_id", name="pk_version_access"),
    )
    op.create_index("ix_version_access_workspace_id_source_id", "version_access", ["workspace_id", "source_id"])
    op.create_table(
        "passages",
        sa.Column("workspace_id", sa.UUID(), nullable=False),
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("source_id", sa.UUID(), nullable=False),
        sa.Column("version_id", sa.UUID(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("start_offset", sa.Integer(), nullable=False),
        sa.Column("end_offset", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("text_hash", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["workspace_id", "version_id"],
            ["source_versions.workspace_id", "source_versions.id"],
            name="fk_passages_workspace_id_version_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("workspace_id", "id", name="pk_passages"),
        sa.UniqueConstraint(
            "workspace_id", "version_id", "ordinal", name="uq_passages_workspace_id_version_id_ordinal"
        ),
    )


def _knowledge_bases() -> None:
    op.create_table(
        "knowledge_bases",
        sa.Column("workspace_id", sa.UUID(), nullable=False),
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("auto_refresh", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("current_index_id", sa.UUID(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name="fk_knowledge_bases_workspace_id"),
        sa.PrimaryKeyConstraint("workspace_id", "id", name="pk_knowledge_bases"),
    )
    op.create_table(
        "knowledge_base_sources",
        sa.Column("workspace_id", sa.UUID(), nullable=False),
        sa.Column("knowledge_base_id", sa.UUID(), nullable=False),
        sa.Column("source_id", sa.UUID(), nullable=False),
        sa.ForeignKeyConstraint(
            ["workspace_id", "knowledge_base_id"],
            ["knowledge_bases.workspace_id", "knowledge_bases.id"],
            name="fk_knowledge_base_sources_workspace_id_knowledge_base_id",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id", "source_id"],
            ["sources.workspace_id", "sources.id"],
            name="fk_knowledge_base_sources_workspace_id_source_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("workspace_id", "knowledge_base_id", "source_id", name="pk_knowledge_base_sources"),
    )
    op.create_index(
        "ix_knowledge_base_sources_workspace_id_source_id", "knowledge_base_sources", ["workspace_id", "source_id"]
    )
    op.create_table(
        "indexes",
        sa.Column("workspace_id", sa.UUID(), nullable=False),
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("knowledge_base_id", sa.UUID(), nullable=True),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("work", sa.Text(), nullable=True),
        sa.Column("done", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("total", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("built_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("failure_reason", sa.Text(), nullable=True),
        sa.Column("attempt", sa.SmallInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("run_after", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("leased_by", sa.Text(), nullable=True),
        sa.CheckConstraint("state IN ('BUILDING', 'READY', 'STALE', 'FAILED', 'RETIRED')", name="ck_indexes_state"),
        sa.CheckConstraint("work IN ('REFRESH', 'REBUILD', 'REPAIR')", name="ck_indexes_work"),
        sa.ForeignKeyConstraint(
            ["workspace_id", "knowledge_base_id"],
            ["knowledge_bases.workspace_id", "knowledge_bases.id"],
            name="fk_indexes_workspace_id_knowledge_base_id",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name="fk_indexes_workspace_id"),
        sa.PrimaryKeyConstraint("workspace_id", "id", name="pk_indexes"),
    )
    op.create_index(
        "ix_indexes_work",
        "indexes",
        ["workspace_id", "run_after"],
        postgresql_where=sa.text("work IS NOT NULL OR state = 'RETIRED'"),
    )
    op.create_index("ix_indexes_workspace_id_knowledge_base_id", "indexes", ["workspace_id", "knowledge_base_id"])
    op.create_index(
        "uq_indexes_open_work",
        "indexes",
        ["workspace_id", "knowledge_base_id"],
        unique=True,
        postgresql_where=sa.text("work IS NOT NULL"),
    )
    op.create_table(
        "index_members",
        sa.Column("workspace_id", sa.UUID(), nullable=False),
        sa.Column("index_id", sa.UUID(), nullable=False),
        sa.Column("source_id", sa.UUID(), nullable=False),
        sa.Column("version_id", sa.UUID(), nullable=False),
        sa.Column("first_passage_id", sa.UUID(), nullable=True),
        sa.Column("passage_count", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["workspace_id", "index_id"],
            ["indexes.workspace_id", "indexes.id"],
            name="fk_index_members_workspace_id_index_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("workspace_id", "index_id", "source_id", name="pk_index_members"),
    )
    op.create_index("ix_index_members_workspace_id_source_id", "index_members", ["workspace_id", "source_id"])
    op.create_table(
        "index_failures",
        sa.Column("workspace_id", sa.UUID(), nullable=False),
        sa.Column("index_id", sa.UUID(), nullable=False),
        sa.Column("source_id", sa.UUID(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["workspace_id", "index_id"],
            ["indexes.workspace_id", "indexes.id"],
            name="fk_index_failures_workspace_id_index_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("workspace_id", "index_id", "source_id", name="pk_index_failures"),
    )
    op.create_index("ix_index_failures_workspace_id_source_id", "index_failures", ["workspace_id", "source_id"])
    # The pointer closes a circle, so its key comes last and in a statement of its own.
    op.create_foreign_key(
        "fk_knowledge_bases_workspace_id_current_index_id",
        "knowledge_bases",
        "indexes",
        ["workspace_id", "current_index_id"],
        ["workspace_id", "id"],
        deferrable=True,
        initially="DEFERRED",
    )


def _postings() -> None:
    op.create_table(
        "index_postings",
        sa.Column("workspace_id", sa.UUID(), nullable=False),
        sa.Column("index_id", sa.UUID(), nullable=False),
        sa.Column("passage_id", sa.UUID(), nullable=False),
        sa.Column("source_id", sa.UUID(), nullable=False),
        sa.Column("version_id", sa.UUID(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("sample", sa.SmallInteger(), nullable=False),
        sa.Column("tsv", postgresql.TSVECTOR(), nullable=False),
        sa.PrimaryKeyConstraint("workspace_id", "index_id", "passage_id", name="pk_index_postings"),
    )
    op.create_index("ix_index_postings_tsv", "index_postings", ["index_id", "tsv"], postgresql_using="gin")
    op.create_index(
        "ix_index_postings_workspace_id_index_id_source_id", "index_postings", ["workspace_id", "index_id", "source_id"]
    )
    # The vectors stand in the row itself: reading them from TOAST makes a search for a common word twice as slow.
    op.execute("ALTER TABLE index_postings ALTER COLUMN tsv SET STORAGE MAIN")
    op.execute("ALTER TABLE index_postings SET (toast_tuple_target = 8160)")
    # An index belongs to one workspace. Unless the planner knows, it takes two common words for rare ones.
    op.execute(
        "CREATE STATISTICS st_index_postings_workspace_id_index_id (dependencies, ndistinct, mcv) "
        "ON workspace_id, index_id FROM index_postings"
    )
