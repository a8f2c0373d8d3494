"""Pairs by several processes: who waits for whom, what becomes of a process that dies; nothing else differs."""

import importlib
import os
import sys
from functools import partial

import polars as pl
import pytest

from mccpo.experiments import Session
from mccpo.experiments.benchmark.jobs import Job, share_out
from mccpo.experiments.benchmark.pairs import Benchmark
from mccpo.experiments.benchmark.suite import run

A, B = Job("a"), Job("b")
PAIRS = [Job("a", "x"), Job("a", "y"), Job("b", "x"), Job("b", "y")]


# In a file of their own: what a process is to do must be something that it can import.
MODULE = """
import os, signal, time

from mccpo.env import make
from mccpo.experiments.benchmark.environments import World
from mccpo.experiments.benchmark.jobs import Job
from mccpo.experiments.benchmark.methods import Ruling, entrant


def note(folder, job):
    begun = time.time()
    if job == Job("a", "y"):
        os.kill(os.getpid(), signal.SIGKILL)
    if job == Job("b", "x"):
        raise ValueError("what is\\nwrong")
    if job.method is None:
        time.sleep(0.3)
    (folder / f"{job.environment}-{job.method}").write_text(f"{begun} {time.time()} {len(os.sched_getaffinity(0))}")


def dies():
    os._exit(3)


def load(name):
    return Ruling(name, dies) if name == "dying" else entrant(name)


def place(name, _data):
    return World(env := make(name), env)
"""


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("module")
    (folder / "their_jobs.py").write_text(MODULE)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield importlib.import_module("their_jobs")
        patch.delitem(sys.modules, "their_jobs")


@pytest.fixture(scope="module")
def shared(theirs, tmp_path_factory):
    folder, ended = tmp_path_factory.mktemp("jobs"), {}
    share_out([A, *PAIRS[:2], B, *PAIRS[2:]], 2, partial(theirs.note, folder), ended.__setitem__)
    times = {path.name: [float(time) for time in path.read_text().split()] for path in folder.iterdir()}
    return ended, times


def test_pairs_wait_for_what_their_environment_needs_first_and_not_for_another_environment(shared):
    _, times = shared
    assert times["a-None"][1] <= times["a-x"][0]
    assert times["b-None"][1] <= times["b-y"][0]
    assert times["b-None"][0] < times["a-x"][1]  # the second place was not left empty


def test_a_process_that_dies_is_told_of_and_the_others_go_on(shared):
    ended, times = shared
    failed = {PAIRS[1]: "its process was ended by SIGKILL", PAIRS[2]: "ValueError: what is wrong"}
    assert ended == {A: "", B: "", PAIRS[0]: "", PAIRS[3]: ""} | failed
    assert set(times) == {"a-None", "b-None", "a-x", "b-y"}


def test_cores_are_shared_out(shared):
    _, times = shared
    whole = len(os.sched_getaffinity(0))
    assert {cores for _, _, cores in times.values()} <= {max(1, whole // 2), -(-whole // 2)}


def test_a_benchmark_is_the_same_by_several_processes_but_for_a_method_that_ends_its_own(theirs, small, tmp_path):
    asked = Benchmark("tiny", ("random-ready", "dying"), ("gate",), small, load=theirs.load, open=theirs.place)
    told = []
    shared = run(tmp_path / "shared", asked, Session(), jobs=2, told=told.append)
    alone = Benchmark("tiny", ("random-ready",), ("gate",), small, load=theirs.load, open=theirs.place)
    run(tmp_path / "alone", alone, Session())
    rows = [pl.read_parquet(tmp_path / name / "rows.parquet").drop("seconds") for name in ("shared", "alone")]
    assert rows[0].filter(method="random-ready").equals(rows[1])
    died = rows[0].filter(method="dying")
    assert set(died["status"]) == {"crashed"}
    assert set(died["why"]) == {"its process ended with 3"}
    assert {trial.method: trial.status for trial in told} == {"random-ready": "done", "dying": "crashed"}
    seconds = shared["methods"]["random-ready"]["seconds"]["gate"]
    assert seconds["all"] > 0
    assert seconds["device"] == "cpu"
    # What crashed stays so when it is resumed, as anything that failed.
    again = run(tmp_path / "shared", asked, Session(), jobs=2, resume=True)
    assert again["cells"] == shared["cells"]
