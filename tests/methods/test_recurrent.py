"""The policy that remembers: what it remembers, how that is learnt, and what of its training is kept."""

from dataclasses import replace
from functools import cache, partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.env import make
from mccpo.methods import METHODS, NeuralPlan, Sizes, Variant, evaluate_policies, to_arrays, train_variants
from mccpo.methods.gradient.ppo import Batch, batch_of, look_at, objective, wide
from mccpo.methods.gradient.recurrent_network import PrivilegedNetwork, RecurrentNetwork, recurrent_network_of
from mccpo.methods.gradient.rollout import begin, play
from mccpo.methods.gradient.sequences import by_sequences
from mccpo.methods.gradient.settings import PPOSettings
from mccpo.methods.policy_set import NetworkPolicies

SIZES = Sizes(environments=4, rollout=12, minibatch=8, epochs=1, final=4)
METHOD = METHODS["mc-cpo-recurrent"].build(make("tutor-15-answers"), {})


@cache
def world():
    return METHOD.training_environment(make("tutor-15-answers", concepts=4, horizon=5))


@cache
def weights(network, seed=0):
    """Parameters that are all of some size, so that nothing hides behind a zero."""
    return np.random.default_rng(seed).normal(scale=0.5, size=network.size).astype(np.float32)


@cache
def played():
    """A rollout of two episodes and a part of a third in every environment, and where it began and ended."""
    env = world()
    network, method = METHOD.network(env), METHOD.playing(env)
    run = eqx.filter_jit(partial(play, env, SIZES, method, network))
    start = begin(env, SIZES, jax.random.key(0), network)
    return (start, *run(jnp.asarray(weights(network)), start, jax.random.key(1)))


def test_what_is_remembered_begins_anew_with_every_episode():
    env, (start, end, rollout) = world(), played()
    network = METHOD.network(env)
    np.testing.assert_array_equal(rollout.ended.sum(axis=0), 2)
    assert not np.any(start.memory)
    memory = start.memory
    for features in np.asarray(rollout.features[10:]):  # the steps after the second episode's end
        memory = network.remember(weights(network), memory, features)
    np.testing.assert_allclose(end.memory, memory, atol=1e-6)
    assert np.abs(end.memory).max() > 0.01


def test_what_is_learnt_from_is_what_was_played():
    """Worked out again through time, log-probabilities and values are those of the rollout."""
    network, (start, _, rollout) = METHOD.network(world()), played()
    assert isinstance(network, PrivilegedNetwork)
    logits, values = jax.jit(network.unroll)(weights(network), start.memory, rollout.features, rollout.ended)
    flat = wide(Batch(*rollout[:5], rollout.gain, rollout.values))
    seen = look_at(logits, values, flat.mask, flat.action)
    np.testing.assert_allclose(seen.log_prob, flat.log_prob, atol=1e-5)
    np.testing.assert_allclose(values, flat.targets, atol=1e-4)


def test_minibatches_are_whole_sequences_of_all_environments():
    network, (start, _, rollout) = METHOD.network(world()), played()
    batch = batch_of(rollout, rollout.gain, rollout.values)
    cut = by_sequences(SIZES, start, rollout, batch)
    assert (cut.sizes.rollout, cut.sizes.rows, cut.sizes.epochs) == (4, 4, 1)
    np.testing.assert_array_equal(cut.batch.batch.features[2], rollout.features[:, :, 2])
    np.testing.assert_array_equal(cut.batch.memory[2], start.memory[:, :, 2])
    # At the weights that played, every ratio is 1: the loss is that of rows of time, whose values are remembered.
    loss = jax.jit(partial(cut.loss, network, PPOSettings(value_weight=0.0), 0.0))(weights(network), cut.batch)
    assert float(loss) == pytest.approx(-float((rollout.weight * rollout.gain).mean()), abs=1e-5)
    assert cut.loss is not objective


def test_gradients_go_back_through_the_episode():
    network, (start, _, rollout) = METHOD.network(world()), played()

    def last_logits(features):
        memory = start.memory
        for step in features[:5]:
            memory = network.remember(weights(network), memory, step)
        return network.heads(weights(network), features[4], memory)[0].sum()

    gradient = np.asarray(jax.jit(jax.grad(last_logits))(rollout.features))
    assert np.abs(gradient[1]).max() > 0  # of the first answer, three steps before
    assert np.abs(gradient[5:]).max() == 0


def test_a_lesson_changes_what_is_remembered_of_its_concept_alone():
    network = recurrent_network_of(make("tutor-15-answers", concepts=4), 3)
    features = np.zeros((network.features, 1), np.float32)
    fields = make("tutor-15-answers", concepts=4).observation_fields
    assert list(fields)[:2] == ["novelty", "last_action"]
    before = np.random.default_rng(1).normal(size=(4, 3, 1)).astype(np.float32)
    assert np.array_equal(network.remember(weights(network), before, features), before)  # before the first lesson
    features[4 + 2] = 1.0
    after = network.remember(weights(network), before, features)
    np.testing.assert_array_equal((after != before).any(axis=1)[:, 0], [False, False, True, False])


