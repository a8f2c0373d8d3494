"""Cells on a real Ray cluster of two nodes: how they end, and under which conditions they run."""

import importlib
import json
import subprocess
import sys

import psutil
import pytest

from mccpo.errors import InputError
from mccpo.work import Cell, Ending, RayCluster

FORKS = pytest.mark.filterwarnings("ignore:.*os.fork", "ignore::pytest.PytestUnraisableExceptionWarning")
"""Ray starts its nodes by a fork, at once followed by another program, which jax warns of where it is loaded."""

MODULE = """
import json, os, signal, sys, time
from pathlib import Path

IMPORTED = "jax" in sys.modules


def tell(path):
    from mccpo.work import cores
    told = {"cores": cores(), "omp": os.environ["OMP_NUM_THREADS"], "data": os.environ.get("MCCPO_DATA")}
    path.write_text(json.dumps(told | {"jax": IMPORTED, "folder": os.getcwd()}))
    return path


def die():
    os.kill(os.getpid(), signal.SIGSEGV)


def fail():
    raise ValueError("what is wrong")


def hang():
    time.sleep(1000)
"""


@pytest.fixture(scope="module", autouse=True)
def theirs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("module")
    (folder / "their_ray_cells.py").write_text(MODULE)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield importlib.import_module("their_ray_cells")
        patch.delitem(sys.modules, "their_ray_cells")


@pytest.mark.slow  # a busy machine may not start a cluster within the half minute that Ray allows
@FORKS
def test_cells_of_every_kind_end_as_they_do_without_ray(two_nodes, tmp_path, monkeypatch):
    """One that crashes or takes too long is an ending, and the others go on; paths come back, not arrays."""
    monkeypatch.setenv("MCCPO_DATA", "somewhere")
    monkeypatch.chdir(tmp_path)
    cells = [
        Cell("dead", "their_ray_cells:die"),
        Cell("wrong", "their_ray_cells:fail"),
        Cell("long", "their_ray_cells:hang", limit=0.5),
        Cell("well", "their_ray_cells:tell", (tmp_path / "told.json",)),
        Cell("left", "their_ray_cells:fail", after=("dead",)),
    ]
    ended = {}
    RayCluster(two_nodes.address).do(cells, lambda cell, ending: ended.__setitem__(cell.name, ending))
    assert ended.pop("long").how == "timed out"
    assert ended == {
        "dead": Ending("crashed", "its process was ended by SIGSEGV"),
        "wrong": Ending("error", "ValueError: what is wrong"),
        "well": Ending("done", path=str(tmp_path / "told.json")),
    }
    told = json.loads((tmp_path / "told.json").read_text())
    assert told == {"cores": 1, "omp": "1", "data": "somewhere", "jax": False, "folder": str(tmp_path)}


@pytest.mark.slow  # a busy machine may not start a cluster within the half minute that Ray allows
@FORKS
def test_nothing_of_it_can_be_reached_from_elsewhere(two_nodes):
    started = [process for process in psutil.Process().children() if process.name() in ("raylet", "gcs_server")]
    assert len(started) == 3
    heard = {each.laddr.ip for one in started for each in one.net_connections() if each.status == "LISTEN"}
    assert heard <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}


@pytest.mark.slow  # a busy machine may not start a cluster within the half minute that Ray allows
@FORKS
def test_more_than_a_node_has_is_refused(two_nodes):
    with pytest.raises(InputError, match="no node of the Ray cluster has 64 CPUs"):
        RayCluster(two_nodes.address, cpus=64).do([Cell("any", "their_ray_cells:fail")], lambda *_: None)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere"])
def test_without_a_cluster_one_line_says_so(address):
    with pytest.raises(InputError, match="no Ray cluster"):
        RayCluster(address).do([Cell("any", "their_ray_cells:fail")], lambda *_: None)


def test_ray_is_not_imported_unless_asked_for():
    program = "import sys, mccpo.work, mccpo.cli.flags; sys.exit('ray' in sys.modules or 'jax' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
