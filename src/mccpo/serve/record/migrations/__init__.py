"""How a database of the record comes to have today's tables, whatever it has now."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from mccpo.errors import InputError


def upgrade(connection: Connection) -> None:
    """Brings the tables to the newest version; does nothing where they are."""
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def outdated(connection: Connection) -> bool:
    """Whether the tables are not yet those that this version reads; refuses those of a newer one."""
    found = MigrationContext.configure(connection).get_current_revision()
    scripts = ScriptDirectory.from_config(_config())
    if found is not None and found not in {script.revision for script in scripts.walk_revisions()}:
        raise InputError(
            f"the database was written by a newer mccpo (its tables have the version {found})",
            fix="open it with that mccpo, or a later one",
        )
    return found != scripts.get_current_head()


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
