"""Run by alembic: migrates over the connection that it is given."""

from alembic import context

from mccpo.serve.record.schema import METADATA

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=METADATA)
context.run_migrations()
