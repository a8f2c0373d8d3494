"""The estimate against a plain twin, what it opens and shuts, and that the truth is counted all the same."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.env import Estimated, Tutor, TutorBKT, make
from mccpo.env.tutor import Latent
from mccpo.errors import InputError
from mccpo.methods import method_arrays, method_spec
from mccpo.methods.episodes import judge
from mccpo.methods.gradient.rollout import network_of

TUTOR = Tutor()
ACTIONS = np.random.default_rng(3).choice([0, 1, 2, 3], 100)


@eqx.filter_jit
def play(env, keys, actions):
    """Steps through the actions from a reset, each with its key: the state before, and what it brought about."""

    def advance(state, chosen):
        step = env.step(chosen[0], state, chosen[1])
        return step.state, (state, step)

    return jax.lax.scan(advance, env.reset(keys[0])[0], (keys[1:], actions))[1]


KEYS = jax.random.split(jax.random.key(0), len(ACTIONS) + 1)


def played(env):
    return jax.device_get(play(env, KEYS, jnp.asarray(ACTIONS)))


def ready_by(K, threshold=0.7):
    """The gate of the profiles, by their rule: v needs v − 3, and an odd v also v − 2."""
    return np.array([v < 3 or (K[v - 3] >= threshold and (v % 2 == 0 or K[v - 2] >= threshold)) for v in range(len(K))])


def at(env, K):
    """The observation of a learner with this mastery, as it is after an estimate without memory."""
    state, _ = env.reset(jax.random.key(0))
    K = jnp.asarray(K, jnp.float32)
    past = jnp.tile(K, (env.longest + 1, 1))
    return env.observe(state._replace(past=past, estimate=env._estimate(jax.random.key(1), past)))


def test_without_error_nothing_is_different():
    states, steps = played(Estimated(TUTOR))
    _, plain = jax.device_get(play(TUTOR, jax.vmap(jax.random.split)(KEYS)[:, 0], jnp.asarray(ACTIONS)))
    np.testing.assert_array_equal(states.estimate, states.learner.K)
    np.testing.assert_array_equal(steps.obs.action_mask, plain.obs.action_mask)
    for one, other in (
        (steps.obs.features, plain.obs.features),
        (steps.state.learner, plain.state),
        (steps.reward, plain.reward),
        (steps.costs, plain.costs),
    ):
        jax.tree.map(lambda left, right: np.testing.assert_allclose(left, right, atol=1e-6), one, other)


@pytest.mark.parametrize(
    ("level", "threshold"),
    [
        ({"bias": 0.15}, 0.7),
        ({"bias": -0.1, "delay": 4}, 0.7),
        ({"delay": 10}, 0.7),
        ({"bias": 0.2, "caution": 0.1}, 0.8),
        ({"caution": 0.6}, 1.0),
        ({"bias": 0.1, "memory": 0.75, "delay": 1}, 0.7),
    ],
)
def test_the_estimate_and_its_gate_match_a_plain_twin(level, threshold):
    states, steps = played(Estimated(TUTOR, **level))
    bias, delay, memory = level.get("bias", 0.0), level.get("delay", 0), level.get("memory", 0.0)
    history = [np.full(15, 0.2)]
    estimate = np.clip(history[0] + bias, 0, 1)
    for t in range(100):
        np.testing.assert_allclose(states.estimate[t], estimate, atol=1e-5)
        history.append(steps.state.learner.K[t])
        seen = np.clip(history[max(0, t + 1 - delay)] + bias, 0, 1)
        estimate = memory * estimate + (1 - memory) * seen
        now = jax.tree.map(lambda leaf, t=t: leaf[t], steps)
        if np.abs(estimate - threshold).min() > 1e-5:  # else rounding decides
            np.testing.assert_array_equal(now.obs.action_mask, ready_by(estimate, threshold))
        np.testing.assert_allclose(now.obs.features[:15], estimate, atol=1e-5)
        np.testing.assert_allclose(now.obs.features[15:30], now.state.learner.novelty)
        np.testing.assert_array_equal(np.flatnonzero(now.obs.features[30:45]), [ACTIONS[t]])
        np.testing.assert_array_equal(now.obs.features[45:60], now.obs.action_mask)
        assert now.obs.features[60] == pytest.approx((t + 1) / 100)


def test_noise_is_normal_and_fresh_in_every_step_and_concept():
    env = Estimated(Tutor(K0=0.5), sigma=0.1)
    keys = jax.random.split(jax.random.key(4), (200, 101))
    idle = jnp.full(100, env.noop)  # K stays at 0.5, five deviations from either end
    states, steps = jax.device_get(jax.vmap(lambda keys: play(env, keys, idle))(keys))
    errors = np.concatenate([states.estimate[:, :1], steps.state.estimate], axis=1) - 0.5
    assert errors.mean() == pytest.approx(0, abs=5e-4)
    assert errors.std() == pytest.approx(0.1, rel=0.01)
    assert np.mean(np.abs(errors) > 0.196) == pytest.approx(0.05, abs=0.003)
    for one, other in (
        (errors[:, 1:], errors[:, :-1]),
        (errors[:, :, 1:], errors[:, :, :-1]),
        (errors[1:], errors[:-1]),
    ):
        assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < 0.01


def test_lessons_act_on_the_learner_and_not_on_the_estimate():
    exact, plain = played(Estimated(TUTOR))
    states, steps = played(Estimated(TUTOR, sigma=0.3, bias=0.2, delay=3, caution=0.1, memory=0.5))
    assert not np.array_equal(states.estimate, exact.estimate)
    for signal in ("reward", "costs", "gain", "unready", "terminated"):
        np.testing.assert_array_equal(getattr(steps, signal), getattr(plain, signal))
    np.testing.assert_array_equal(steps.state.learner.K, plain.state.learner.K)


@pytest.mark.parametrize("env", [TUTOR, TutorBKT(), Tutor(activities=["hint", "practice"]), Tutor(curriculum_seed=5)])
@pytest.mark.parametrize("level", [{"sigma": 1.0}, {"bias": -1.0}, {"caution": 1.0, "sigma": 0.2}])
def test_something_is_always_ready(env, level):
    _, steps = played(Estimated(env, **level))
    assert steps.obs.action_mask.any(axis=-1).all()
    assert ((steps.obs.features >= 0) & (steps.obs.features <= 1)).all()


def test_an_estimate_too_high_opens_the_gate_and_the_environment_counts_it():
    env = Estimated(TUTOR, bias=0.2)
    K = np.array([0.55, 0.55, *[0.2] * 13])
    assert at(env, K).action_mask[3]
    state, _ = env.reset(jax.random.key(0))
    state = state._replace(learner=state.learner._replace(K=jnp.asarray(K, jnp.float32)))
    assert not env.truly_ready(state)[3]
    assert env.step(jax.random.key(1), state, jnp.array(3)).unready


def test_caution_asks_the_estimate_for_more():
    K = np.array([0.75, 0.75, *[0.2] * 13])
    assert at(Estimated(TUTOR), K).action_mask[3]
    assert not at(Estimated(TUTOR, caution=0.1), K).action_mask[3]
    assert at(Estimated(TUTOR, caution=0.1, bias=0.06), K).action_mask[3]
    certain = np.ones(15)
    assert at(Estimated(TUTOR, caution=0.9), certain).action_mask.all()


@pytest.mark.parametrize("env", [TUTOR, TutorBKT(confidence=0.9)], ids=["threshold", "confidence"])
def test_a_caution_of_1_shuts_the_gate_whatever_the_estimate(env):
    certain = np.ones(15)
    roots = ready_by(np.zeros(15))
    for error in ({}, {"bias": 1.0, "sigma": 0.5}, {"memory": 0.9}):
        np.testing.assert_array_equal(at(Estimated(env, caution=1.0, **error), certain).action_mask, roots)
    _, steps = played(Estimated(env, caution=1.0, bias=1.0))
    np.testing.assert_array_equal(steps.obs.action_mask, np.tile(roots, (100, 1)))


def test_caution_is_added_to_the_confidence_where_the_gate_goes_by_it():
    K = np.where(np.arange(15) < 3, 0.95, 0.2)
    env = TutorBKT(confidence=0.9)
    assert at(Estimated(env), K).action_mask[3]
    assert not at(Estimated(env, caution=0.08), K).action_mask[3]
    assert at(Estimated(env, caution=0.08, bias=0.04), K).action_mask[3]


def test_levels_can_be_vmapped_and_are_one_program():
    traces = []

    @eqx.filter_jit
    def features(env):
        traces.append(env)
        return play(env, KEYS, jnp.asarray(ACTIONS))[1].obs.features

    levels = [{"sigma": 0.1}, {"bias": -0.2, "delay": 7}, {"sigma": 0.2, "caution": 0.1, "memory": 0.5}]
    alone = [features(Estimated(TUTOR, **level)) for level in levels]
    assert len(traces) == 1
    stacked = jax.tree.map(
        lambda *leaves: jnp.stack([jnp.asarray(leaf) for leaf in leaves]),
        *(Estimated(TUTOR, **level) for level in levels),
    )
    np.testing.assert_allclose(eqx.filter_vmap(features)(stacked), np.stack(alone), atol=1e-6)


def test_where_mastery_is_latent_both_counts_are_kept():
    env = Estimated(TutorBKT(), bias=0.5)
    state, _ = env.reset(jax.random.key(0))
    mastered = np.arange(15) == 0
    K = jnp.where(jnp.arange(15) == 1, 0.9, 0.2)
    learner = state.learner._replace(K=K, latent=Latent(jnp.asarray(mastered), jnp.array(1)))
    truly = np.asarray(env.truly_ready(state._replace(learner=learner)))
    np.testing.assert_array_equal(truly, ready_by(mastered.astype(float)))
    step = env.step(jax.random.key(1), state._replace(learner=learner), jnp.array(4))
    assert not step.unready  # v4 needs v1, which the inner estimate takes for mastered
    assert not truly[4]


def test_a_masked_policy_is_judged_by_the_truth():
    short = Tutor(horizon=20, K0=0.5)
    method = method_arrays(method_spec("mc-cpo"), short)
    parameters = network_of(short).init(jax.random.key(0))
    judged = eqx.filter_jit(judge)
    seen = judged(Estimated(short, bias=0.15), method, parameters, jax.random.key(1), 16)
    assert (seen.unready > 0).any()
    np.testing.assert_array_equal(seen.unready, seen.untrue)
    assert not judged(Estimated(short), method, parameters, jax.random.key(1), 16).unready.any()


@pytest.mark.parametrize(
    ("level", "what"),
    [
        ({"sigma": -0.1}, "sigma is -0.1"),
        ({"sigma": math.nan}, "sigma is nan"),
        ({"bias": 1.5}, "bias is 1.5"),
        ({"caution": -0.1}, "caution is -0.1"),
        ({"memory": 1.0}, "memory is 1.0"),
        ({"delay": 2.5}, "delay is 2.5"),
        ({"delay": -1}, "delay is -1"),
        ({"delay": 11}, "delay is 11"),
        ({"longest": -1}, "longest is -1"),
    ],
)
def test_wrong_levels_are_refused(level, what):
    with pytest.raises(InputError, match=what):
        Estimated(TUTOR, **level)


def test_only_tutors_have_mastery_to_estimate():
    with pytest.raises(InputError, match="tutor"):
        Estimated(make("chain"))
