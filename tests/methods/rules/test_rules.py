"""The rules without memory, against plain NumPy, one learner at a time, on what was seen in real episodes."""

from functools import cache

import jax
import numpy as np
import pytest

from mccpo.env import Observation, make
from mccpo.methods.episodes import perform
from mccpo.methods.rules import CurriculumOrder, GreedyGain, MasteryLearning, RandomReady

ETA = (0.3, 0.5, 0.2, 0.4)
ENVIRONMENTS = {
    "chain": lambda: make("chain", concepts=4, horizon=8),
    "random-finite": lambda: make("random-finite", instance=3, concepts=4, horizon=8),
    "tutor-15": lambda: make("tutor-15", concepts=4, horizon=40, eta=0.5),
    "prepared": lambda: make("prepared", concepts=4, horizon=40, eta=ETA),
    "activities": lambda: make(
        "tutor-15", concepts=4, horizon=60, eta=ETA, activities=("challenge", "practice", "hint")
    ),
}


@cache
def seen(which):
    """An environment and the observations of some episodes, [observation, …], taught at random."""
    env = ENVIRONMENTS[which]()
    play = jax.jit(lambda key: perform(env, RandomReady(), key, 3, lambda moment: moment.obs))
    features, mask = play(jax.random.key(0))
    rows = np.moveaxis(np.asarray(features), 1, -1).reshape(-1, env.num_features)
    return env, rows, np.moveaxis(np.asarray(mask), 1, -1).reshape(-1, env.num_actions)


def agrees(which, tutor, twin):
    env, features, mask = seen(which)
    found = np.asarray(tutor.probabilities(env, (), Observation(features.T, mask.T)))
    for place, (one, open_) in enumerate(zip(features, mask, strict=True)):
        chosen = twin(env, one[: len(env.curriculum)], open_)
        expected = np.zeros(env.num_actions + 1)
        expected[chosen] = 1 / len(chosen)
        np.testing.assert_allclose(found[:, place], expected, atol=1e-6)
    return found


def practised(env, open_):
    """(action, concept) of the ready concepts' plain practice."""
    names = [name if "/" not in name else name.removesuffix("/practice") for name in env.action_names]
    known = list(env.curriculum.concepts)
    return [(a, known.index(name)) for a, name in enumerate(names) if name in known and open_[a]]


def in_order(env, K, open_):
    found = practised(env, open_)
    for action, concept in found:
        if K[concept] < np.float32(env.theta):
            return [action]
    return [min(found, key=lambda pair: (K[pair[1]], pair[0]))[0]]


def weakest(env, K, open_):
    found = practised(env, open_)
    low = min(K[concept] for _, concept in found)
    if low >= 0.95:
        return [action for action, _ in found]
    return [action for action, concept in found if K[concept] == low]


def most_gain(env, K, open_):
    gains = {}
    for action, name in enumerate(env.action_names):
        concept, _, activity = name.partition("/")
        if concept == "hack" or not open_[action]:
            continue
        place = env.curriculum.index(concept)
        if hasattr(env, "p_learn"):
            rate = np.broadcast_to(env.p_learn, len(K))[place]
        else:
            rate = np.broadcast_to(env.eta, len(K))[place]
            rate = rate * {"": 1.0, "challenge": 1.25, "practice": 1.0, "hint": 0.6}[activity]
        gains[action] = np.float32(rate) * (1 - K[place])
    best = max(gains.values())
    return [action for action, gain in gains.items() if abs(gain - best) < 1e-7]


@pytest.mark.parametrize("which", ENVIRONMENTS)
def test_random_ready(which):
    agrees(which, RandomReady(), lambda _env, _K, open_: np.flatnonzero(open_))


@pytest.mark.parametrize("which", ENVIRONMENTS)
def test_curriculum_order(which):
    agrees(which, CurriculumOrder(), in_order)


@pytest.mark.parametrize("which", ENVIRONMENTS)
def test_mastery_learning(which):
    agrees(which, MasteryLearning(), weakest)


@pytest.mark.parametrize("which", ENVIRONMENTS)
def test_greedy_gain(which):
    agrees(which, GreedyGain(), most_gain)


def test_review_comes_when_all_is_mastered():
    env = make("tutor-15", concepts=3)
    features = np.zeros((env.num_features, 2), np.float32)
    features[:3] = np.array([[0.97, 0.96, 0.99], [0.97, 0.8, 0.75]]).T
    obs = Observation(features, np.ones((3, 2), bool))
    np.testing.assert_allclose(CurriculumOrder().probabilities(env, (), obs).T, [[0, 1, 0, 0], [0, 0, 1, 0]])
    third = 1 / 3
    np.testing.assert_allclose(
        MasteryLearning().probabilities(env, (), obs).T, [[third, third, third, 0], [0, 0, 1, 0]], atol=1e-6
    )
