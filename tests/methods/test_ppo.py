"""The parts of the neural learner: advantages, choices, rollouts, the clipped objective, prices."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.env import make
from mccpo.errors import InputError
from mccpo.methods import GradientEntry, budgets_of, method_arrays, method_entry, method_spec
from mccpo.methods.gradient import ppo
from mccpo.methods.gradient.gae import advantages, appraise
from mccpo.methods.gradient.graph_network import shared_network_of
from mccpo.methods.gradient.network import Network
from mccpo.methods.gradient.ppo import Batch, objective, start
from mccpo.methods.gradient.rollout import Sizes, choose, network_of, play
from mccpo.methods.gradient.settings import PPOSettings
from mccpo.methods.mc_cpo.lagrangian import priced

SIZES = Sizes(environments=8, rollout=16, minibatch=32, epochs=2)
# Short episodes, and learners who open the gate to new concepts within them.
ENV = make("tutor-15", K0=0.62, horizon=7)
BUDGETS = budgets_of(ENV, {"c2": 0.05, "c4": 1.0})


value = jax.jit(objective, static_argnums=0)
gradient = jax.jit(jax.grad(objective, argnums=3), static_argnums=0)
chosen = jax.jit(choose)
appraised = jax.jit(advantages)


def method(name):
    return method_arrays(method_spec(name), ENV)


# Advantages.


def plain_advantages(signals, values, ended, last, gamma, gae):
    time, _, batch = signals.shape
    found = np.zeros_like(signals)
    for b in range(batch):
        for t in range(time):
            weight = 1.0
            for k in range(t, time):
                following = last[:, b] if k == time - 1 else values[k + 1, :, b]
                found[t, :, b] += weight * (signals[k, :, b] + gamma * (not ended[k, b]) * following - values[k, :, b])
                if ended[k, b]:
                    break
                weight *= gamma * gae
    return found


def rollout_numbers(seed=0, time=12, signals=3, batch=4):
    rng = np.random.default_rng(seed)
    ended = rng.uniform(size=(time, batch)) < 0.25
    ended[:, 0] = False  # one that no end cuts
    return (
        rng.normal(size=(time, signals, batch)),
        rng.normal(size=(time, signals, batch)),
        ended,
        rng.normal(size=(signals, batch)),
    )


@pytest.mark.parametrize(("gamma", "gae"), [(0.99, 0.95), (0.9, 0.0), (1.0, 1.0)])
def test_advantages_match_a_plain_double_loop(gamma, gae):
    numbers = rollout_numbers()
    found = appraised(*numbers, gamma, gae)
    np.testing.assert_allclose(found, plain_advantages(*numbers, gamma, gae), rtol=1e-4, atol=1e-5)


def test_advantages_at_one_and_one_are_monte_carlo_returns():
    signals, values, ended, last = rollout_numbers(seed=1)
    found = np.asarray(appraised(signals, values, ended, last, 1.0, 1.0)) + values
    for b in range(ended.shape[1]):
        to_go = last[:, b]
        for t in reversed(range(len(ended))):
            to_go = signals[t, :, b] + (0.0 if ended[t, b] else to_go)
            np.testing.assert_allclose(found[t, :, b], to_go, rtol=1e-4, atol=1e-5)


# Choices.


def crowd(seed, batch, actions=6):
    rng = np.random.default_rng(seed)
    mask = rng.uniform(size=(actions, batch)) < 0.5
    mask[rng.integers(actions, size=batch), np.arange(batch)] = True
    frontier = mask & (rng.uniform(size=(actions, batch)) < 0.4)
    return rng.normal(size=(actions, batch)) * 2, mask, frontier


def plain_policy(logits, mask):
    weights = np.where(mask, np.exp(logits), 0.0)
    return weights / weights.sum(axis=0)


@pytest.mark.parametrize("rate", [0.0, 0.1, 1.0])
def test_a_choice_stays_inside_the_mask_and_knows_its_probabilities(rate):
    logits, mask, frontier = crowd(seed=0, batch=5000)
    uniform = np.random.default_rng(1).uniform(size=5000)
    action, log_prob, weight = map(np.asarray, chosen(logits, mask, frontier, rate, uniform))
    each = np.arange(5000)
    assert mask[action, each].all()
    probs = plain_policy(logits, mask)
    epsilon = np.where(frontier.any(axis=0), rate, 0.0)
    executed = (1 - epsilon) * probs + epsilon * frontier / np.maximum(frontier.sum(axis=0), 1)
    np.testing.assert_allclose(log_prob, np.log(probs[action, each]), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(weight, probs[action, each] / executed[action, each], rtol=1e-4)
    assert np.allclose(weight[~frontier.any(axis=0)], 1.0)
    if rate == 1.0:
        assert frontier[action, each][frontier.any(axis=0)].all()


@pytest.mark.parametrize("logit", [1e4, -1e4, np.inf, -np.inf, np.nan])
def test_no_logit_leads_outside_the_mask(logit):
    _, mask, frontier = crowd(seed=2, batch=500)
    uniform = np.linspace(0, 1, 500, dtype=np.float32)
    for logits in (np.where(mask, 0.0, logit), np.where(np.arange(6)[:, None] == 2, logit, 0.0)):
        action, _, weight = chosen(logits, mask, frontier, 0.1, uniform)
        assert mask[np.asarray(action), np.arange(500)].all()
        assert np.isfinite(np.asarray(weight)).all()


def test_actions_are_drawn_with_the_mixed_probabilities():
    """One state and evenly spaced uniform numbers: each action comes as often as π̃ says, to within one draw."""
    draws = 10_000
    logits = np.array([0.0, 1.0, -1.0, 3.0])[:, None]
    mask = np.array([True, True, True, False])[:, None]
    frontier = np.array([False, False, True, False])[:, None]
    wide = [np.broadcast_to(each, (4, draws)) for each in (logits, mask, frontier)]
    action = chosen(*wide, 0.25, (np.arange(draws) + 0.5) / draws).action
    probs = plain_policy(logits, mask)[:, 0]
    expected = 0.75 * probs + np.array([0, 0, 0.25, 0])
    np.testing.assert_allclose(np.bincount(action, minlength=4), expected * draws, atol=1.5)


# Rollouts.


@pytest.fixture(scope="module")
def played():
    """Two iterations in a row of a method with a policy of its own, as one rollout of NumPy arrays."""
    network = network_of(ENV)
    step = jax.jit(lambda method, *given: play(ENV, SIZES, method, network, *given))
    begin = start(ENV, SIZES, network_of(ENV), jax.random.key(0))
    policy = 0.4 * jax.random.normal(jax.random.key(1), (network.size,))

    def of(name):
        playing, first = step(method(name), policy, begin.playing, jax.random.key(2))
        playing, second = step(method(name), policy, playing, jax.random.key(3))
        return playing, jax.tree.map(lambda *parts: np.concatenate(parts), first, second)

    return of


@pytest.mark.parametrize("name", ["mc-cpo", "mc-cpo-no-frontier", "unconstrained"])
def test_the_totals_of_an_episode_are_its_weighted_discounted_signals(played, name):
    playing, rollout = played(name)
    for b in range(SIZES.environments):
        discount, reach, totals = 1.0, 1.0, np.zeros(4)
        for t in range(2 * SIZES.rollout):
            reach *= rollout.weight[t, b]
            totals = totals + discount * reach * rollout.signals[t, :, b]
            discount *= ENV.gamma
            expected = totals if rollout.ended[t, b] else np.zeros(4)
            np.testing.assert_allclose(rollout.totals[t, :, b], expected, rtol=1e-4, atol=1e-6)
            if rollout.ended[t, b]:
                discount, reach, totals = 1.0, 1.0, np.zeros(4)
        np.testing.assert_allclose(playing.totals[:, b], totals, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose([playing.discount[b], playing.weight[b]], [discount, reach], rtol=1e-4)
    assert rollout.ended.sum() == SIZES.environments * (2 * SIZES.rollout // ENV.horizon)
    assert (rollout.weight != 1).any() == (name == "mc-cpo")


def test_the_gain_of_an_episode_is_its_own(played):
    """Not that of all steps of the iteration, of which some belong to episodes that end in the next."""
    _, rollout = played("mc-cpo-no-frontier")
    K = rollout.features[:, : len(ENV.curriculum)]
    each = ENV.eta * (1 - np.take_along_axis(K, rollout.action[:, None], axis=1)[:, 0])
    for b in range(SIZES.environments):
        ends = np.flatnonzero(rollout.ended[:, b])
        for end in ends:
            expected = each[end - ENV.horizon + 1 : end + 1, b].sum()
            assert rollout.gain[end, b] == pytest.approx(expected, rel=1e-4)
    assert not rollout.gain[~rollout.ended].any()


def test_an_episode_that_ends_is_followed_by_a_fresh_one_without_a_frontier(played):
    playing, rollout = played("mc-cpo")
    time = rollout.features[:, -1] * ENV.horizon
    np.testing.assert_allclose(time, np.broadcast_to(np.arange(32)[:, None] % ENV.horizon, time.shape), atol=1e-5)
    np.testing.assert_array_equal(rollout.ended, np.rint(time) == ENV.horizon - 1)
    after = np.flatnonzero(rollout.ended[:-1, 0]) + 1
    np.testing.assert_allclose(rollout.features[after][:, : len(ENV.curriculum)], ENV.K0)
    assert not rollout.frontier[after].any()
    assert not rollout.frontier[0].any()
    np.testing.assert_array_equal(playing.previous, rollout.mask[-1] | rollout.ended[-1])


def test_the_frontier_is_what_has_just_opened(played):
    _, rollout = played("mc-cpo")
    opened = (rollout.mask[1:] & ~rollout.mask[:-1]).any(axis=1) & ~rollout.ended[:-1]
    np.testing.assert_array_equal(rollout.frontier[1:], opened)
    assert opened.any()
    assert not (rollout.weight[~rollout.frontier] != 1).any()


def test_only_an_unmasked_method_teaches_what_is_not_ready(played):
    _, masked = played("mc-cpo")
    assert not masked.unready.any()
    assert np.take_along_axis(masked.mask, masked.action[:, None], axis=1).all()
    _, free = played("unconstrained")
    assert free.mask.all()
    assert not free.frontier.any()
    assert free.unready.any()


# The objective.

NETWORK = Network(features=3, actions=4, signals=2, hidden=(6, 5))
PLAIN = PPOSettings(value_weight=0.0)


def batch_of(seed, *, rows=2, batch=5, spread=0.4):
    """A batch whose old policy is some way from the new one, so that some ratios are clipped and some are not."""
    rng = np.random.default_rng(seed)
    parameters = jnp.asarray(rng.normal(size=NETWORK.size) * 0.7)
    features = rng.uniform(size=(rows, 3, batch))
    mask = rng.uniform(size=(rows, 4, batch)) < 0.6
    action = rng.integers(4, size=(rows, batch))
    np.put_along_axis(mask, action[:, None], True, axis=1)
    log_prob = plain_log_prob(parameters, *map(jnp.asarray, (features, mask, action)))
    return parameters, Batch(
        *map(jnp.asarray, (features, mask, action)),
        log_prob + rng.normal(size=(rows, batch)) * spread,
        jnp.asarray(rng.uniform(0.5, 1.5, size=(rows, batch))),
        jnp.asarray(rng.normal(size=(rows, batch))),
        jnp.asarray(rng.normal(size=(rows, 2, batch))),
    )


@jax.jit
def plain_log_prob(parameters, features, mask, action):
    def one(row, allowed, chosen):
        logits = jnp.where(allowed, NETWORK.apply(parameters, row)[0], -1e30)
        return jnp.take_along_axis(jax.nn.log_softmax(logits, axis=0), chosen[None], axis=0)[0]

    return jax.vmap(one)(features, mask, action)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_gradient_matches_finite_differences(seed):
    with jax.enable_x64(True):
        parameters, batch = batch_of(seed)
        assert parameters.dtype == jnp.float64
        loss = jax.jit(partial(objective, NETWORK, PPOSettings(), 0.01, batch=batch))
        slopes = jax.jit(jax.grad(loss))(parameters)
        for direction in np.random.default_rng(9).normal(size=(8, NETWORK.size)):
            step = 1e-6 * direction
            slope = (loss(parameters + step) - loss(parameters - step)) / 2e-6
            assert float(slopes @ direction) == pytest.approx(float(slope), rel=1e-5, abs=1e-7)


def test_the_objective_is_the_sum_of_its_three_parts():
    parameters, batch = batch_of(2)
    batch = jax.tree.map(np.asarray, batch)
    surrogate, entropy, misses = [], [], np.zeros(2)
    for row in range(2):
        logits, values = jax.jit(NETWORK.apply)(parameters, batch.features[row])
        misses += 0.5 * ((np.asarray(values) - np.asarray(batch.targets[row])) ** 2).sum(axis=1)
        probs = plain_policy(np.asarray(logits), np.asarray(batch.mask[row]))
        for b in range(5):
            some = probs[:, b][probs[:, b] > 0]
            entropy.append(-(some * np.log(some)).sum())
            ratio = probs[batch.action[row, b], b] / np.exp(batch.log_prob[row, b])
            gain = min(ratio * batch.advantage[row, b], np.clip(ratio, 0.8, 1.2) * batch.advantage[row, b])
            surrogate.append(batch.weight[row, b] * gain)
    expected = -np.mean(surrogate) + 5.0 * misses.sum() / 10 - 0.03 * np.mean(entropy)
    settings = PPOSettings(clip=0.2, value_weight=5.0)
    assert float(value(NETWORK, settings, 0.03, parameters, batch)) == pytest.approx(expected, rel=1e-4)


def test_at_the_old_policy_the_gradient_is_the_plain_policy_gradient():
    parameters, batch = batch_of(3, spread=0.0)
    found = gradient(NETWORK, PLAIN, 0.0, parameters, batch)

    def plain(parameters):
        return -(batch.weight * batch.advantage * plain_log_prob(parameters, *batch[:3])).mean()

    np.testing.assert_allclose(found, jax.jit(jax.grad(plain))(parameters), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("size", [1e2, 1e4, 1e30])
def test_extreme_logits_give_a_finite_gradient(size):
    """Also where the old policy all but ruled out an action that the frontier chose: there π_old/π̃ is 0."""
    parameters, batch = batch_of(4)
    parameters = parameters.at[-6:-2].set(jnp.array([size, -size, size / 2, 0.0]))
    for log_prob, weight in ((batch.log_prob, batch.weight), (batch.log_prob - 500.0, 0.0 * batch.weight)):
        strange = batch._replace(log_prob=log_prob, weight=weight)
        given = (NETWORK, PPOSettings(), 0.01, parameters, strange)
        assert np.isfinite(value(*given))
        assert np.isfinite(np.asarray(gradient(*given))).all()


# Prices.


def test_advantages_are_standardised_after_pricing(played):
    playing, rollout = played("mc-cpo")
    policy = 0.4 * jax.random.normal(jax.random.key(1), (network_of(ENV).size,))
    prices = jnp.array([40.0, 0.0, 2.0])
    found = appraise(ENV, network_of(ENV), BUDGETS, PPOSettings(), policy, playing, rollout, jnp.ones(()))
    batch = ppo.batch_of(rollout, priced(found.advantages, prices), found.targets)
    scale = np.concatenate([[1.0], ENV.cost_bounds])[:, None] * ENV.discounted_horizon / 2
    last = np.asarray(network_of(ENV).apply(policy, playing.obs.features)[1]) * scale
    values = rollout.values * scale
    raw = plain_advantages(rollout.signals, values, rollout.ended, last, ENV.gamma, PPOSettings().gae)
    combined = raw[:, 0] - 40.0 * raw[:, 1] - 2.0 * raw[:, 3]
    np.testing.assert_allclose(batch.advantage, (combined - combined.mean()) / combined.std(), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(batch.targets, (raw + values) / scale, rtol=1e-3, atol=1e-4)


# Iterations and sizes.


def test_a_cost_that_is_always_zero_does_not_spoil_training():
    env = make("tutor-15", c3_demand=0.0, horizon=7)
    assert env.cost_bounds[1] == 0
    limits = budgets_of(env, {"c4": 1.0})
    network = network_of(env)
    state = start(env, SIZES, network, jax.random.key(0))

    def iterate(state):
        method = method_arrays(method_spec("mc-cpo"), env)
        return ppo.iterate(env, SIZES, method, limits, PPOSettings(), network, state, jnp.zeros(()))

    after, _ = jax.jit(iterate)(state)
    assert np.isfinite(np.asarray(after.parameters)).all()
    assert (np.asarray(after.parameters) != np.asarray(state.parameters)).any()


@pytest.mark.parametrize(
    "wrong",
    [{"environments": 64, "minibatch": 32}, {"environments": 8, "minibatch": 20}, {"rollout": 101}, {"epochs": 0}],
)
def test_sizes_that_cannot_be_cut_up_are_refused(wrong):
    with pytest.raises(InputError, match=r"minibatch|at least 1"):
        Sizes(**wrong)


@pytest.mark.parametrize(("share", "rate"), [(0.0, 0.1), (0.25, 0.05), (0.5, 0.0), (0.9, 0.0)])
def test_the_frontier_rate_falls_to_zero_at_its_end(share, rate):
    now = ppo.exploring(method("mc-cpo"), PPOSettings(frontier_end=0.5), jnp.asarray(share))
    assert float(now.frontier_rate) == pytest.approx(rate)
    always = ppo.exploring(method("mc-cpo"), PPOSettings(frontier_end=math.inf), jnp.asarray(share))
    assert float(always.frontier_rate) == pytest.approx(0.1)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_a_network_learns_without_the_frontier_unless_asked_to(share):
    now = ppo.exploring(method("mc-cpo"), PPOSettings(), jnp.asarray(share))
    assert float(now.frontier_rate) == 0.0
    entry = method_entry("mc-cpo-frontier")
    assert isinstance(entry, GradientEntry)
    assert entry.settings is not None
    asked = ppo.exploring(method("mc-cpo-frontier"), entry.settings, jnp.asarray(share))
    assert (float(asked.frontier_rate) > 0) == (share < 0.5)


def test_what_an_episode_has_spent_is_not_weighted():
    """Unlike its totals, where the frontier was mixed in: here just before the first episodes end."""
    sizes = Sizes(environments=8, rollout=6, minibatch=48, epochs=1)
    begin = start(ENV, sizes, network_of(ENV), jax.random.key(0))
    policy = 0.4 * jax.random.normal(jax.random.key(1), begin.parameters.shape)
    playing, rollout = play(ENV, sizes, method("mc-cpo"), network_of(ENV), policy, begin.playing, jax.random.key(2))
    spent = (ENV.gamma ** np.arange(6)[:, None, None] * np.asarray(rollout.signals[:, 1:])).sum(axis=0)
    np.testing.assert_allclose(playing.spent, spent, rtol=1e-4, atol=1e-6)
    assert not np.allclose(playing.weight, 1.0)
    assert not np.allclose(playing.totals[1:], spent, rtol=2e-4)


# Large minibatches.


def test_gradient_of_a_minibatch_in_parts_matches_the_whole(monkeypatch):
    network = shared_network_of(ENV)
    parameters = network.init(jax.random.key(0))
    draw, rows = np.random.default_rng(0), (4, 8)
    features = draw.uniform(size=(4, ENV.num_features, 8)).astype(np.float32)
    numbers = [draw.normal(size=rows).astype(np.float32) for _ in range(2)]
    targets = draw.normal(size=(4, network.signals, 8)).astype(np.float32)
    ready = np.ones((4, ENV.num_actions, 8), bool)
    batch = Batch(features, ready, np.ones(rows, int), numbers[0], np.ones(rows), numbers[1], targets)
    whole = gradient(network, PPOSettings(), 0.05, parameters, batch)
    monkeypatch.setattr(ppo, "CACHED", network.widest * 8)
    assert ppo.pieces_of(network, batch) == 4
    in_parts = jax.jit(partial(ppo.gradient_of, objective, network))(PPOSettings(), 0.05, parameters, batch)
    np.testing.assert_allclose(in_parts, whole, rtol=1e-4, atol=1e-6)


def test_only_large_graphs_have_their_minibatches_cut():
    batch = Batch(*[jnp.zeros((4, 32))] * 7)
    large = make("tutor-15", concepts=1330, curriculum_seed=0)
    assert ppo.pieces_of(shared_network_of(ENV), batch) == 1
    assert ppo.pieces_of(shared_network_of(large), batch) == 4
    assert ppo.pieces_of(network_of(large), batch) == 1
