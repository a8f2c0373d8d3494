"""Training by cells: whatever a crew trains, the results and the policies have the same bits as without it."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests import small
from tests.work.here import Here

from mccpo.experiments import Options, Policies, Session, compare
from mccpo.experiments import cells as by_cells
from mccpo.files import dump_json
from mccpo.runs import RunFolder
from mccpo.runs.results import as_document

OPTIONS = Options(
    methods=("mc-cpo", "random-ready"),
    seeds=2,
    kappa=(0.9, 0.7),
    parameters={"horizon": small.HORIZON},
)


@pytest.fixture(autouse=True)
def _small_plans(monkeypatch):
    monkeypatch.setattr(Options, "neural_plan", small.plan)
    monkeypatch.setattr(by_cells, "SEEDS", 1)


def made(session_of):
    """A comparison, and the parameters of its policies."""
    kept: list[Policies] = []
    results = compare.produce("tutor-15", OPTIONS, session_of(kept.append)).results
    return dump_json(as_document([results])), [policies.parameters for policies in kept]


@pytest.fixture(scope="module")
def alone():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Options, "neural_plan", small.plan)
        return made(lambda keep: Session(keep=keep))


def in_folder(folder: Path, crew: Here, keep, *, resume: bool = False) -> Session:
    run_folder = RunFolder(folder, {"run": "x"}, resume=resume)
    return Session(load=run_folder.load, keep=keep, ahead=partial(by_cells.train_ahead, run_folder, crew, None))


def test_seeds_trained_apart_have_the_same_bits(alone, tmp_path):
    crew = Here()
    document, parameters = made(lambda keep: in_folder(tmp_path / "run", crew, keep))
    assert json.loads(document) == json.loads(alone[0])
    for ours, theirs in zip(parameters, alone[1], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    # The anchor, and one method at two levels; two seeds, a cell each.
    assert len(crew.done) == len(set(crew.done)) >= 2 * (1 + 2)
    assert not list((tmp_path / "run/checkpoints").glob("*runs*"))


@pytest.mark.slow
def test_what_cells_left_is_not_trained_again(alone, tmp_path):
    made(lambda keep: in_folder(tmp_path / "run", Here(), keep))
    crew = Here()
    document, _ = made(lambda keep: in_folder(tmp_path / "run", crew, keep, resume=True))
    assert crew.done == []
    assert json.loads(document) == json.loads(alone[0])


def test_tables_made_apart_are_the_same(tmp_path):
    options = Options(methods=("mc-cpo",), seeds=2, episodes=80)
    tables = {name: partial(compare.produce, name) for name in ("gate", "chain")}
    run_folder = RunFolder(tmp_path / "run", {"run": "x"})
    produced, stored = by_cells.produce_tables(tables, options, run_folder, Here(), Session, None)
    for name, produce in tables.items():
        alone = produce(options, Session())
        assert dump_json(produced[name].results.as_json()) == dump_json(alone.results.as_json())
        assert produced[name].curves.keys() == alone.curves.keys()
    assert stored == []  # finite environments have tables, which are in the results
    assert not (tmp_path / "run/cells").exists()
