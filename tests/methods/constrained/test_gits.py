"""GITS: it plays and learns with the graph network, and the budgets are nothing to it."""

import inspect
import re

import jax
import numpy as np
import pytest

from mccpo.env import make
from mccpo.methods import NeuralPlan
from mccpo.methods.constrained.gits import GITS
from mccpo.methods.gradient.graph_network import GraphNetwork
from mccpo.methods.gradient.rollout import Sizes
from mccpo.methods.gradient.settings import PPOSettings
from mccpo.methods.gradient.training import Variant, train_variants

ENV = make("chain")
PLAN = NeuralPlan(steps=700, seeds=1, sizes=Sizes(environments=8, rollout=16, minibatch=64, epochs=2), validation=8)


@pytest.mark.slow
def test_it_trains_within_the_mask_repeats_and_minds_no_budget():
    learner = GITS()
    network = learner.network(ENV)
    assert isinstance(network, GraphNetwork)
    variants = [Variant(learner, {"c2": 0.1, "c4": 0.1}), Variant(learner, {})]
    runs = train_variants(ENV, variants, PLAN)
    assert runs.selected.shape == (2, 1, network.size)
    for leaf in jax.tree.leaves((runs.selected, runs.last, runs.curves)):
        assert np.isfinite(leaf).all()
    assert not runs.curves.violation_steps.any()
    assert not runs.multipliers.any()
    np.testing.assert_array_equal(runs.last[0], runs.last[1])
    np.testing.assert_array_equal(train_variants(ENV, variants, PLAN).last, runs.last)
    assert not np.array_equal(runs.last[0, 0], network.init(jax.random.key(0)))


def test_the_settings_that_are_searched_are_six_and_its_documentation_has_its_parts():
    first, *others = GITS.search
    assert not first
    assert len(others) == 5
    for setting in others:
        for name, value in setting.items():
            assert getattr(PPOSettings(), name.removeprefix("settings.")) != value
    parts = re.findall(r"^\*\*(.+?):\*\*", inspect.getdoc(GITS), re.M)
    assert parts == ["Problem", "Source", "Departures", "When to use it"]
