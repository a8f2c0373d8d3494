"""The paper's simulated table in small: its parts, each of a name of its own."""

import numpy as np
import pytest

from mccpo.experiments import Options, Session, feasibility, training
from mccpo.experiments.paper import reported, tutor
from mccpo.experiments.saved_policies import read_policies, write_policies
from mccpo.methods import NeuralPlan, NeuralProgress, NeuralRuns


def untrained(env, variants, plan, **_):
    """Policies as they would be before training, which is not what this is about."""
    runs = (len(variants), plan.seeds)
    point, costs = np.zeros((*runs, 1)), np.zeros((*runs, 1, len(env.cost_names)))
    policies = np.zeros((*runs, variants[0].learner.network(env).size), np.float32)
    curves = NeuralProgress(point, costs, point, point, costs, point, point)
    return NeuralRuns(policies, policies, costs[:, :, 0], curves, np.array([1]))


def test_levels_that_differ_in_a_late_digit_are_parts_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr(Options, "neural_plan", lambda *_: NeuralPlan(steps=300, seeds=1))
    monkeypatch.setattr(training, "train_variants", untrained)
    monkeypatch.setattr(feasibility, "examine", lambda *_: None)
    kept, stages = [], []
    options = Options(methods=("mc-cpo",), parameters={"horizon": 4}, kappa=(5.0, 5.0000001))
    session = Session(progress=lambda stage, _: stages.append(stage.label), keep=kept.append)
    produced = tutor.produce("tutor-15", (), options, session)
    names = ["tutor-15 κ=5.0", "tutor-15 κ=5.0000001"]
    assert [setting.name for setting in produced.results.settings] == list(produced.curves) == names
    assert produced.results.parts == {name: name for name in names}
    trainings = [stage for stage in stages if "," not in stage]
    assert trainings == ["tutor-15 unconstrained", *names]
    write_policies(tmp_path, kept)
    first, second = read_policies(tmp_path)
    assert (first.part, second.part) == tuple(names)
    for name, budget in second.budgets.items():
        assert budget == pytest.approx(first.budgets[name] * (1 + 2e-8), rel=1e-12)


def test_the_paper_s_rows_stand_where_its_budgets_do():
    """At its κ = 1.02 with 15 concepts; with 25, where its unconstrained policy meets nothing, at κ = 0.9."""
    assert tutor._levels("tutor-15") == (0.9, 1.02)
    assert tutor._levels("tutor-25") == tutor._levels("tutor-15-bkt") == (0.9,)
    assert tutor.BESIDE_PAPER == {"tutor-15": 1.02, "tutor-25": 0.9}
    assert reported.fitted("tutor-15") == {"unconstrained": ("return", "rhsi_ratio", "J_c2", "J_c3", "J_c4")}
    assert reported.fitted("tutor-25") == {}
