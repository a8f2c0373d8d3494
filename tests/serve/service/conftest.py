"""Services over empty databases."""

import pytest

from .sandbox import Sandbox


@pytest.fixture
def sandbox(database, release):
    return Sandbox(database, release)


@pytest.fixture
def sqlite_sandbox(tmp_path, release):
    """A sandbox on SQLite, for what has nothing to do with the kind of database."""
    return Sandbox(str(tmp_path / "record.db"), release)
