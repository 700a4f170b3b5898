"""Run by Alembic. The connection comes from app/migrating.py, which is the only way in: there is no alembic.ini."""

from alembic import context

from app.models import Base

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=Base.metadata, transaction_per_migration=True)
with context.begin_transaction():
    context.run_migrations()
