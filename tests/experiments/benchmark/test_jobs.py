"""Pairs by several processes: a process that dies is a row, and nothing else differs."""

import importlib
import sys
from dataclasses import replace

import polars as pl
import pytest

from mccpo.errors import MccpoError
from mccpo.experiments import Session
from mccpo.experiments.benchmark import Workers, jobs
from mccpo.experiments.benchmark.pairs import Benchmark
from mccpo.experiments.benchmark.suite import run
from mccpo.runs.benchmark import NotRun
from mccpo.work import Processes

TWO = Workers(Processes(2))


# In a file of their own: what a process is to do must be something that it can import.
MODULE = """
import multiprocessing, os, signal, time

from mccpo.env import make
from mccpo.env import TrainTest
from mccpo.methods import RuleEntry, method_entry


def dies():
    os._exit(3)


def ends():
    os._exit(0)


def hangs():
    time.sleep(1000)


def prints():
    print("hello")
    return method_entry("random-ready").build()


RULES = {"dying": dies, "ending": ends, "hanging": hangs, "printing": prints}


def load(name):
    return RuleEntry(name, name, "", RULES[name]) if name in RULES else method_entry(name)


def place(name, _data):
    if name == "killing" and multiprocessing.parent_process() is not None:
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "killing":
        return TrainTest(env := make("tutor-15"), env)  # to be trained in, which is not to happen here
    return TrainTest(env := make(name), env)
"""


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("module")
    (folder / "their_jobs.py").write_text(MODULE)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield importlib.import_module("their_jobs")
        patch.delitem(sys.modules, "their_jobs")


@pytest.fixture
def asked(theirs, small):
    def asked(*methods, environments=("gate",), **protocol):
        return Benchmark("tiny", methods, environments, replace(small, **protocol), load=theirs.load, open=theirs.place)

    return asked


def rows_in(folder):
    return pl.read_parquet(folder / "rows.parquet").drop("seconds")


def test_several_processes_give_the_same_results(asked, tmp_path, capfd):
    """Also where an environment ends its process: that one is left."""
    methods, trials = ("printing", "dying", "ending"), []
    whole = asked(*methods, environments=("killing", "gate"))
    shared = run(tmp_path / "shared", whole, Session(), after_trial=trials.append, workers=TWO)
    assert "hello" not in capfd.readouterr().out
    run(tmp_path / "alone", asked("printing"), Session())
    rows = rows_in(tmp_path / "shared").filter(environment="gate")
    assert rows.filter(method="printing").equals(rows_in(tmp_path / "alone"))
    found = {row["method"]: (row["status"], row["why"]) for row in rows.iter_rows(named=True)}
    assert found["dying"] == ("crashed", "its process ended with 3")
    assert found["ending"] == ("crashed", "its process ended without a result")
    assert {trial.method: trial.status for trial in trials} == {method: found[method][0] for method in methods}
    assert shared.environments["killing"] == NotRun("its process was ended by SIGKILL")
    assert found["printing"][0] == "done"
    seconds = shared.methods["printing"].seconds["gate"]
    assert seconds.all > 0
    assert seconds.device == "cpu"


@pytest.mark.slow
def test_what_crashed_stays_so_when_it_is_resumed(asked, tmp_path):
    """As anything that failed."""
    whole = asked("printing", "dying")
    first, again = (run(tmp_path, whole, Session(), workers=TWO, resume=resume) for resume in (False, True))
    assert again.findings.cells == first.findings.cells


def test_a_process_that_hangs_is_ended(asked, tmp_path, monkeypatch):
    """Alone: a limit that is soon reached would end others, too, on a busy machine."""
    monkeypatch.setattr(jobs, "GRACE", 1.0)
    trials = []
    run(tmp_path, asked("hanging", limit=0.1), Session(), after_trial=trials.append, workers=TWO)
    assert set(rows_in(tmp_path)["status"]) == {"timed out"}
    assert [(trial.method, trial.status) for trial in trials] == [("hanging", "timed out")]


@pytest.mark.slow
def test_what_cannot_be_written_is_no_fault_of_the_method(asked, tmp_path):
    """It stops, and is tried again: a pair that says it crashed would stay so."""
    (tmp_path / "cells").mkdir()
    (tmp_path / "cells/gate").write_text("in the way")
    with pytest.raises(MccpoError, match="gate random-ready: "):
        run(tmp_path, asked("random-ready"), Session(), workers=TWO)
    (tmp_path / "cells/gate").unlink()
    results = run(tmp_path, asked("random-ready"), Session(), workers=TWO, resume=True)
    assert {cell.status for cell in results.findings.cells} == {"done"}
