"""Frontier mixing: the executed policy, and weights that keep its gradient that of the policy that is learnt."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mccpo.env import make
from mccpo.exact import enumerate_model, evaluate, occupancy
from mccpo.methods import method_arrays, method_spec
from mccpo.methods.mc_cpo.tabular import Episodes, estimate, rollout
from mccpo.policy import masked_softmax, mix

RATE = 0.3
BASELINE_RATE = 0.1
ENVIRONMENTS = {
    "chain": make("chain", concepts=3, horizon=3),
    "random-finite": make("random-finite", instance=1, concepts=3, horizon=3),
}


@eqx.filter_jit
def written_out(env):
    """The mask, and every outcome's chance, time step and successor, of each state and action."""
    states = jax.vmap(env.state)(jnp.arange(env.num_states))
    over_actions = jax.vmap(env.outcomes, in_axes=(None, 0))
    chance, steps = jax.vmap(over_actions, in_axes=(0, None))(states, jnp.arange(env.num_actions))
    return (
        jax.vmap(env.observe)(states).action_mask,
        chance,
        steps,
        jax.vmap(jax.vmap(jax.vmap(env.index)))(steps.state),
    )


@jax.jit
def estimates(episodes, baseline, prices, gamma):
    """What each of many batches says by itself."""
    return jax.vmap(lambda one: estimate(one, baseline, prices, gamma, BASELINE_RATE))(episodes)


class Enumerated:
    """Every trajectory of an environment under the executed policy of a random table, in double precision."""

    def __init__(self, env, rate=RATE):
        draw = np.random.default_rng(7)
        self.env, self.rate = env, rate
        self.theta = draw.normal(0, 1, (env.num_states, env.num_actions))
        self.prices = np.array([0.2, 0.5, 0.7])
        self.mask, chance, steps, successor = jax.tree.map(np.asarray, written_out(env))
        self.chance = np.asarray(chance, float)
        self.successor = np.where(steps.terminated, -1, successor)
        self.signals = np.concatenate([steps.reward[..., None], steps.costs], axis=-1).astype(float)
        self.first = int(eqx.filter_jit(lambda env, key: env.index(env.reset(key)[0]))(env, jax.random.key(0)))
        weights = np.where(self.mask, np.exp(self.theta), 0.0)
        self.policy = weights / weights.sum(axis=1, keepdims=True)
        self.trajectories = list(self._from(self.first, self.mask[self.first], 1.0, ()))

    def executed(self, state, before):
        new = self.mask[state] & ~before
        rate = self.rate if new.any() else 0.0
        return (1 - rate) * self.policy[state] + rate * new / max(new.sum(), 1)

    def _from(self, state, before, probability, steps):
        if state < 0:
            yield probability, steps
            return
        for action in np.flatnonzero(self.mask[state]):
            acts = self.executed(state, before)[action]
            for outcome in np.flatnonzero(self.chance[state, action] > 0):
                step = (state, action, outcome, self.policy[state, action] / acts)
                likely = probability * acts * self.chance[state, action, outcome]
                yield from self._from(self.successor[state, action, outcome], self.mask[state], likely, (*steps, step))

    @property
    def probability(self):
        return np.array([probability for probability, _ in self.trajectories])

    def episodes(self):
        """The trajectories as batches of one: leading axes are trajectory, time, batch."""
        table = np.array([steps for _, steps in self.trajectories])[:, :, None]
        number, action, outcome = (table[..., i].astype(int) for i in range(3))
        probs = self.policy[number]
        flags = np.zeros(number.shape, bool)
        return Episodes(
            number=number,
            score=np.eye(self.env.num_actions)[action] - probs,
            probs=probs,
            ratio=table[..., 3],
            signals=self.signals[number, action, outcome],
            gain=np.zeros(number.shape),
            hacks=flags,
            unready=flags,
            frontier=flags,
            alive=~flags,
        )

    def expected(self, episodes, baseline):
        """The exact expectation, over trajectories of the executed policy, of what `estimate` returns."""
        with jax.enable_x64(True):
            found = estimates(jax.tree.map(jnp.asarray, episodes), baseline, self.prices, self.env.gamma)
            return jax.tree.map(lambda leaf: np.tensordot(self.probability, np.asarray(leaf), 1), found)

    def lagrangian_gradient(self):
        """The gradient of J(π) - Σ λ_i J_ci(π) by differentiating a dynamic program that knows no trajectories."""
        worth = self.signals @ np.append(1.0, -self.prices)

        def value(theta):
            policy = jax.nn.softmax(jnp.where(self.mask, theta, -jnp.inf), axis=-1)
            V = jnp.zeros(self.env.num_states + 1)  # the last entry is the end of the episode
            for _ in range(self.env.horizon):
                Q = (self.chance * (worth + self.env.gamma * V[self.successor])).sum(axis=-1)
                V = V.at[:-1].set((policy * Q).sum(axis=-1))
            return V[self.first]

        with jax.enable_x64(True):
            return np.asarray(jax.jit(jax.grad(value))(jnp.asarray(self.theta)))


