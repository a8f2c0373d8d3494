"""How a database of the record comes to have today's tables, whatever it has now."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection


def upgrade(connection: Connection) -> None:
    """Brings the tables to the newest version; does nothing where they are."""
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def outdated(connection: Connection) -> bool:
    """Whether the tables are not those that this version reads."""
    return MigrationContext.configure(connection).get_current_revision() != newest()


def newest() -> str | None:
    """The newest version of the tables."""
    return ScriptDirectory.from_config(_config()).get_current_head()


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
