"""Methods of a benchmark are judged on the same learners, seed by seed, whatever they are and at every κ."""

from dataclasses import replace

import numpy as np
import pytest

from mccpo.env import make
from mccpo.exact import Values
from mccpo.experiments.benchmark.evaluation import evaluate_networks, evaluate_rule
from mccpo.experiments.problem import Problem
from mccpo.methods import method_arrays, method_spec
from mccpo.methods.gradient.rollout import network_of
from mccpo.methods.rules import RandomReady

ENV = make("tutor-15", K0=0.62, horizon=12)
ANCHOR = Values(5.0, {"c2": 0.9, "c3": 1.0, "c4": 2.0}, 6.0, 1.0, 0.0, 1.0, 0.0)
PROBLEM = Problem("tutor-15", ENV, ENV, ANCHOR, ANCHOR)


def judged(parameters, protocol):
    spec, network = replace(method_spec("mc-cpo"), shared=False), network_of(ENV)
    return evaluate_networks(PROBLEM, ENV, method_arrays(spec, ENV), network, parameters, protocol, protocol.seed)


def test_networks_and_rules_are_judged_on_the_same_learners(small):
    """A network that knows nothing picks at random among what is ready, as a rule does."""
    protocol = replace(small, seed=3)
    networks = judged(np.zeros((2, protocol.seeds, network_of(ENV).size), np.float32), protocol)
    rule, _ = evaluate_rule(PROBLEM, RandomReady(), protocol)
    assert networks[0] == networks[1]  # at both κ
    for ours, theirs in zip(networks[0], rule, strict=True):
        for name in ("ret", "engagement", "gain", "learning", "mastered"):
            assert getattr(ours, name) == pytest.approx(getattr(theirs, name), rel=1e-5)
        assert ours.costs == pytest.approx(theirs.costs, rel=1e-5)
    assert rule[0].ret != rule[1].ret
    other, _ = evaluate_rule(PROBLEM, RandomReady(), small)
    assert other[0].ret != rule[0].ret


def test_what_is_learnt_is_in_the_values(small):
    (values, _), _ = evaluate_rule(PROBLEM, RandomReady(), small)
    assert 0 < values.learning < values.gain  # later gains count for less
    assert 0 <= values.mastered <= 15
