"""CCPO's parts: interpolation between knots, the multipliers against the rule written out, heads, and a tiny run."""

import inspect
import re
from dataclasses import fields
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.env import make
from mccpo.errors import InputError
from mccpo.experiments.benchmark.protocol import UNSEEN
from mccpo.methods import NeuralPlan
from mccpo.methods.constrained.ccpo import CCPO, KNOTS, KnotNetwork, KnotPrices, nearness
from mccpo.methods.engine import to_arrays
from mccpo.methods.gradient.rollout import Sizes
from mccpo.methods.gradient.settings import PPOSettings
from mccpo.methods.gradient.training import Variant, evaluate_policies, train_variants
from mccpo.methods.mc_cpo.lagrangian import price_unit
from mccpo.methods.mc_cpo.multipliers import budgets_of

ENV = make("chain")
WORLD = CCPO().training_environment(ENV)
BUDGETS = {"c2": 0.5, "c4": 0.6}
PLAN = NeuralPlan(steps=700, seeds=1, sizes=Sizes(environments=8, rollout=16, minibatch=64, epochs=2), validation=8)


@pytest.fixture(scope="module")
def trained():
    saved = []
    variants = [Variant(CCPO(), BUDGETS), Variant(CCPO(), {})]
    runs = train_variants(WORLD, variants, PLAN, after_point=lambda snapshot: saved.append(to_arrays(snapshot)))
    return variants, runs, saved


def test_nearness_is_linear_interpolation():
    kappa = np.linspace(0.4, 1.0, 25)
    values = np.random.default_rng(0).random(len(KNOTS))
    np.testing.assert_allclose(values @ np.asarray(nearness(jnp.asarray(kappa))), np.interp(kappa, KNOTS, values), 1e-5)


