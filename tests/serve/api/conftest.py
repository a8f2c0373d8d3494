"""Services for the tests of the API: one without keys, and one with a key for each role of two tenants."""

import pytest

from mccpo.env import make
from mccpo.serve.access import ROLES, KeyFile
from mccpo.serve.policy import load_release

from ..client import serving  # noqa: TID252 - shared by the folders of these tests


@pytest.fixture(scope="session")
def runs(run_of):
    """A folder that holds three runs: one to serve, one like it, and one with another curriculum."""
    made = {
        name: run_of(make("tutor-15", concepts=concepts, horizon=20), scale=scale)
        for name, concepts, scale in (("first", 6, 0.3), ("second", 6, 0.4), ("stranger", 5, 0.3))
    }
    folder = made["first"].parent
    return folder, {name: path.name for name, path in made.items()}


@pytest.fixture(scope="session")
def release(runs):
    folder, names = runs
    return load_release(folder / names["first"])


@pytest.fixture(scope="module")
def api(release, runs, tmp_path_factory):
    """A service without keys, which tests share; each has learners of its own."""
    with serving(release, tmp_path_factory.mktemp("record") / "record.db", runs=runs[0]) as api:
        yield api


@pytest.fixture(scope="module")
def keyed(release, runs, tmp_path_factory):
    """A service with a key for each role of two tenants: {(tenant, role): client}."""
    folder = tmp_path_factory.mktemp("keyed")
    keys = KeyFile(folder / "keys.json")
    pairs = [(tenant, role) for tenant in ("north", "south") for role in ROLES]
    texts = {pair: keys.create(*pair)[1] for pair in pairs}
    with serving(release, folder / "record.db", keys=keys, runs=runs[0]) as found:
        yield {pair: found.as_(text) for pair, text in texts.items()} | {"nobody": found, "texts": texts, "keys": keys}