@pytest.fixture(scope="module", params=ENVIRONMENTS, ids=str)
def case(request):
    return Enumerated(ENVIRONMENTS[request.param])


def play(env, spec, theta=None, batch=500):
    theta = jnp.zeros((env.num_states, env.num_actions)) if theta is None else theta
    return jax.jit(lambda theta, key: rollout(env, method_arrays(spec, env), theta, key, batch))(
        theta, jax.random.key(0)
    )


def baselines(case):
    draw = np.random.default_rng(1)
    shape = (case.env.num_states, 1 + len(case.env.cost_names))
    return {"zero": np.zeros(shape), "random": draw.normal(0, 2, shape)}


def relative_error(found, true):
    return np.linalg.norm(found - true) / np.linalg.norm(true)


def test_the_trajectories_are_all_there_are(case):
    assert case.probability.sum() == pytest.approx(1, abs=1e-12)
    assert case.episodes().ratio.min() < 0.9  # mixing does change the policy
    assert case.episodes().ratio.max() > 1.3


@pytest.mark.parametrize("which", ["zero", "random"])
def test_the_weighted_gradient_matches_the_learnt_policy(case, which):
    found = case.expected(case.episodes(), baselines(case)[which])
    np.testing.assert_allclose(found.gradient, case.lagrangian_gradient(), atol=1e-12)


def test_a_single_step_ratio_is_biased(case):
    """Weighting each score by the ratio of its own step alone forgets how the state was reached, and what follows."""
    episodes, true = case.episodes(), case.lagrangian_gradient()
    discount = case.env.gamma ** np.arange(case.env.horizon)[:, None]
    worth = episodes.signals @ np.append(1.0, -case.prices) * discount
    to_go = worth[:, ::-1].cumsum(axis=1)[:, ::-1]
    terms = case.probability[:, None, None, None] * ((episodes.ratio * to_go)[..., None] * episodes.score)
    biased = np.zeros_like(true)
    np.add.at(biased, episodes.number.ravel(), terms.reshape(-1, terms.shape[-1]))
    assert relative_error(biased, true) > 0.01


def test_no_correction_is_biased(case):
    episodes = case.episodes()
    found = case.expected(episodes._replace(ratio=np.ones_like(episodes.ratio)), baselines(case)["zero"])
    assert relative_error(found.gradient, case.lagrangian_gradient()) > 0.01
    assert np.abs(found.totals - case.expected(episodes, baselines(case)["zero"]).totals).max() > 0.01


def test_weighted_totals_and_visits_match_the_learnt_policy(case):
    model = enumerate_model(case.env)
    policy = case.policy[model.index]
    values = evaluate(model, policy)
    found = case.expected(case.episodes(), baselines(case)["random"])
    np.testing.assert_allclose(found.totals, [values.ret, *values.costs.values()], atol=1e-6)
    visits = occupancy(model, np.pad(policy, ((0, 0), (0, 1))), model.gamma)[:, :-1]
    np.testing.assert_allclose(found.occupancy[model.index], visits, atol=1e-6)