def test_the_multipliers_follow_the_rule_of_the_episodes_near_each_knot():
    """Against the rule in plain loops over episodes, knots and costs."""
    learner = CCPO(dual_rate=0.2, proportional=0.7, memory=0.6, cap=5.0)
    budgets = budgets_of(WORLD, BUDGETS)
    unit = np.asarray(price_unit(WORLD, budgets))
    rng = np.random.default_rng(1)
    costs, shape = len(ENV.cost_names), (6, 4)
    state = KnotPrices(*(jnp.asarray(rng.random(size)) for size in ((7, costs), (7, costs), (7, costs), (7,))))
    kappa = rng.choice([0.4, 0.43, 0.5, 0.66, 0.9], size=shape)  # none is near the last knot, nor near 0.8 from above
    ended = rng.random(shape) < 0.4
    totals = rng.random((shape[0], 1 + costs, shape[1])) * ended[:, None]
    rollout = SimpleNamespace(ended=jnp.asarray(ended), totals=jnp.asarray(totals, jnp.float32))
    found = jax.jit(
        lambda state, kappa: learner.moved(state, budgets, unit, nearness(kappa), SimpleNamespace(rollout=rollout))
    )(state, kappa)
    for j, knot in enumerate(KNOTS):
        for i, name in enumerate(ENV.cost_names):
            weights, misses = [], []
            for t, b in zip(*np.nonzero(ended), strict=True):
                weights.append(max(0.0, 1 - abs(kappa[t, b] - knot) / 0.1))
                limit = BUDGETS.get(name)
                misses.append(0.0 if limit is None else (totals[t, 1 + i, b] - limit) / float(budgets.scale[i]))
            weight, missed = sum(weights), float(np.dot(weights, misses))
            integral = np.clip(state.integral[j, i] + 0.2 * missed / max(weight, 1.0) * unit[i], 0, 5 * unit[i])
            recent = (0.6 * state.missed[j, i] + missed) / (0.6 * state.weight[j] + weight)
            value = np.clip(integral + 0.7 * recent * unit[i], 0, 5 * unit[i]) if name in BUDGETS else 0.0
            np.testing.assert_allclose(found.integral[j, i], integral, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(found.value[j, i], value, rtol=1e-4, atol=1e-5)


def test_at_one_of_its_kappas_the_heads_alone_speak_and_between_two_both():
    network = KnotNetwork(5, 3, 2)
    parameters = 0.5 * jax.random.normal(jax.random.key(0), (network.size,))
    learner = jax.random.uniform(jax.random.key(1), (4, 1))

    @jax.jit
    def heads(parameters, kappa):
        return network.apply(parameters, jnp.vstack([learner, jnp.full((1, 1), kappa)]))

    def said(parameters, kappa):
        return np.concatenate(heads(parameters, kappa))[:, 0]

    parts = network.unpack(parameters)
    others = jnp.concatenate([*(part.ravel() for part in parts[:-1]), parts[-1].at[5:10].add(1.0)])
    # The biases of the five heads of the middle, κ = 0.7, are one higher.
    for kappa, share in ((0.4, 0.0), (0.55, 0.5), (0.7, 1.0), (0.775, 0.75), (1.0, 0.0)):
        np.testing.assert_allclose(said(others, kappa) - said(parameters, kappa), share, atol=1e-5)


def test_the_first_policy_is_near_uniform_at_every_kappa():
    network = CCPO().network(WORLD)
    parameters = jax.jit(network.init)(jax.random.key(0))
    features = np.random.default_rng(1).random((network.features, 9), np.float32)
    features[-1] = np.linspace(0.4, 1.0, 9)
    logits, values = jax.jit(network.apply)(parameters, features)
    assert (logits.shape, values.shape) == ((network.actions, 9), (network.signals, 9))
    assert np.abs(logits).max() < 0.2


@pytest.mark.slow
def test_it_trains_within_the_mask_repeats_and_resumes(trained):
    variants, runs, saved = trained
    assert len(saved) == PLAN.points == 2
    for leaf in jax.tree.leaves((runs.selected, runs.last, runs.multipliers, runs.curves)):
        assert np.isfinite(leaf).all()
    assert not runs.curves.violation_steps.any()
    assert not runs.multipliers[1].any()
    assert not np.array_equal(runs.last[0], runs.last[1])
    for again in (train_variants(WORLD, variants, PLAN), train_variants(WORLD, variants, PLAN, resume=saved[0])):
        np.testing.assert_array_equal(again.last, runs.last)
        np.testing.assert_array_equal(again.selected, runs.selected)


def test_the_policy_is_asked_for_a_kappa_in_the_costs_as_they_are(trained):
    _, runs, _ = trained
    learner = CCPO()
    world = learner.environment_at(ENV, 0.45)
    seen = evaluate_policies(
        world, [learner.playing(world)] * 2, learner.network(world), runs.selected, episodes=50, seed=0
    )
    assert seen.ret.shape == (2, 1, 50)
    assert (seen.costs <= (ENV.cost_bounds * ENV.horizon)[None, None, :, None]).all()


def test_the_settings_that_are_searched_are_six_and_its_documentation_has_its_parts():
    first, *others = CCPO.search
    assert not first
    assert len(others) == 5
    known = {field.name for field in fields(CCPO)} | {f"settings.{name}" for name in PPOSettings._fields}
    default = CCPO()
    for setting in others:
        assert setting.keys() <= known
        for name, value in setting.items():
            place = default.settings if name.startswith("settings.") else default
            assert getattr(place, name.removeprefix("settings.")) != value
    parts = re.findall(r"^\*\*(.+?):\*\*", inspect.getdoc(CCPO), re.M)
    assert parts == ["Problem", "Source", "Departures", "When to use it"]


def test_unseen_budgets_are_never_trained_at():
    states, _ = jax.jit(jax.vmap(lambda key: WORLD.reset(key)))(jax.random.split(jax.random.key(0), 500))
    np.testing.assert_allclose(np.unique(states.kappa), KNOTS, rtol=1e-6)
    assert all(np.abs(np.array(KNOTS) - kappa).min() > 0.04 for kappa in UNSEEN)
    for kappa in (0.3, 1.2):
        with pytest.raises(InputError, match="kappa is"):
            CCPO().environment_at(ENV, kappa)
