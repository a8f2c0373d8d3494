"""Brings the tables of a record's database to the newest version."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from mccpo.errors import InputError


def upgrade(connection: Connection) -> None:
    """Migrates the tables to the newest version; does nothing if they have it."""
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def outdated(connection: Connection) -> bool:
    """Whether the tables need a migration; refuses tables of a newer mccpo."""
    revision = MigrationContext.configure(connection).get_current_revision()
    scripts = ScriptDirectory.from_config(_config())
    if revision is not None and revision not in {script.revision for script in scripts.walk_revisions()}:
        raise InputError(
            f"the database was written by a newer mccpo (its tables have the version {revision})",
            fix="open it with that mccpo, or a later one",
        )
    return revision != scripts.get_current_head()


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
