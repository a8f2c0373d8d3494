"""Environments made from logs: their arithmetic against plain NumPy, their parameters, and their files."""

import json
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.curriculum import Curriculum
from mccpo.env import (
    JUDGE_FILE,
    TUTOR_FILE,
    Group,
    PreparedJudge,
    PreparedTutor,
    describe_environment,
    make,
    rebuild_environment,
)
from mccpo.errors import InputError
from mccpo.files import dump_json

CONCEPTS = ("a", "b", "c", "d")
CURRICULUM = Curriculum([("a", "b"), ("b", "c")], CONCEPTS, {"a": 0.2, "b": 0.5, "c": 0.8, "d": 0.4})
GROUPS = (Group("slow", 0.5, eta=0.5, K0=0.5), Group("fast", 0.5, eta=1.5, K0=1.8))
KNOWLEDGE = {
    "K0": [0.6, 0.3, 0.1, 0.5],
    "eta": [0.3, 0.1, 0.05, 0.2],
    "guess": [0.1, 0.2, 0.3, 0.25],
    "slip": [0.05, 0.1, 0.2, 0.15],
}
SIGNALS = {"r_base": 0.7, "r_difficulty": 0.9, "r_novelty": 0.1, "c2_gain": 0.03, "c3_demand": 0.45, "c4_rate": 6.0}
FACTORS = {"ease": [0.8, -0.2, -1.0, 0.1], "success": [0.4, 0.6, 0.3, 0.5], "failure": [0.1, 0.0, 0.2, 0.3]}
COMMON = {"curriculum": CURRICULUM, "groups": GROUPS, "horizon": 40, **KNOWLEDGE, **SIGNALS}
ACTIONS = np.random.default_rng(3).integers(0, 4, 40)


def tutor(**more):
    return PreparedTutor(**COMMON | more)


def judge(**more):
    return PreparedJudge(**COMMON | FACTORS | {"decay": 0.7} | more)


@eqx.filter_jit
def play(env, key, actions):
    keys = jax.random.split(key, len(actions) + 1)

    def advance(state, chosen):
        step = env.step(chosen[0], state, chosen[1])
        return step.state, (state, step, env.truly_ready(step.state))

    return jax.lax.scan(advance, env.reset(keys[0])[0], (keys[1:], actions))[1]


def learners(env, many=12):
    keys = jax.random.split(jax.random.key(7), many)
    states, steps, ready = jax.device_get(jax.vmap(play, in_axes=(None, 0, None))(env, keys, jnp.array(ACTIONS)))
    for at in range(many):
        yield jax.tree.map(lambda leaf, at=at: leaf[at], (states, steps, ready))


def needs(v):
    return [CONCEPTS.index(u) for u, w in CURRICULUM.edges if w == CONCEPTS[v]]


def told(v, mastery, taught, gain):
    """The reward and the costs, as the docstring of the tutors gives them."""
    demand = CURRICULUM.demand[v]
    fun = 0.7 - 0.9 * demand * (1 - mastery) + 0.1 * math.exp(-taught / 5)
    fun = min(max(fun, 0.0), 1.0)
    return fun, [max(0, 0.03 - gain), max(0, 0.45 - demand), max(0, fun - 6.0 * gain)]


def traced(K, v, correct, ready):
    """The tutor's estimate after an answer, by the textbook."""
    guess, slip, eta = (KNOWLEDGE[name][v] for name in ("guess", "slip", "eta"))
    known = K[v] * ((1 - slip) if correct else slip)
    seen = known / (known + (1 - K[v]) * (guess if correct else 1 - guess))
    return seen + eta * (1.0 if ready else 0.1) * (1 - seen)


