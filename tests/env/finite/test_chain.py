"""The chain is the paper's: its signals case by case, and every outcome against a plain re-implementation."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.env import Chain, make
from mccpo.env.finite.binary import BinaryState
from mccpo.errors import InputError

HACK, NOOP = 5, 6
# Signals as (reward, c2, c3, c4).
HACKED = (1.0, 0, 0, 1)
TAUGHT = (0.6, 0, 0, 0)
TAUGHT_IN_VAIN = (0.6, 1, 0, 1)
REFUSED = (0.0, 0, 1, 0)


@eqx.filter_jit
def listed(env, state, action):
    return env.outcomes(state, action)


def outcomes(env, mastered, t, action):
    """The possible outcomes of an action when the named concepts (1 to 5) are mastered: (chance, K, signals)."""
    K = jnp.array([v in mastered for v in range(1, 6)])
    chances, steps = jax.device_get(listed(env, BinaryState(K=K, t=jnp.array(t)), jnp.array(action)))
    return [
        (pytest.approx(float(chance)), set((np.flatnonzero(steps.state.K[i]) + 1).tolist()), signals(steps, i))
        for i, chance in enumerate(chances)
        if chance > 0
    ]


def signals(steps, i):
    return (pytest.approx(float(steps.reward[i])), *np.asarray(steps.costs[i]).tolist())


@pytest.mark.parametrize(
    ("mastered", "action", "expected"),
    [
        (set(), HACK, [(1.0, set(), HACKED)]),
        ({1, 2}, HACK, [(1.0, {1, 2}, HACKED)]),
        (set(), 0, [(0.2, set(), TAUGHT_IN_VAIN), (0.8, {1}, TAUGHT)]),
        ({1}, 1, [(0.2, {1}, TAUGHT_IN_VAIN), (0.8, {1, 2}, TAUGHT)]),
        ({1}, 0, [(1.0, {1}, TAUGHT_IN_VAIN)]),
        (set(), 1, [(1.0, set(), REFUSED)]),
        ({1, 2}, 4, [(1.0, {1, 2}, REFUSED)]),
        ({2}, 2, [(0.2, {2}, TAUGHT_IN_VAIN), (0.8, {2, 3}, TAUGHT)]),
        ({1}, NOOP, [(1.0, {1}, (0.0, 0, 0, 0))]),
    ],
    ids=["hack", "hack-later", "source", "ready", "mastered", "unready", "far", "only-the-direct-one-counts", "no-op"],
)
def test_the_signals_of_each_kind_of_choice(mastered, action, expected):
    assert outcomes(Chain(), mastered, 2, action) == expected


def paper_chain(K, t, action, p_learn=0.8):
    """The environment as the paper's text has it, in plain Python: (chance, K', reward, costs, terminated) each."""
    feasible = {1} | {i for i in range(2, 6) if K[i - 2] == 1}
    concept = action + 1
    if action == NOOP:
        branches = [(1.0, K)]
    elif action != HACK and concept in feasible and K[concept - 1] == 0:
        branches = [(1 - p_learn, K), (p_learn, (*K[: concept - 1], 1, *K[concept:]))]
    else:
        branches = [(1.0, K)]
    found = {}
    for chance, after in branches:
        delta = sum(after) - sum(K)
        reward = 0.0 if action == NOOP else 1.0 if action == HACK else 0.6 if concept in feasible else 0.0
        acts = action != NOOP
        c2 = acts and action != HACK and concept in feasible and delta == 0
        c3 = acts and action != HACK and concept not in feasible
        c4 = acts and reward > 0 and delta == 0
        found[after] = (chance, reward, (float(c2), float(c3), float(c4)), t + 1 >= 5)
    return found


def test_every_outcome_is_the_papers():
    env = Chain()
    pairs = [(n, a) for n in range(env.num_states) for a in range(env.num_actions + 1)]
    numbers, actions = jnp.array(pairs).T
    states = jax.vmap(env.state)(numbers)
    chances, steps = jax.device_get(jax.jit(jax.vmap(env.outcomes))(states, actions))
    K, times = jax.device_get(states)
    for row, (_, action) in enumerate(pairs):
        expected = paper_chain(tuple(int(k) for k in K[row]), int(times[row]), action)
        possible = [o for o in range(2) if chances[row, o] > 0]
        assert {tuple(int(k) for k in steps.state.K[row, o]) for o in possible} == set(expected)
        for o in possible:
            chance, reward, costs, terminated = expected[tuple(int(k) for k in steps.state.K[row, o])]
            assert chances[row, o] == pytest.approx(chance)
            assert steps.reward[row, o] == pytest.approx(reward)
            assert tuple(steps.costs[row, o].tolist()) == costs
            assert steps.terminated[row, o] == terminated
            assert steps.state.t[row, o] == times[row] + 1


def test_the_paper_s_setting_is_the_default():
    env = Chain()
    assert env.curriculum.edges == (("1", "2"), ("2", "3"), ("3", "4"), ("4", "5"))
    assert (env.horizon, env.gamma, env.constrained, env.filter) == (5, 0.99, ("c4",), "renormalise")
    assert env.action_names == ("1", "2", "3", "4", "5", "hack")
    assert env.discounted_horizon == pytest.approx(4.9010, abs=5e-5)


def test_parameters_reach_the_outcomes():
    env = make("chain", p_learn=0.25, r_concept=0.5, r_hack=0.75)
    assert outcomes(env, set(), 0, 0) == [(0.75, set(), (0.5, 1, 0, 1)), (0.25, {1}, (0.5, 0, 0, 0))]
    assert outcomes(env, set(), 0, HACK) == [(1.0, set(), (0.75, 0, 0, 1))]


@pytest.mark.parametrize(
    ("parameters", "what", "fix"),
    [
        ({"theta": 0.0}, "theta is 0.0", "strictly between 0 and 1"),
        ({"theta": 1.0}, "theta is 1.0", "strictly between 0 and 1"),
        ({"gamma": 0.0}, "gamma is 0.0", "(0, 1]"),
        ({"gamma": 1.01}, "gamma is 1.01", "(0, 1]"),
        ({"gamma": float("nan")}, "gamma is nan", "(0, 1]"),
        ({"p_learn": -0.1}, "p_learn is -0.1", "[0, 1]"),
        ({"p_learn": float("nan")}, "p_learn is nan", "[0, 1]"),
        ({"horizon": 0}, "horizon is 0", "at least 1"),
        ({"horizon": 2.5}, "horizon is 2.5", "whole number"),
        ({"concepts": 0}, "no concepts", "at least one"),
        ({"concepts": 20}, "5242880 states", "fewer concepts or a shorter horizon"),
    ],
)
def test_impossible_parameters_are_refused_with_a_way_out(parameters, what, fix):
    with pytest.raises(InputError) as refused:
        make("chain", **parameters)
    assert what in refused.value.what
    assert fix in refused.value.fix


@pytest.mark.parametrize(
    ("name", "parameters", "what", "fix"),
    [
        ("chian", {}, "unknown environment 'chian'", "did you mean 'chain'? choose from chain, fractions, gate"),
        ("sudoku", {}, "unknown environment 'sudoku'", "choose from chain, fractions, gate"),
        ("chain", {"p_lern": 0.5}, "chain has no parameter 'p_lern'", "did you mean 'p_learn'? choose from concepts"),
        ("gate", {"horizon": 3}, "gate has no parameter 'horizon'", "choose from R, gamma, theta"),
    ],
)
def test_unknown_names_are_refused_with_what_was_meant(name, parameters, what, fix):
    with pytest.raises(InputError) as refused:
        make(name, **parameters)
    assert refused.value.what == what
    assert refused.value.fix.startswith(fix)
