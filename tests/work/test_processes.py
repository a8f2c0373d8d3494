"""Cells by several processes: which waits for which, and what becomes of a process that dies."""

import importlib
import os
import sys

import pytest

from mccpo.work import Cell, Ending, Processes

# In a file of their own: what a process is to do must be something that it can import.
MODULE = """
import os, signal, time
from pathlib import Path


def note(folder, name):
    begun = time.time()
    if name == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "wrong":
        raise ValueError("what is\\nwrong")
    if name.startswith("first"):
        time.sleep(0.3)
    path = folder / name
    path.write_text(f"{begun} {time.time()} {len(os.sched_getaffinity(0))}")
    return path


def hang():
    time.sleep(1000)
"""


@pytest.fixture(scope="module", autouse=True)
def theirs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("module")
    (folder / "their_cells.py").write_text(MODULE)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield importlib.import_module("their_cells")
        patch.delitem(sys.modules, "their_cells")


@pytest.fixture(scope="module")
def done(theirs, tmp_path_factory):
    """Two groups of cells whose first must end before the others begin; one is killed, one is wrong, one waits."""
    folder, ended = tmp_path_factory.mktemp("cells"), {}

    def cell(name, *after):
        return Cell(name, "their_cells:note", (folder, name), after)

    cells = [
        cell("first a"),
        cell("a", "first a"),
        cell("killed", "first a"),
        cell("first b"),
        cell("wrong", "first b"),
    ]
    cells += [cell("b", "first b"), cell("left", "wrong"), cell("left too", "left")]
    Processes(2).do(cells, lambda cell, ending: ended.__setitem__(cell.name, ending))
    times = {path.name: [float(time) for time in path.read_text().split()] for path in folder.iterdir()}
    return folder, ended, times


def test_cells_wait_for_those_named_only(done):
    _, _, times = done
    assert times["first a"][1] <= times["a"][0]
    assert times["first b"][1] <= times["b"][0]
    assert times["first b"][0] < times["a"][1]  # the second place was not left empty


def test_a_dead_process_is_reported_and_others_go_on(done):
    folder, ended, times = done
    well = ("first a", "first b", "a", "b")
    assert ended == {
        **{name: Ending("done", path=str(folder / name)) for name in well},
        "killed": Ending("crashed", "its process was ended by SIGKILL"),
        "wrong": Ending("error", "ValueError: what is wrong"),
    }
    assert set(times) == set(well)


def test_cores_are_shared_out(done):
    _, _, times = done
    whole = len(os.sched_getaffinity(0))
    assert {cores for _, _, cores in times.values()} <= {max(1, whole // 2), -(-whole // 2)}


def test_a_cell_that_takes_too_long_is_ended():
    ended = []
    Processes(1).do([Cell("long", "their_cells:hang", limit=0.2)], lambda _, ending: ended.append(ending))
    assert [ending.how for ending in ended] == ["timed out"]
