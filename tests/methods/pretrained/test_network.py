"""The network that is told what counts: on any graph, padded or not, and as the ordinary network that it is at one."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.env.test_problems import of_tutor

from mccpo import make
from mccpo.env import Constraints
from mccpo.errors import DoesNotApply
from mccpo.methods import budgets_of
from mccpo.methods.gradient.gae import value_scale
from mccpo.methods.pretrained.context import CONTEXT, context_of, drawn_numbers_of, numbers_of
from mccpo.methods.pretrained.network import SIGNALS, conditioned, fold, forward, graphs_of, network_at

WEIGHTS = jnp.array([0.4, 0.1, 0.2, 0.05, 0.25])
STILL = np.zeros(CONTEXT, np.float32)


@pytest.fixture(scope="module")
def parameters():
    return 0.3 * jax.random.normal(jax.random.key(0), (conditioned().size,))


def conditioned_on(env, parameters, context, features, drift=0.0):
    """What the network says that is told the context beside the features; by the end it has moved by `drift`."""
    told = np.asarray(context)[:, None] + np.multiply.outer(np.broadcast_to(drift, context.shape), features[-1])
    plain = network_at(env)
    network = replace(plain, features=plain.features + CONTEXT, signals=SIGNALS)
    return network.apply(np.asarray(parameters), np.concatenate([features, told]))


def seen_of(env, batch=7):
    return np.random.default_rng(1).random((env.num_features, batch)).astype(np.float32)


@pytest.mark.parametrize("name", ["tutor-15", "tutor-25", "tutor-15-bkt", "fractions"])
def test_folding_is_telling(name, parameters):
    env = make(name)
    numbers, budgets, features = numbers_of(env), budgets_of(env, {}), seen_of(env)
    context = context_of(numbers, WEIGHTS)
    logits, values = network_at(env).apply(
        np.asarray(fold(parameters, context, STILL, numbers, env, budgets.bound)), features
    )
    told, told_values = conditioned_on(env, parameters, context, features)
    np.testing.assert_allclose(logits, told, atol=1e-4)
    np.testing.assert_allclose(values, told_values[:4], atol=1e-4)
    assert logits.std() > 0.1


def test_a_context_that_moves_with_time_is_folded_too(parameters):
    env = make("tutor-15")
    numbers, bound, features = numbers_of(env), budgets_of(env, {}).bound, seen_of(env)
    first, last = (context_of(numbers, w) for w in (WEIGHTS, WEIGHTS[::-1]))
    logits, values = network_at(env).apply(
        np.asarray(fold(parameters, first, last - first, numbers, env, bound)), features
    )
    told, told_values = conditioned_on(env, parameters, first, features, np.asarray(last - first))
    np.testing.assert_allclose(logits, told, atol=1e-4)
    np.testing.assert_allclose(values, told_values[:4], atol=1e-4)
    still = conditioned_on(env, parameters, first, features)[0]
    assert np.abs(logits - still).max() > 1e-2


def test_another_context_is_another_policy(parameters):
    env = make("tutor-15")
    numbers, bound, features = numbers_of(env), budgets_of(env, {}).bound, seen_of(env)
    one, other = (
        network_at(env).apply(
            np.asarray(fold(parameters, context_of(numbers, w), STILL, numbers, env, bound)), features
        )[0]
        for w in (WEIGHTS, WEIGHTS[::-1])
    )
    assert np.abs(one - other).max() > 1e-2


def test_sharpness_multiplies_the_scores_alone(parameters):
    env = make("tutor-15")
    numbers, bound, features = numbers_of(env), budgets_of(env, {}).bound, seen_of(env)
    context = context_of(numbers, WEIGHTS)
    (one, values), (sharp, same) = (
        network_at(env).apply(np.asarray(fold(parameters, context, STILL, numbers, env, bound, by)), features)
        for by in (1.0, 3.0)
    )
    np.testing.assert_allclose(3 * one, sharp, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(values, same)


def test_the_value_of_a_floor_matches_learning_turned_round(parameters):
    env = make("tutor-15")
    floored = Constraints(floors={"learning": 1.0}, reach={"learning": 2.0}).environment(env)
    numbers, budgets, features = numbers_of(env), budgets_of(floored, {}), seen_of(env)
    context = context_of(numbers, WEIGHTS)
    folded = fold(parameters, context, STILL, numbers, floored, budgets.bound)
    _, values = network_at(floored).apply(np.asarray(folded), features)
    _, told = conditioned_on(env, parameters, context, features)
    # In its own units: half the bound, times the discounted horizon, stand for 1; in training it was half the mean η.
    own, trained = value_scale(floored, budgets)[4], 0.5 * float(numbers.pace) * env.discounted_horizon
    np.testing.assert_allclose(values[4] * float(own), -told[4] * trained, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("padding", [0, 5])
def test_padded_graphs_side_by_side_are_each_the_network_on_its_graph(padding, parameters):
    envs = [make("tutor-15"), make("tutor-15", concepts=12)]
    most = 15 + padding
    problems = [of_tutor(env, padding=most - len(env.curriculum), known=True) for env in envs]
    stacked = jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(leaf) for leaf in leaves]), *problems)
    rng = np.random.default_rng(0)
    own, rest, expected = rng.random((4, 2, most, 7)).astype(np.float32), [], []
    for at, (env, problem) in enumerate(zip(envs, problems, strict=True)):
        size, features = len(env.curriculum), seen_of(env)
        numbers = drawn_numbers_of(problem)
        np.testing.assert_allclose(jnp.stack(numbers), jnp.stack(numbers_of(env)), rtol=1e-5)
        context = context_of(numbers, WEIGHTS)
        own[:, at, :size] = features[:-1].reshape(4, size, 7)
        rest.append(np.concatenate([features[-1:], np.repeat(np.asarray(context)[:, None], 7, axis=1)]))
        expected.append(conditioned_on(env, parameters, context, features))
    logits, values = forward(parameters, graphs_of(stacked), jnp.asarray(own), jnp.stack(rest, axis=1))
    for at, (env, (told, told_values)) in enumerate(zip(envs, expected, strict=True)):
        np.testing.assert_allclose(logits[at, : len(env.curriculum)], told, atol=1e-4)
        np.testing.assert_allclose(values[:, at], told_values, atol=1e-4)


@pytest.mark.parametrize(
    "name", ["gate", "tutor-15-activities", "tutor-15-goal", "random-curricula", "tutor-15-answers"]
)
def test_an_environment_that_shows_other_things_is_refused(name):
    with pytest.raises(DoesNotApply, match="pretrained"):
        network_at(make(name))