def test_the_entropy_gradient_matches_the_learnt_policys_own_states(case):
    model = enumerate_model(case.env)
    visits = np.zeros(case.env.num_states)
    visits[model.index] = occupancy(model, np.pad(case.policy[model.index], ((0, 0), (0, 1))), model.gamma).sum(axis=1)

    def entropy(theta):
        weights = jnp.where(case.mask, jnp.exp(theta), 0.0)
        policy = weights / weights.sum(axis=-1, keepdims=True)
        return -(visits[:, None] * policy * jnp.log(jnp.where(case.mask, policy, 1.0))).sum()

    found = case.expected(case.episodes(), baselines(case)["zero"])
    np.testing.assert_allclose(found.entropy_gradient, jax.jit(jax.grad(entropy))(jnp.asarray(case.theta)), atol=1e-5)


def test_episodes_played_are_the_enumerated_ones(case):
    """The rollout acts by (1 - ε)π + εU(F), and reports the ratios that belong to it."""
    env, batch = case.env, 60_000
    played = play(env, replace(method_spec("mc-cpo"), frontier_rate=RATE), jnp.asarray(case.theta, jnp.float32), batch)
    enumerated = case.episodes()

    def codes(episodes, axis):
        actions = np.argmax(episodes.score > 0, axis=-1)
        gains = (np.asarray(episodes.signals[..., 1]) > 0) * 1  # c2 tells whether teaching took
        digits = (np.asarray(episodes.number) * env.num_actions + actions) * 2 + gains
        base = 2 * env.num_actions * env.num_states
        return np.tensordot(digits, base ** np.arange(env.horizon), ([axis], [0]))

    known, places = np.unique(codes(enumerated, 1)[:, 0], return_inverse=True)
    seen = codes(played, 0)
    assert np.isin(seen, known).all()
    which = np.searchsorted(known, seen)
    ratios = np.zeros((len(known), env.horizon))
    ratios[places] = enumerated.ratio[..., 0]
    np.testing.assert_allclose(np.asarray(played.ratio).T, ratios[which], rtol=1e-4)
    expected = np.bincount(places, case.probability) * batch
    counts = np.bincount(which, minlength=len(known))
    rare = expected < 10
    pooled = [np.append(x[~rare], x[rare].sum()) for x in (counts, expected)]
    if pooled[1][-1] == 0:
        pooled = [x[:-1] for x in pooled]
    assert stats.chisquare(*pooled, sum_check=False).pvalue > 1e-3


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_frontier_is_empty_at_reset_and_opens_later(name):
    env = ENVIRONMENTS[name]
    episodes = play(env, method_spec("mc-cpo"))
    assert not episodes.frontier[0].any()
    assert (episodes.ratio[0] == 1).all()
    assert episodes.frontier[1:].any()


def test_without_frontier_mixing_every_ratio_is_one():
    env = ENVIRONMENTS["chain"]
    episodes = play(env, method_spec("mc-cpo-no-frontier"))
    assert (episodes.ratio == 1).all()


def test_a_frontier_action_that_the_policy_rules_out_weighs_nothing_and_breaks_nothing():
    """π(a) = 0 and π̃(a) > 0: the episode's weight is 0 from there on, not a division of 0 by 0."""
    env = ENVIRONMENTS["chain"]
    theta = jnp.zeros((env.num_states, env.num_actions)).at[:, 1].set(-200.0)
    episodes = play(env, method_spec("mc-cpo"), theta)
    assert (episodes.ratio == 0).any()
    baseline = jnp.zeros((env.num_states, 1 + len(env.cost_names)))
    found = jax.jit(estimate)(episodes, baseline, jnp.zeros(len(env.cost_names)), env.gamma, BASELINE_RATE)
    assert all(bool(jnp.isfinite(leaf).all()) for leaf in found)


simplex = st.lists(st.floats(-5, 5, width=32), min_size=6, max_size=6)
sets = st.lists(st.booleans(), min_size=6, max_size=6).map(np.array)


@settings(deadline=None)
@given(logits=simplex, ready=sets, previous=sets, rate=st.floats(0, 1, width=32))
def test_the_executed_policy_is_the_mixture(logits, ready, previous, rate):
    probs = masked_softmax(np.array(logits), ready).probs
    new = ready & ~previous
    expected = (1 - rate) * probs + rate * new / new.sum() if new.any() else probs
    np.testing.assert_allclose(mix(probs, new, rate), expected, atol=1e-15)
    np.testing.assert_allclose(jax.jit(mix)(probs.astype(np.float32), new, rate), expected, atol=1e-6)
