"""Environments from real data, by name."""

from itertools import pairwise

import pytest

from mccpo.curriculum import Curriculum
from mccpo.env import PreparedTutor, describe_environment, make, registered, train_and_test
from mccpo.experiments.prepare.environments import NoData
from mccpo.files import dump_json


def test_they_are_known_by_name():
    names = {"junyi-2015-14", "junyi-2015-100", "junyi-2015-835", "assistments-2009"}
    assert {name for name, entry in registered().items() if entry.needs_data} == names


def test_without_data_they_say_so(monkeypatch, tmp_path):
    monkeypatch.delenv("MCCPO_DATA", raising=False)
    with pytest.raises(NoData, match="no data: it is made of logs; name their folder with --data or MCCPO_DATA"):
        make("assistments-2009")
    with pytest.raises(NoData, match="no data"):
        train_and_test("junyi-2015-14", tmp_path)


def test_data_prepared_before_is_taken_as_it_is(tmp_path, monkeypatch):
    names = [f"concept-{number}" for number in range(20)]
    edges = list(pairwise(names))
    same = {"K0": [0.5] * 20, "eta": [0.1] * 20, "guess": [0.2] * 20, "slip": [0.1] * 20}
    tutor = PreparedTutor(curriculum=Curriculum(edges, names, dict.fromkeys(names, 0.5)), horizon=30, **same)
    (tmp_path / "junyi-2015").mkdir()
    file = tmp_path / "junyi-2015/tutor.json"
    file.write_text(dump_json({"environment": tutor.name, "parameters": describe_environment(tutor)}))
    assert train_and_test("junyi-2015-14", tmp_path).train.num_actions == 14
    assert make("junyi-2015-14", data=str(tmp_path)).num_actions == 14
    monkeypatch.setenv("MCCPO_DATA", str(tmp_path))
    assert make("junyi-2015-14").num_actions == 14
    with pytest.raises(NoData):
        make("assistments-2009", data=tmp_path)
    (tmp_path / "assistments-2009").mkdir()
    (tmp_path / "assistments-2009/tutor.json").write_text('{"environment": "gate", "parameters": {}}')
    with pytest.raises(NoData, match="is of no logs"):
        make("assistments-2009", data=tmp_path)


def test_a_prepared_folder_here_goes_before_such_a_name(tmp_path, monkeypatch):
    (tmp_path / "assistments-2009").mkdir()
    (tmp_path / "assistments-2009/tutor.json").write_text('{"environment": "gate", "parameters": {"R": 0.3}}')
    monkeypatch.chdir(tmp_path)
    assert make("assistments-2009").R == 0.3
