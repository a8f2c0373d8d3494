"""`mccpo benchmark --ray` on a real cluster of two nodes of one core each: the same rows as without Ray."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest
from tests.work.conftest import QUIET

METHODS = "random-ready,curriculum-order,mastery-learning,greedy-gain,unconstrained,mc-cpo"
ASKED = ["--envs", "gate,chain", "--methods", METHODS, "--seeds", "2", "--steps", "400", "--no-search", "--no-cache"]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.filterwarnings("ignore:.*os.fork", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "mccpo", "benchmark", *ASKED, *arguments]


def rows_in(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "rows.parquet").drop("seconds")


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    subprocess.run(command("--out", str(folder / "run")), check=True, cwd=folder)
    return rows_in(folder / "run")


@contextmanager
def running(*arguments: str, folder: Path) -> Iterator[subprocess.Popen]:
    """The command, which does not outlive the test."""
    process = subprocess.Popen(command(*arguments), cwd=folder)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def finished(folder: Path) -> int:
    return len(list(folder.glob("cells/*/*/manifest.json")))


def wait_for(met, seconds: float = 600) -> None:
    until = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < until
        time.sleep(0.2)


def test_twelve_cells_are_the_same_when_ctrl_c_came_between(two_nodes, alone, tmp_path):
    """Ctrl-C ends the command with 130 and its cells with it; --resume goes on, and finished pairs stay."""
    run = tmp_path / "run"
    with running("--ray", two_nodes.address, "--out", str(run), folder=tmp_path) as begun:
        wait_for(lambda: finished(run) >= 2)
        begun.send_signal(signal.SIGINT)
        assert begun.wait(60) == 130
    kept = {path: path.stat().st_mtime_ns for path in run.glob("cells/*/*/manifest.json")}
    assert 2 <= len(kept) < 12
    time.sleep(3)
    assert finished(run) == len(kept)  # nothing goes on by itself
    subprocess.run(command("--ray", two_nodes.address, "--out", str(run), "--resume"), check=True, cwd=tmp_path)
    assert finished(run) == 12
    assert kept.items() <= {path: path.stat().st_mtime_ns for path in run.glob("cells/*/*/manifest.json")}.items()
    assert rows_in(run).equals(alone)


def test_a_node_that_is_killed_changes_nothing(two_nodes, alone, tmp_path):
    run = tmp_path / "run"
    with running("--ray", two_nodes.address, "--out", str(run), folder=tmp_path) as begun:
        wait_for(lambda: finished(run) >= 2)
        two_nodes.kill_second()
        assert begun.wait(1000) == 0
    assert rows_in(run).equals(alone)


def test_what_runs_out_of_memory_is_its_row(tmp_path):
    """On a node that Ray takes to be full from the start: every cell there is ended by Ray, and none is tried again."""
    env = os.environ | {"RAY_memory_usage_threshold": "0.001", "RAY_memory_monitor_refresh_ms": "50"}
    env |= QUIET
    program = """
import sys
from ray.cluster_utils import Cluster
from mccpo.work import Cell, RayCluster
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "node_ip_address": "127.0.0.1",
                  "include_dashboard": False, "object_store_memory": 80 * 2**20})
ended = []
RayCluster(cluster.address).do([Cell("large", "time:sleep", (60,))], lambda _, ending: ended.append(ending))
cluster.shutdown()
print(ended[0].how, ended[0].why)
"""
    told = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    assert "crashed its node ran out of memory, and Ray ended it" in told.stdout
