"""ZPDES, against a bandit in plain Python that follows one learner at a time."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.env import Estimated, make
from mccpo.errors import InputError
from mccpo.methods.episodes import perform
from mccpo.methods.rules import ZPDES

EPISODES = 3


class Bandit:
    """The published update, written out: lists of answers, one weight for each activity."""

    def __init__(self, env, tutor):
        self.env, self.tutor = env, tutor
        self.answers = [[] for _ in range(env.num_actions)]
        self.weights = [tutor.start] * env.num_actions

    def probabilities(self, K, mask):
        lessons = [a for a in range(self.env.num_actions) if mask[a] and self.env.action_names[a] != "hack"]
        concepts = [self.env.action_names[a].split("/")[0] for a in range(self.env.num_actions)]
        new = [a for a in lessons if K[self.env.curriculum.index(concepts[a])] < np.float32(self.env.theta)]
        zone = new or lessons
        total = sum(self.weights[a] for a in zone)
        found = np.zeros(self.env.num_actions + 1)
        for a in zone:
            found[a] = (1 - self.tutor.explore) * self.weights[a] / total + self.tutor.explore / len(zone)
        return found

    def see(self, action, right):
        self.answers[action].append(float(right))
        half = self.tutor.window // 2
        last = ([0.0] * self.tutor.window + self.answers[action])[-self.tutor.window :]
        progress = sum(last[half:]) / half - sum(last[:half]) / half
        moved = self.tutor.keep * self.weights[action] + self.tutor.step * progress
        self.weights[action] = max(self.tutor.least, moved)


@pytest.mark.parametrize(
    ("env", "answered"),
    [
        (make("tutor-15", concepts=4, eta=0.4, horizon=30, activities=("practice", "hint")), True),
        (make("chain", concepts=3, horizon=10), False),
    ],
    ids=["answers", "gains"],
)
def test_it_is_the_published_bandit(env, answered):
    tutor = ZPDES(window=4)

    @jax.jit
    def play(key):
        """The moments of some episodes, and the probabilities that the tutor had in each."""
        moments = perform(env, tutor, key, EPISODES, lambda moment: moment)

        def again(memory, moment):
            return tutor.remember(env, memory, moment), tutor.probabilities(env, memory, moment.obs)

        return moments, jax.lax.scan(again, tutor.begin(env, EPISODES), moments)[1]

    moments, found = play(jax.random.key(5))
    size = len(env.curriculum)
    K, after = (np.asarray(obs.features)[:, :size] for obs in (moments.obs, moments.step.obs))
    for episode in range(EPISODES):
        twin = Bandit(env, tutor)
        for t in range(env.horizon):
            expected = twin.probabilities(K[t, :, episode], np.asarray(moments.obs.action_mask)[t, :, episode])
            np.testing.assert_allclose(found[t, :, episode], expected, atol=1e-5)
            right = moments.step.state.correct[t, episode] if answered else (after[t] > K[t])[:, episode].any()
            twin.see(int(moments.action[t, episode]), right)


def test_answers_are_read_from_the_wrapper_and_never_from_the_latent_state():
    env = Estimated(make("tutor-15-bkt", concepts=3), sigma=0.1)
    tutor = ZPDES()
    moments = jax.jit(lambda key: perform(env, tutor, key, 2, lambda moment: moment))(jax.random.key(0))
    seen = jax.tree.map(lambda leaf: leaf[0], moments)
    step, action = seen.step, seen.action
    answer = jnp.array([True, False])
    learner = step.state.learner._replace(correct=answer)
    memories = [
        tutor.remember(
            env,
            tutor.begin(env, 2),
            seen._replace(step=step._replace(state=step.state._replace(learner=each))),
        )
        for each in (learner, learner._replace(latent=jax.tree.map(lambda leaf: ~leaf, learner.latent)))
    ]
    np.testing.assert_array_equal(memories[0].right[0][action, np.arange(2)], answer)
    for one, other in zip(*memories, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_window_has_two_halves():
    with pytest.raises(InputError, match="window is 5"):
        ZPDES(window=5)
