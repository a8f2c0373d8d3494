"""The tutor with targets: what a step pays, when an episode ends, what is known at the start, and what the best do."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.curriculum import Curriculum
from mccpo.env import TutorGoal, make
from mccpo.errors import InputError

EASY, HARD = 0, 6  # the first is known at the start; the second opens at once, since what it needs is known


@pytest.fixture(scope="module")
def env():
    return make("tutor-15-goal")


@pytest.fixture(scope="module")
def step(env):
    return jax.jit(env.step)


def learner(env, *targets):
    state, _ = env.reset(jax.random.key(0))
    return state._replace(case=jnp.zeros(15, bool).at[jnp.array(targets)].set(True))


def teach(env, step, state, plan):
    """The rewards, costs and end of a sequence of lessons."""
    rewards, costs, ended = [], [], []
    for action in plan:
        found = step(jax.random.key(1), state, jnp.asarray(action))
        state = found.state
        rewards.append(float(found.reward))
        costs.append(np.asarray(found.costs))
        ended.append(bool(found.terminated))
    return np.array(rewards), np.array(costs), np.array(ended)


def lessons_to(mastery, K, eta):
    return int(np.ceil(np.log((1 - mastery) / (1 - K)) / np.log(1 - eta)))


def test_learners_have_one_to_three_targets_each_number_and_each_concept_alike(env):
    draws = 3000
    states, _ = jax.vmap(env.reset)(jax.random.split(jax.random.key(3), draws))
    counts = np.bincount(np.asarray(states.case.sum(axis=1)), minlength=4)
    assert counts[0] == 0
    np.testing.assert_allclose(counts[1:] / draws, 1 / 3, atol=0.04)
    np.testing.assert_allclose(states.case.mean(axis=0), 2 / 15, atol=0.03)


def test_learners_start_with_the_easy_half_and_what_it_opens_is_ready(env):
    state, obs = env.reset(jax.random.key(0))
    np.testing.assert_allclose(state.K, [0.75] * 6 + [0.2] * 9)
    # Concept v needs v - 3, and an odd v also v - 2: so 6, 7 and 8 need nothing beyond 5.
    np.testing.assert_array_equal(obs.action_mask, [True] * 9 + [False] * 6)


def test_what_is_easy_but_lies_behind_something_hard_is_not_known():
    curriculum = Curriculum.from_edges([("a", "b"), ("b", "c")], demand={"a": 0.1, "b": 0.8, "c": 0.1})
    np.testing.assert_array_equal(TutorGoal(curriculum=curriculum, targets=1).basic, [True, False, False])


def test_the_targets_are_seen_by_the_policy(env):
    state = learner(env, 3, 9)
    seen = np.asarray(env.observe(state).features)
    np.testing.assert_array_equal(seen[60:75], np.isin(np.arange(15), [3, 9]))
    assert seen[75] == 0


def test_lessons_on_a_target_pay_one_and_mastering_it_ends_the_episode(env, step):
    lessons = lessons_to(0.95, 0.75, 0.08)
    rewards, _, ended = teach(env, step, learner(env, EASY), [EASY] * lessons)
    np.testing.assert_allclose(rewards[:-1], 1.0, atol=1e-3)
    assert 0 < rewards[-1] <= 1
    assert rewards.sum() == pytest.approx(np.log(0.05 / 0.25) / np.log(0.92), rel=1e-3)
    np.testing.assert_array_equal(ended, [False] * (lessons - 1) + [True])


def test_anything_else_pays_nothing_and_a_target_that_is_not_ready_a_tenth(env, step):
    rewards, _, _ = teach(env, step, learner(env, 9), [EASY, HARD, 9, 15])
    np.testing.assert_allclose(rewards, [0.0, 0.0, np.log1p(-0.008) / np.log1p(-0.08), 0.0], atol=1e-5)


def test_the_episode_goes_on_until_every_target_is_mastered(env, step):
    easy, hard = lessons_to(0.95, 0.75, 0.08), lessons_to(0.95, 0.2, 0.08)
    rewards, _, ended = teach(env, step, learner(env, EASY, HARD), [EASY] * easy + [HARD] * hard)
    assert ended.tolist() == [False] * (easy + hard - 1) + [True]
    # A lesson beyond mastery pays nothing more.
    more, _, _ = teach(env, step, learner(env, EASY, HARD), [EASY] * (easy + 3))
    np.testing.assert_array_equal(more[easy:], 0.0)
    assert rewards.max() <= 1


def test_the_shorter_of_two_ways_to_the_targets_is_worth_more(env, step):
    """A step that is not needed, wherever it is put, costs return: here before, between and beside the lessons."""
    lessons = lessons_to(0.95, 0.75, 0.08)
    straight = [EASY] * lessons
    discount = 0.99 ** np.arange(lessons + 1)
    best = teach(env, step, learner(env, EASY), straight)[0] @ discount[:-1]
    for place in (0, 5, lessons - 1):
        rewards, _, _ = teach(env, step, learner(env, EASY), [*straight[:place], HARD, *straight[place:]])
        assert rewards @ discount < best


def test_the_costs_match_the_tutor_without_targets(env, step):
    plain = make("tutor-15", K0=np.array([0.75] * 6 + [0.2] * 9))
    state, _ = plain.reset(jax.random.key(0))
    plan = [EASY] * 10 + [HARD] * 5
    _, expected, _ = teach(plain, jax.jit(lambda *step: plain.step(*step)), state, plan)
    _, costs, _ = teach(env, step, learner(env, EASY, 14), plan)
    np.testing.assert_allclose(costs, expected, atol=1e-6)
    assert (costs[:10] > 0).all(axis=0).all()  # perfecting what is easy and known is what all budgets are against
    assert not costs[10:].any()


@pytest.mark.parametrize(
    "wrong", [{"targets": 0}, {"targets": 16}, {"mastery": 1.0}, {"known": 1.5}, {"basics": -0.1}], ids=str
)
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(InputError):
        make("tutor-15-goal", **wrong)
