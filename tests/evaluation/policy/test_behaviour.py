"""What a policy does, against policies whose every step is known."""

import numpy as np
import pytest

from mccpo.env import make
from mccpo.evaluation.policy import by_group, observe
from mccpo.methods import NetworkPolicies, PrimalDual, evaluate_neural, method_arrays, method_spec, network_of

FREE = method_spec("unconstrained")


def always(env, action):
    """A policy that chooses one action whatever it sees."""
    network = network_of(env)
    policy = np.zeros(network.size, np.float32)
    policy[network.size - network.actions - network.signals + action] = 1e3
    return policy


def watch(env, action, *, episodes):
    """What the policy that always chooses an action does."""
    method = PrimalDual(method_arrays(FREE, env))
    return observe(env, NetworkPolicies(method, always(env, action)[None]), 0, episodes=episodes, seed=0)


@pytest.fixture(scope="module")
def first():
    """The tutor that repeats the first concept for ever."""
    env = make("tutor-15")
    return env, watch(env, 0, episodes=3)


def test_mastery_follows_what_is_taught(first):
    env, seen = first
    steps = np.arange(env.horizon + 1)
    np.testing.assert_allclose(seen.mastery[:, 0], 1 - 0.8 * 0.92**steps, atol=1e-5)
    np.testing.assert_allclose(seen.mastery[:, 1:], 0.2, atol=1e-6)
    assert (seen.chosen[:, 0] == 1).all()
    assert not seen.chosen[:, 1:].any()


def test_what_never_opens_counts_as_the_horizon(first):
    env, seen = first
    np.testing.assert_array_equal(seen.ready.sum(axis=0), [100] * 3 + [0] * 12)
    np.testing.assert_allclose(seen.unlock, 12 * env.horizon / 15)
    np.testing.assert_allclose(seen.restriction, 12 / 15, rtol=1e-6)


def test_a_concept_unlocks_at_the_step_it_becomes_ready():
    """Concept 4 needs 1 alone, and 0.92^n · 0.8 ≤ 0.3 first holds at n = 12: it is ready as step 12 begins."""
    env = make("tutor-15")
    seen = watch(env, 1, episodes=3)
    assert seen.ready[:, 4].argmax() == 12
    np.testing.assert_allclose(seen.unlock, (12 + 11 * env.horizon) / 15)


def test_activities_are_told_by_their_concept():
    env = make("tutor-15", activities=("hint", "practice"), horizon=20)
    seen = watch(env, 5, episodes=2)  # concept 2 by practice
    assert (seen.chosen[:, 2] == 1).all()
    assert seen.ready.shape == (20, 15)


def test_groups_fare_as_they_learn():
    env = make("tutor-15-bkt")
    seen = watch(env, 14, episodes=300)
    fared = by_group(env, seen)
    assert list(fared) == ["all", "fast", "typical", "slow"]
    steps = np.bincount(seen.group, minlength=3)
    assert steps.min() > 60
    untrue = np.array([fared[name]["true_violation_rate"] for name in ("fast", "typical", "slow")])
    assert untrue[0] < untrue[1] < untrue[2]  # the last concept's prerequisites are known at the start more often
    np.testing.assert_allclose(steps @ untrue / steps.sum(), fared["all"]["true_violation_rate"], rtol=1e-5)
    assert fared["all"]["prerequisite_violation_rate"] == 1.0


def test_a_tutor_without_groups_has_everyone(first):
    env, seen = first
    assert list(by_group(env, seen)) == ["all"]


def test_observed_episodes_are_worth_what_evaluation_says(first):
    env, seen = first
    evaluated = evaluate_neural(env, [FREE], always(env, 0)[None, None], episodes=3, seed=0)
    np.testing.assert_allclose(seen.episodes.ret, evaluated.ret[0, 0], rtol=1e-6)
    np.testing.assert_allclose(seen.episodes.costs, evaluated.costs[0, 0], rtol=1e-6)
