"""Brings the tables of a record's database to the newest version."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from mccpo.errors import InputError
from mccpo.serve.record.keyring import Keyring
from mccpo.serve.record.schema import METADATA

_SEALED = "0007"
"""The version from which on nothing in the database can be read that identifies a person."""


def upgrade(connection: Connection, keyring: Keyring) -> bool:
    """Migrates the tables to the newest version; returns whether names that could be read were sealed by it."""
    config = _config()
    config.attributes["connection"], config.attributes["keyring"] = connection, keyring
    revision = MigrationContext.configure(connection).get_current_revision()
    command.upgrade(config, "head")
    return revision is not None and revision < _SEALED


def downgrade(connection: Connection, revision: str) -> None:
    """Takes the tables back to an earlier version, so that the mccpo of that time can open them again."""
    versions = sorted(script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions())
    current = MigrationContext.configure(connection).get_current_revision()
    possible = [version for version in versions if _SEALED <= version <= (current or "")]
    if revision not in possible:
        named = ", ".join(possible) or "none"
        raise InputError(
            f"the tables cannot go back to the version {revision!r}",
            fix=f"choose from {named}; for what is older, restore a backup of that time",
        )
    config = _config()
    config.attributes["connection"] = connection
    command.downgrade(config, revision)


def create(connection: Connection) -> None:
    """Makes the tables of the newest version in an empty database, with nothing in them, not even a head."""
    config = _config()
    config.attributes["connection"] = connection
    METADATA.create_all(connection)
    command.stamp(config, "head")


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