def test_the_judge_is_plain_performance_factors():
    """A twin in plain Python, given the answers that were drawn, tells the same learner step by step."""
    assert set(CURRICULUM.concepts) == set(CONCEPTS)
    groups = set()
    for states, steps, ready in learners(judge()):
        group = GROUPS[int(states.latent.group[0])]
        groups.add(group.name)
        S, F, n, K = np.zeros(4), np.zeros(4), np.zeros(4), np.array(KNOWLEDGE["K0"])

        def chance(S, F, group=group):
            added = np.multiply(FACTORS["success"], S) + np.multiply(FACTORS["failure"], F)
            return 1 / (1 + np.exp(-(np.array(FACTORS["ease"]) + math.log(group.K0) + group.eta * added)))

        for t, v in enumerate(ACTIONS):
            p, correct = chance(S, F), bool(steps.state.correct[t])
            weight = 1.0 if all(p[u] >= 0.7 for u in needs(v)) else 0.1
            after = {}
            for right in (True, False):
                S1, F1 = S.copy(), F.copy()
                S1[v] = (1 - weight * 0.3) * S[v] + weight * right
                F1[v] = (1 - weight * 0.3) * F[v] + weight * (not right)
                after[right] = S1, F1, chance(S1, F1)[v]
            expected = p[v] * after[True][2] + (1 - p[v]) * after[False][2] - p[v]
            seen_ready = all(K[u] >= 0.7 for u in needs(v))
            fun, costs = told(v, p[v], n[v], max(expected, 0.0))
            S, F, _ = after[correct]
            K[v] = traced(K, v, correct, seen_ready)
            n[v] += 1
            assert steps.gain[t] == pytest.approx(expected, abs=1e-5)
            assert steps.reward[t] == pytest.approx(fun, abs=1e-5)
            np.testing.assert_allclose(steps.costs[t], costs, atol=1e-5)
            assert bool(steps.unready[t]) is not seen_ready
            np.testing.assert_allclose(steps.state.K[t], K, atol=1e-5)
            truly = [all(chance(S, F)[u] >= 0.7 for u in needs(v)) for v in range(4)]
            assert ready[t].tolist() == truly
    assert groups == {"slow", "fast"}


def test_the_judges_answers_are_as_likely_as_it_says():
    env = judge(groups=(Group("all", 1.0),))
    keys = jax.random.split(jax.random.key(2), 4000)
    state, _ = env.reset(keys[0])
    steps = jax.device_get(jax.vmap(env.step, in_axes=(0, None, None))(keys, state, jnp.array(2)))
    expected = 1 / (1 + math.exp(1.0))
    assert abs(steps.state.correct.mean() - expected) < 4 * math.sqrt(expected * (1 - expected) / 4000)


def test_each_concept_of_the_tutor_goes_by_its_own_numbers():
    for states, steps, _ in learners(tutor()):
        K, n = np.array(KNOWLEDGE["K0"]), np.zeros(4)
        mastered = states.latent.mastered[0].copy()
        for t, v in enumerate(ACTIONS):
            ready, correct = all(K[u] >= 0.7 for u in needs(v)), bool(steps.state.correct[t])
            gain = KNOWLEDGE["eta"][v] * (1.0 if ready else 0.1) * (1 - K[v])
            fun, costs = told(v, K[v], n[v], gain)
            K[v] = traced(K, v, correct, ready)
            n[v] += 1
            pace = KNOWLEDGE["eta"][v] * GROUPS[int(states.latent.group[t])].eta
            chance = pace * (1.0 if all(mastered[u] for u in needs(v)) else 0.1)  # by the truth, not the estimate
            assert steps.gain[t] == pytest.approx(0.0 if mastered[v] else chance, abs=1e-6)
            assert steps.reward[t] == pytest.approx(fun, abs=1e-5)
            np.testing.assert_allclose(steps.costs[t], costs, atol=1e-5)
            now = steps.state.latent.mastered[t]
            assert (now >= mastered).all()
            assert (np.flatnonzero(now != mastered) == v).all()
            mastered = now


def test_concepts_are_known_at_the_start_as_often_as_their_own_chance_says():
    env = tutor(groups=(Group("all", 1.0),))
    keys = jax.random.split(jax.random.key(4), 4000)
    known = np.asarray(jax.vmap(lambda key: env.reset(key)[0].latent.mastered)(keys)).mean(axis=0)
    np.testing.assert_allclose(known, KNOWLEDGE["K0"], atol=4 * 0.5 / math.sqrt(4000))