@pytest.mark.parametrize("name", ["tutor-15-answers", "tutor-15-activities", "gate"])
def test_numpy_remembers_and_says_what_jax_does(name):
    network = recurrent_network_of(make(name), 5)
    assert network.remembers
    parameters, memory = weights(network), network.begin(3)
    step = jax.jit(network.step)
    other = jnp.asarray(memory)
    for features in np.random.default_rng(2).random((4, network.features, 3), np.float32):
        logits, values, memory = network.step(parameters, memory, features)
        found, values_too, other = step(jnp.asarray(parameters), other, jnp.asarray(features))
        assert isinstance(memory, np.ndarray)
        np.testing.assert_allclose(logits, found, atol=1e-4)
        np.testing.assert_allclose(values, values_too, atol=1e-4)
        np.testing.assert_allclose(memory, other, atol=1e-5)


def test_weights_are_as_many_whatever_the_number_of_concepts():
    shapes = {recurrent_network_of(make("tutor-15-answers", concepts=n, curriculum_seed=1), 16).shapes for n in (3, 7)}
    assert len(shapes) == 1


def test_the_first_policy_is_near_uniform_and_its_values_are_zero():
    network = METHOD.network(world())
    parameters = np.asarray(jax.jit(network.init)(jax.random.key(0)))
    assert parameters.shape == (network.size,)
    features = np.random.default_rng(3).random((world().num_features, 2)).astype(np.float32)
    logits, values, _ = network.step(parameters, network.begin(2), features)
    assert np.abs(logits).max() < 0.2
    assert np.abs(values).max() == 0


# Critics that see the true learner.


def test_what_is_hidden_moves_values_and_nothing_else():
    env, (start, _, rollout) = world(), played()
    network = METHOD.network(env)
    seen = np.asarray(rollout.features[3])
    other = seen.copy()
    other[env.env.num_features :] = 1.0 - other[env.env.num_features :]
    logits, values, memory = network.step(weights(network), np.asarray(start.memory), seen)
    same, moved, same_memory = network.step(weights(network), np.asarray(start.memory), other)
    np.testing.assert_array_equal(logits, same)
    np.testing.assert_array_equal(memory, same_memory)
    assert np.abs(values - moved).max() > 0.01


def test_the_policy_that_is_kept_acts_alike_whatever_its_critics_were():
    env = world()
    network, kept = METHOD.network(env), METHOD.network(env.env)
    assert type(kept) is RecurrentNetwork
    parameters = weights(network)
    others = np.concatenate([parameters[: kept.size], parameters[kept.size :] + 1.0])
    signals = 1 + len(env.cost_names)
    np.testing.assert_array_equal(network.without_values(parameters, signals), network.without_values(others, signals))
    acting = network.without_values(parameters, signals)
    assert acting.shape == (kept.size,)
    features = np.random.default_rng(4).random((env.num_features, 3)).astype(np.float32)
    memory = network.remember(parameters, network.begin(3), features)
    for hidden in (features, features[: kept.features]):
        logits, _, _ = kept.step(acting, memory, hidden)
        np.testing.assert_array_equal(logits, network.step(parameters, memory, features)[0])


def test_floors_leave_no_trace_in_the_network_that_is_kept():
    one = recurrent_network_of(make("tutor-15-answers", concepts=4), 5)
    priced = replace(one, signals=one.signals + 2)
    parameters = weights(priced)
    acting, features = priced.without_values(parameters, one.signals), np.ones((one.features, 2), np.float32)
    assert acting.shape == (one.size,)
    logits, values, _ = one.step(acting, one.begin(2), features)
    np.testing.assert_array_equal(logits, priced.step(parameters, one.begin(2), features)[0])
    np.testing.assert_array_equal(values, priced.step(parameters, one.begin(2), features)[1][: one.signals])


def test_critics_see_what_the_policy_sees_where_nothing_is_hidden():
    known = make("tutor-15", concepts=4)
    assert METHOD.training_environment(known) is known
    plain = METHODS["mc-cpo-recurrent-plain"].build(world().env, {})
    assert plain.training_environment(world().env) is world().env


# Training as a whole.


def trained(name, plan, **more):
    env = make("tutor-15-answers", concepts=4, horizon=5)
    method = METHODS[name].build(env, {})
    variants = [Variant(method, {"c2": 0.05, "c3": 1.0, "c4": 1.5})]
    return env, method, train_variants(method.training_environment(env), variants, plan, **more)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mc-cpo-recurrent", "mc-cpo-recurrent-plain"])
def test_resumed_training_gives_the_same_bits_and_plays_without_the_truth(name):
    plan = NeuralPlan(3 * SIZES.steps * 3, 2, 5, sizes=SIZES, validation=4)
    kept = []
    env, method, whole = trained(name, plan, after_point=lambda snapshot: kept.append(to_arrays(snapshot)))
    _, _, resumed = trained(name, plan, resume=kept[1])
    np.testing.assert_array_equal(whole.selected, resumed.selected)
    np.testing.assert_array_equal(whole.last, resumed.last)
    network = method.network(env)
    assert whole.selected.shape == (1, 2, network.size)
    assert np.isfinite(whole.selected).all()
    episodes = NetworkPolicies(method, whole.selected[0]).play(env, episodes=8, seed=3)
    again = evaluate_policies(env, [method.playing(env)], network, whole.selected, episodes=8, seed=3)
    np.testing.assert_array_equal(episodes.ret, again.ret[0])
    assert episodes.unready.sum() == 0
