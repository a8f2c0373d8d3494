"""What every tutor keeps to: the gate, probabilities, its documentation."""

import re
from functools import cache, partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mccpo.env import Estimated, Observation, at_kappa, make
from mccpo.methods import METHODS, RuleEntry, play_rule
from mccpo.methods.episodes import Policy
from mccpo.methods.rules import Planning, RandomReady, among_quick, one_of
from mccpo.methods.rules.zpdes import ZPDES, Tried

TUTORS = {name: entry.build for name, entry in METHODS.items() if isinstance(entry, RuleEntry)}

EPISODES = 4
ENVIRONMENTS = {
    "chain": lambda: make("chain", concepts=4),
    "activities": lambda: make("tutor-15", concepts=6, activities=("hint", "practice", "challenge"), horizon=9),
    "estimated": lambda: Estimated(make("tutor-15-bkt", concepts=6, horizon=9), caution=0.1),
    "conditioned": lambda: at_kappa(make("prepared", concepts=6, horizon=9), 0.7),
}


@cache
def everyone(which):
    """An environment, and all tutors' probabilities in one program."""
    env = ENVIRONMENTS[which]()

    @eqx.filter_jit
    def run(env, obs, weight):
        found = {}
        for name, kind in TUTORS.items():
            tutor = Planning(depth=1, reach=3) if kind is Planning else kind()
            memory = tutor.begin(env, EPISODES)
            memory = Tried(memory.right, weight) if kind is ZPDES else memory
            found[name] = tutor.probabilities(env, memory, obs)
        return found

    return env, run


@pytest.mark.parametrize("which", ENVIRONMENTS)
@settings(max_examples=30)
@given(data=st.data())
def test_no_tutor_leaves_the_ready_set_whatever_the_mastery(which, data):
    env, run = everyone(which)
    inner = getattr(env, "env", env)
    concepts = len(inner.curriculum)
    K = data.draw(hnp.arrays(np.float32, (concepts, EPISODES), elements=st.floats(0, 1, width=32)))
    if which == "chain":
        K = np.round(K)
    weight = data.draw(hnp.arrays(np.float32, (env.num_actions, EPISODES), elements=st.floats(1 / 64, 2, width=32)))
    threshold = inner.theta + (0.1 if which == "estimated" else 0)
    ready = np.repeat(inner.curriculum.ready(K.T, threshold).T, len(getattr(inner, "activities", ())) or 1, axis=0)
    mask = np.pad(ready, ((0, env.num_actions - len(ready)), (0, 0)), constant_values=True)
    features = np.zeros((env.num_features, EPISODES), np.float32)
    features[:concepts] = K
    for name, probabilities in run(env, Observation(jnp.asarray(features), jnp.asarray(mask)), weight).items():
        found = np.asarray(probabilities)
        assert (found[:-1][~mask] == 0).all(), name
        assert (found[-1] == 0).all(), name
        assert (found >= 0).all(), name
        np.testing.assert_allclose(found.sum(axis=0), 1, atol=1e-5, err_msg=name)
        if name != RandomReady.name:
            assert (found[:-1][env.hack] == 0).all(), name


@pytest.mark.parametrize("name", TUTORS)
def test_the_docstring_is_a_page_of_documentation(name):
    kind = TUTORS[name]
    assert issubclass(kind, Policy)
    assert kind.name == name
    assert re.findall(r"\*\*([^*]+):\*\*", kind.__doc__) == ["Problem", "Source", "Departures", "When to use it"]


@pytest.mark.slow
def test_rules_that_share_a_program_play_what_they_play_alone(monkeypatch):
    env = make("prepared", concepts=4, horizon=12)
    rules = one_of.QUICK
    together = [play_rule(env, rule, seed=3, copy=0, episodes=20).episodes for rule in rules]
    monkeypatch.setattr(one_of, "QUICK", ())
    for rule, shared in zip(rules, together, strict=True):
        alone = play_rule(env, rule, seed=3, copy=0, episodes=20).episodes
        jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-6), shared, alone)


def test_a_rule_of_other_numbers_is_a_program_of_its_own():
    env = make("prepared", concepts=4, horizon=12)
    own = ZPDES(explore=0.5)
    assert among_quick(env, own) is own
    shared = among_quick(env, ZPDES())
    assert shared.rules[int(shared.which)] == ZPDES()


def test_a_rule_without_an_answer_does_not_share():
    env = make("tutor-15-answers")  # shows no mastery
    assert among_quick(env, RandomReady()).rules == (RandomReady(),)