@pytest.mark.parametrize("groups", [GROUPS, (Group("steep", 1.0, eta=4.0),)])
def test_no_cost_of_a_judge_exceeds_its_bound(groups):
    env = judge(groups=groups, decay=0.3)
    costs = np.concatenate([steps.costs for _, steps, _ in learners(env)])
    assert (costs <= env.cost_bounds + 1e-6).all()
    state = env.reset(jax.random.key(0))[0]
    full = jnp.full(4, 1 / 0.7)  # all that still counts was right: one more wrong answer costs the most
    worst = state.latent._replace(successes=full)
    chances = np.asarray(env.chances(worst))
    assert (chances - np.asarray(env.chances(worst._replace(successes=full * 0.3)))).max() <= env.widest


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("K0", [0.1, 0.2], "K0 has 2 numbers"),
        ("eta", [0.1, 0.2, 1.2, 0.1], "eta of 'c' is 1.2"),
        ("guess", [0.1, -0.2, 0.2, 0.1], "guess of 'b' is -0.2"),
        ("slip", [0.1, float("nan"), 0.2, 0.1], "slip is not a finite number"),
        ("K0", ["much", 0.1, 0.1, 0.1], "no list of numbers"),
        ("ease", [0.1] * 5, "ease has 5 numbers"),
        ("success", [0.1, float("inf"), 0.2, 0.1], "success is not a finite number"),
        ("decay", 1.0, "decay is 1.0"),
        ("groups", (Group("none", 1.0, K0=0.0),), "none has K0 0.0"),
        ("groups", (Group("some", 0.7),), "the shares are"),
    ],
)
def test_numbers_that_cannot_be_are_refused(name, value, message):
    with pytest.raises(InputError, match=message):
        judge(**{name: value})


@pytest.mark.parametrize("env", [tutor(), judge()], ids=["tutor", "judge"])
def test_an_environment_comes_back_from_json_as_it_was(env):
    described = json.loads(dump_json(describe_environment(env)))
    rebuilt = rebuild_environment(env.name, described)
    assert type(rebuilt) is type(env)
    assert rebuilt.curriculum == env.curriculum
    assert rebuilt.groups == env.groups
    assert dump_json(describe_environment(rebuilt)) == dump_json(describe_environment(env))
    for ours, theirs in zip(learners(rebuilt, 2), learners(env, 2), strict=True):
        jax.tree.map(np.testing.assert_array_equal, ours, theirs)


@pytest.fixture
def folder(tmp_path):
    for name, env in ((TUTOR_FILE, tutor()), (JUDGE_FILE, judge())):
        described = {"environment": env.name, "parameters": describe_environment(env)}
        (tmp_path / name).write_text(dump_json(described))
    return tmp_path


def test_a_folder_and_a_file_each_name_their_tutor(folder):
    made, other = make(str(folder)), make(str(folder / JUDGE_FILE))
    assert (type(made), type(other)) == (PreparedTutor, PreparedJudge)
    np.testing.assert_allclose(made.K0, KNOWLEDGE["K0"], rtol=1e-6)
    assert other.decay == pytest.approx(0.7)


def test_what_a_file_says_can_be_overridden(folder):
    made = make(str(folder), horizon=7, K0=0.5, eta=[0.1, 0.2, 0.3, 0.4])
    assert (made.horizon, made.K0) == (7, 0.5)
    assert made.curriculum == CURRICULUM
    with pytest.raises(InputError, match="prepared has no parameter 'nothing'"):
        make(str(folder), nothing=1)
    with pytest.raises(InputError, match="prepared: theta is"):
        make(str(folder), theta=[0.1, 0.2, 0.3, 0.4])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read"),
        ("{", "is damaged"),
        ("[]", "is not a JSON object"),
        ("{}", "does not describe an environment"),
        ('{"environment": "prepared", "parameters": 3}', "does not describe an environment"),
        ('{"environment": "preparedd", "parameters": {}}', "unknown environment 'preparedd'"),
        ('{"environment": "prepared", "parameters": {"groups": [{"size": 1}]}}', "does not describe an environment"),
    ],
)
def test_a_file_that_holds_no_environment_is_refused(tmp_path, content, message):
    path = tmp_path / "tutor.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match=message):
        make(str(path))
