"""Planning: exact where it can look to the end, elsewhere the choice of a plain recursion; refused where it is lost."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.env import Observation, make
from mccpo.errors import InputError
from mccpo.exact import enumerate_model
from mccpo.methods.rules import Planning, tabulate
from mccpo.methods.rules.assumed import outcomes


def most_gain(model):
    """The most discounted gain from the start, by recursion over the exact model's masked actions."""
    value = np.zeros(model.num_states + 1)  # the last is the end, where successors of -1 point
    for _ in range(20):
        later = (model.probability * value[model.successor]).sum(axis=-1)
        worth = np.where(model.mask, (model.gain + model.gamma * later)[:, :-1], -np.inf)
        value[:-1] = worth.max(axis=1)
    return model.start @ value[:-1]


def gained(model, table):
    """The discounted gain of a table from the start."""
    value = np.zeros(model.num_states + 1)
    for _ in range(20):
        later = (model.probability * value[model.successor]).sum(axis=-1)
        value[:-1] = (table[model.index] * (model.gain + model.gamma * later)).sum(axis=1)
    return model.start @ value[:-1]


@pytest.mark.parametrize("instance", [1, 4])
def test_where_it_looks_to_the_end_nothing_gains_more(instance):
    env = make("random-finite", instance=instance, concepts=3, horizon=3)
    model = enumerate_model(env)
    found = gained(model, tabulate(env, Planning(depth=3, candidates=3, reach=1)))
    assert found == pytest.approx(most_gain(model), abs=1e-5)


class Plain:
    """The same plan on a tutor that sees answers, one belief at a time, in Python's own recursion."""

    def __init__(self, env, tutor):
        self.env, self.tutor, self.size = env, tutor, len(env.curriculum)
        self.needs = [
            [env.curriculum.index(u) for u, v in env.curriculum.edges if v == name] for name in env.curriculum.concepts
        ]

    def ready(self, K):
        return [v for v in range(self.size) if all(K[u] >= self.env.theta for u in self.needs[v])]

    def gain(self, K, v):
        return float(self.env.eta[v]) * (1 - K[v])

    def after(self, K, v):
        """(chance, belief) of a right and of a wrong answer."""
        slip, guess, eta = self.env.slip, self.env.guess, float(self.env.eta[v])
        for mastered, missed in ((1 - slip, guess), (slip, 1 - guess)):
            chance = K[v] * mastered + (1 - K[v]) * missed
            seen = K[v] * mastered / chance
            yield chance, [*K[:v], seen + eta * (1 - seen), *K[v + 1 :]]

    def worths(self, K, t, depth):
        if t >= self.env.horizon:
            return dict.fromkeys(self.ready(K), 0.0)
        kept = sorted(self.ready(K), key=lambda v: -self.gain(K, v))[: self.tutor.candidates]
        return {
            v: self.gain(K, v)
            + self.env.gamma * sum(chance * self.value(later, t + 1, depth - 1) for chance, later in self.after(K, v))
            for v in kept
        }

    def value(self, K, t, depth):
        return max(self.worths(K, t, depth).values()) if depth else max(self.leaf(K, t, o) for o in (False, True))

    def leaf(self, K, t, in_order):
        K, total = list(K), 0.0
        for passed in range(self.tutor.reach):
            if t + passed >= self.env.horizon:
                break
            ready = self.ready(K)
            new = [v for v in ready if K[v] < self.env.theta]
            v = new[0] if in_order and new else max(ready, key=lambda v: self.gain(K, v))
            total += self.env.gamma**passed * self.gain(K, v)
            K[v] += self.gain(K, v)
        return total


def test_it_chooses_as_a_plain_recursion_does():
    env = make("prepared", concepts=5, horizon=12, gamma=0.7, eta=(0.3, 0.22, 0.26, 0.4, 0.45))
    tutor = Planning(depth=2, candidates=2, reach=4)
    twin = Plain(env, tutor)
    K = np.random.default_rng(0).uniform(0.1, 0.95, (5, 40)).astype(np.float32)
    features = np.zeros((env.num_features, 40), np.float32)
    features[:5] = K
    times = np.arange(40) % 12
    features[-1] = times / 12
    mask = np.asarray(env.curriculum.ready(K.T, env.theta)).T
    found = np.asarray(jax.jit(lambda obs: tutor.probabilities(env, (), obs))(Observation(jnp.asarray(features), mask)))
    for one, t, chosen in zip(K.T.astype(float).tolist(), times, found.argmax(axis=0), strict=True):
        worths = twin.worths(one, int(t), 2)
        assert worths[int(chosen)] == pytest.approx(max(worths.values()), abs=1e-5)
    assert (found.max(axis=0) == 1).all()


@pytest.mark.parametrize("name", ["tutor-15", "tutor-15-bkt", "prepared-judge"])
def test_the_outcomes_it_reckons_with_are_the_environments_own(name):
    env = make(name, concepts=3, K0=0.4, eta=0.2)
    state, _ = env.reset(jax.random.key(0))
    found = outcomes(env, jnp.array([0]), state.K[:1], jnp.array([0.2]))
    assert found.chance.sum() == pytest.approx(1)
    assert (found.chance * found.K).sum() == pytest.approx(0.4 + 0.2 * 0.6, abs=1e-6)  # answers are no news on average
    seen = set()
    take = jax.jit(lambda key: env.step(key, state, jnp.array(0)))
    for key in jax.random.split(jax.random.key(1), 12):
        step = take(key)
        outcome = 0 if len(found.K) == 1 or step.state.correct else 1
        assert step.state.K[0] == pytest.approx(float(found.K[outcome, 0]), abs=1e-6)
        seen.add(outcome)
    assert len(seen) == len(found.K)


@pytest.mark.parametrize(
    ("env", "why"),
    [
        (make("tutor-15", concepts=31), "at most 30 concepts, and tutor-15 has 31"),
        (make("random-curricula", concepts=4, graphs=2), "has to know the learner's curriculum"),
    ],
    ids=["large", "unknown"],
)
def test_large_and_unknown_curricula_are_refused(env, why):
    obs = Observation(jnp.zeros((env.num_features, 1)), jnp.ones((env.num_actions, 1), bool))
    with pytest.raises(InputError, match=why):
        Planning().probabilities(env, (), obs)
