"""Where a learner stands: as the environment has it, step by step; and what a new session keeps."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.curriculum import Curriculum
from mccpo.env import Activity, make
from mccpo.errors import InputError
from mccpo.serve.policy import load_release
from mccpo.serve.policy.costs import price
from mccpo.serve.policy.learner_state import (
    after_decision,
    after_outcome,
    from_json,
    initial_state,
    new_session,
    observe,
)

MINE = Curriculum.from_edges(
    [("counting", "adding"), ("adding", "multiplying")], demand={"counting": 0.1, "adding": 1 / 3, "multiplying": 0.9}
)
EACH = {"K0": [0.1, 0.6, 0.3], "eta": [0.3, 0.2, 0.1], "guess": [0.1, 0.2, 0.0], "slip": [0.0, 0.1, 0.3]}
ENVIRONMENTS = {
    "tutor-15": make("tutor-15", horizon=30),
    "tutor-15-bkt": make("tutor-15-bkt", eta=0.3),
    "activities": make("tutor-15-bkt", concepts=4, activities=("hint", Activity("quiz", 0.7, 0.5, -0.1)), eta=0.4),
    "a user's": make("tutor-25", curriculum=MINE, horizon=25, gamma=0.97, eta=0.11, theta=0.65, novelty_span=2.5),
    "prepared": make("prepared", curriculum=MINE, theta=0.85, **EACH),
}
STEPS = 40


@pytest.mark.parametrize("env", ENVIRONMENTS.values(), ids=ENVIRONMENTS.keys())
def test_it_is_what_the_environment_shows(run_of, env):
    """One episode of drawn actions, ready and unready: the same observation, mastery, engagement and costs."""
    release = load_release(run_of(env))
    step, show = eqx.filter_jit(env.step), eqx.filter_jit(env.observe)
    state, _ = env.reset(jax.random.key(1))
    standing = initial_state(release)
    estimated = env.name in ("tutor-15-bkt", "prepared")
    rng = np.random.default_rng(3)
    unready = 0
    for key in jax.random.split(jax.random.key(2), STEPS):
        expected = show(state)
        features, ready = observe(release, standing)
        late = state.t > env.horizon  # the environment's episode is over: a session's clock stands still
        np.testing.assert_allclose(features[:-1], expected.features[:-1], atol=1e-6, rtol=0)
        assert features[-1] == pytest.approx(1.0 if late else float(expected.features[-1]), abs=1e-6)
        np.testing.assert_array_equal(ready, expected.action_mask)
        action = int(rng.integers(env.num_actions) if rng.random() < 0.3 else rng.choice(np.flatnonzero(ready)))
        action = action if standing.t else env.num_actions - 1  # which nobody is ready for at the start
        unready += not ready[action]
        after = step(key, state, jnp.asarray(action))
        priced = price(release, standing, action)
        np.testing.assert_allclose(priced[:4], [after.reward, *after.costs], atol=1e-5, rtol=0)
        concept, activity = release.actions[action]
        standing = after_decision(release, standing, action)
        if estimated:
            standing = after_outcome(release, standing, concept, bool(after.state.correct), activity)
        else:  # there mastery does not go by answers
            standing = standing._replace(K=np.asarray(after.state.K, np.float64))
        state = after.state
    assert unready > 0


def test_costs_can_follow_observed_answers(run_of):
    env = make("tutor-15-bkt", costs_on="realised")
    release = load_release(run_of(env))
    standing = initial_state(release)
    state, _ = env.reset(jax.random.key(1))
    after = env.step(jax.random.key(2), state, jnp.asarray(1))
    brought = after_outcome(release, standing, release.concepts[1], bool(after.state.correct)).K[1] - standing.K[1]
    priced = price(release, standing, 1, brought)
    np.testing.assert_allclose(priced[:4], [after.reward, *after.costs], atol=1e-5, rtol=0)


def test_an_answer_that_cannot_be_says_nothing_and_the_lesson_teaches(run_of):
    release = load_release(run_of(make("prepared", concepts=2, K0=[0.0, 1.0], guess=0.0, slip=0.0, eta=0.25)))
    standing = after_outcome(release, initial_state(release), release.concepts[0], True)
    assert standing.K[0] == 0.25
    assert after_outcome(release, initial_state(release), release.concepts[1], False).K[1] == 1.0


def test_a_decision_counts_and_remembers_what_was_ready(release):
    standing = initial_state(release)
    after = after_decision(release, standing, 2)
    assert (after.t, after.last) == (1, 2)
    assert after.practised.tolist() == [0, 0, 1] + [0] * 12
    np.testing.assert_array_equal(after.previous, observe(release, standing)[1])
    assert (standing.t, standing.last, standing.practised.sum()) == (0, None, 0)  # what was before is left alone
    for action in (-1, 15):
        with pytest.raises(InputError, match="no action"):
            after_decision(release, standing, action)


def test_a_new_session_carries_mastery_and_counts_alone(release):
    standing = after_outcome(release, after_decision(release, initial_state(release), 1), "v1", True)
    new = new_session(release, standing, away_seconds=1e9)
    np.testing.assert_array_equal(new.K, standing.K)
    np.testing.assert_array_equal(new.practised, standing.practised)
    assert (new.t, new.last, new.previous) == (0, None, None)


def test_forgetting_halves_what_is_above_the_start_and_raises_nothing(release):
    K = np.full(15, 0.2)
    K[:3] = 0.8, 0.1, 0.2
    standing = initial_state(release)._replace(K=K)
    assert new_session(release, standing, 60.0, 60.0).K[:3] == pytest.approx([0.5, 0.1, 0.2])
    assert new_session(release, standing, 180.0, 60.0).K[0] == pytest.approx(0.275)
    for away in (0.0, -60.0):  # a clock that went backwards
        np.testing.assert_array_equal(new_session(release, standing, away, 60.0).K, K)
    for wrong in (0.0, -1.0, float("nan")):
        with pytest.raises(InputError, match="half-life"):
            new_session(release, standing, 60.0, wrong)


def test_a_session_that_outruns_the_horizon_stays_at_its_end(release):
    features, ready = observe(release, initial_state(release)._replace(t=10 * release.horizon))
    assert features[-1] == 1.0
    assert ready.any()


def test_it_comes_back_from_json_as_it_was(release):
    standing = after_outcome(release, after_decision(release, initial_state(release), 1), "v1", True)
    for each in (initial_state(release), standing):
        back = from_json(release, json.loads(json.dumps(each.to_json())))
        for one, other in zip(back, each, strict=True):
            np.testing.assert_array_equal(one, other)
