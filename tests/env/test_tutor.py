"""The tutor is the profile it says it is: its formulas by hand, a plain twin, the paper's figures, its promises."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mccpo
from mccpo.curriculum import Curriculum
from mccpo.env import ACTIVITIES, Activity, Tutor, Tutor25, make
from mccpo.env.tutor import profile_curriculum
from mccpo.errors import InputError

OWN = Curriculum.from_edges([("add", "multiply")], demand={"add": 0.3, "multiply": 0.75})


@eqx.filter_jit
def play(env, key, actions):
    """Steps through the actions from a reset: the state before each, and what each brought about."""
    keys = jax.random.split(key, len(actions) + 1)

    def advance(state, chosen):
        step = env.step(chosen[0], state, chosen[1])
        return step.state, (state, step)

    return jax.lax.scan(advance, env.reset(keys[0])[0], (keys[1:], actions))[1]


def one_step(env, action, **before):
    state, _ = env.reset(jax.random.key(0))
    return eqx.filter_jit(env.step)(jax.random.key(1), state._replace(**before), jnp.array(action))


def discounted(env, values):
    return env.gamma ** np.arange(len(values)) @ np.asarray(values, float)


class TestProfiles:
    @pytest.mark.parametrize(("env", "size", "depth"), [(Tutor(), 15, 6), (Tutor25(), 25, 11)])
    def test_the_graph_and_the_demands_follow_the_rule(self, env, size, depth):
        names = env.curriculum.concepts
        assert names == env.action_names == tuple(f"v{v}" for v in range(size))
        needs = {(v - 3, v) for v in range(3, size)} | {(v - 2, v) for v in range(3, size, 2)}
        assert set(env.curriculum.edges) == {(names[u], names[v]) for u, v in needs}
        np.testing.assert_allclose(env.demand, [0.2 + 0.7 * v / (size - 1) for v in range(size)])
        assert env.curriculum.depth == depth
        assert env.num_features == 4 * size + 1

    def test_the_numbers_are_the_defaults(self):
        env = Tutor()
        assert (env.K0, env.eta, env.theta, env.horizon, env.gamma) == (0.2, 0.08, 0.7, 100, 0.99)
        assert env.discounted_horizon == pytest.approx(63.3968, abs=5e-5)
        assert (env.constrained, env.filter, env.hack.any()) == (("c2", "c3", "c4"), "renormalise", False)
        np.testing.assert_allclose(env.cost_bounds, [0.022, 0.3, 0.611])

    def test_repeating_the_first_concept_gives_the_papers_unconstrained_figures(self):
        env = Tutor()
        states, steps = play(env, jax.random.key(0), jnp.zeros(100, jnp.int32))
        J_c2, J_c3, J_c4 = discounted(env, steps.costs)
        assert discounted(env, steps.reward) == pytest.approx(34.79, abs=5e-3)
        assert J_c2 == pytest.approx(0.912, abs=5e-4)
        assert J_c3 == pytest.approx(19.019, abs=5e-4)
        assert 27.1 < J_c4 < 27.95
        assert float(steps.gain.sum()) == pytest.approx(0.7998, abs=5e-5)
        np.testing.assert_allclose(states.K[:, 0], 1 - 0.8 * 0.92 ** np.arange(100), atol=1e-5)

    def test_the_shortest_way_out_of_low_demand_costs_what_dynamic_programming_says(self):
        env = Tutor()
        plan = jnp.array([1] * 12 + [0] * 12 + [3] * 12 + [6] * 64)
        _, steps = play(env, jax.random.key(0), plan)
        assert not steps.unready.any()
        assert discounted(env, steps.costs)[1] == pytest.approx(7.20, abs=5e-3)


@pytest.mark.parametrize(
    ("action", "K_v", "times", "reward", "gain", "costs", "unready"),
    [
        # r_E = 0.581 − 1.23·demand·(1 − K_v) + 0.03·exp(−n/5), the demand of v being 0.2 + 0.05·v
        (0, 0.2, 0, 0.581 - 0.1968 + 0.03, 0.064, (0, 0.3, 0), False),
        (0, 0.95, 5, 0.581 - 0.0123 + 0.03 / math.e, 0.004, (0.018, 0.3, 0.5687 + 0.03 / math.e - 0.042), False),
        (0, 1.0, 10, 0.581 + 0.03 / math.e**2, 0.0, (0.022, 0.3, 0.581 + 0.03 / math.e**2), False),
        (2, 0.5, 0, 0.581 - 0.1845 + 0.03, 0.04, (0, 0.2, 0.0065), False),
        (6, 0.2, 0, 0.581 - 0.492 + 0.03, 0.0064, (0.0156, 0, 0.0518), True),
        (14, 0.2, 0, 0.0, 0.0064, (0.0156, 0, 0), True),
    ],
    ids=["first", "nearly-mastered", "mastered", "all-but-c2", "unready", "held-to-0"],
)
def test_a_step_by_hand(action, K_v, times, reward, gain, costs, unready):
    K = jnp.full(15, 0.2).at[action].set(K_v)
    step = one_step(Tutor(), action, K=K, novelty=jnp.full(15, math.exp(-times / 5)), t=jnp.array(41))
    assert float(step.reward) == pytest.approx(reward, abs=1e-6)
    assert float(step.gain) == pytest.approx(gain, abs=1e-6)
    assert step.costs.tolist() == pytest.approx(costs, abs=1e-6)
    assert bool(step.unready) is unready
    np.testing.assert_allclose(step.state.K, K.at[action].add(gain), atol=1e-6)
    K_, novelty, last, ready, time = np.split(np.asarray(step.obs.features), [15, 30, 45, 60])
    np.testing.assert_array_equal(K_, step.state.K)
    np.testing.assert_allclose(novelty[action], math.exp(-(times + 1) / 5), rtol=1e-6)
    np.testing.assert_array_equal(last, np.eye(15)[action])
    np.testing.assert_array_equal(ready, step.obs.action_mask)
    assert time == pytest.approx([0.42])


def test_engagement_is_held_to_1():
    step = one_step(Tutor(r_base=0.99), 0, K=jnp.ones(15))
    assert float(step.reward) == 1.0
    assert make("tutor-15", r_base=0.99).cost_bounds[2] == 1.0


class Twin:
    """The environment in plain Python: lists, loops and the formulas as they are written down."""

    def __init__(self, curriculum, activities=()):
        names = curriculum.concepts
        self.needs = [[names.index(u) for u, w in curriculum.edges if w == v] for v in names]
        self.demand = curriculum.demand.tolist()
        self.activities = [ACTIVITIES[name] for name in activities] or [Activity("")]
        self.K, self.n = [0.2] * len(names), [0] * len(names)

    def step(self, action):
        """Reward, gain, costs and whether the concept was unready."""
        if action == len(self.K) * len(self.activities):
            return 0.0, 0.0, 0.0, 0.0, 0.0, False
        v, which = divmod(action, len(self.activities))
        activity = self.activities[which]
        ready = all(self.K[u] >= 0.7 for u in self.needs[v])
        demand = min(1.0, self.demand[v] * activity.demand)
        fun = 0.581 - 1.23 * demand * (1 - self.K[v]) + 0.03 * math.exp(-self.n[v] / 5) + activity.engagement
        reward = min(1.0, max(0.0, fun))
        gain = 0.08 * activity.gain * (1 - self.K[v]) * (1.0 if ready else 0.1)
        self.K[v] += gain
        self.n[v] += 1
        return reward, gain, max(0, 0.022 - gain), max(0, 0.5 - demand), max(0, reward - 10.5 * gain), not ready


@pytest.mark.parametrize(
    "parameters",
    [{}, {"concepts": 25}, {"curriculum_seed": 3, "concepts": 12}, {"activities": tuple(ACTIVITIES)}],
    ids=["tutor-15", "tutor-25", "random", "activities"],
)
def test_a_plain_twin_agrees_over_random_lessons(parameters):
    env = Tutor(**parameters)
    draw = np.random.default_rng(0)
    anything = draw.integers(0, env.num_actions + 1, (4, 100))
    early = draw.integers(0, min(7 * len(env.activities or [0]), env.num_actions), (4, 100))  # so that gates do open
    actions = np.concatenate([anything, early])
    _, steps = jax.vmap(play, in_axes=(None, 0, 0))(env, jax.random.split(jax.random.key(0), 8), actions)
    for episode, chosen in enumerate(actions.tolist()):
        twin = Twin(env.curriculum, parameters.get("activities", ()))
        expected = [twin.step(action) for action in chosen]
        got = [steps.reward, steps.gain, *np.moveaxis(steps.costs, -1, 0), steps.unready]
        np.testing.assert_allclose(np.stack([each[episode] for each in got], axis=1), expected, atol=1e-5)
        np.testing.assert_allclose(steps.state.K[episode, -1], twin.K, atol=1e-5)
    assert 0 < steps.unready[4:].mean() < 1


UNIT = st.floats(0, 1, width=32, allow_subnormal=False)  # XLA flushes subnormal numbers to zero


@settings(deadline=None, max_examples=60)
@given(data=st.data())
@pytest.mark.parametrize(
    "env", [Tutor(), Tutor(curriculum_seed=1, concepts=9, activities=ACTIVITIES)], ids=["15", "random"]
)
def test_mastery_grows_within_bounds_and_the_ready_set_never_shrinks(env, data):
    """Proposition 1 pathwise: where mastery does not decrease, neither does the feasible set, whatever is taught."""
    actions = data.draw(st.lists(st.integers(0, env.num_actions), min_size=30, max_size=30))
    eta = data.draw(st.floats(0, 0.75, width=32, allow_subnormal=False))
    theta = data.draw(st.floats(0.125, 0.875, width=32))
    numbers = [jnp.float32(x) for x in (eta, theta, data.draw(UNIT))]
    env = eqx.tree_at(lambda e: (e.eta, e.theta, e.K0), env, tuple(numbers))
    states, steps = play(env, jax.random.key(data.draw(st.integers(0, 99))), jnp.array(actions))
    K = np.concatenate([states.K, steps.state.K[-1:]])
    assert ((K >= 0) & (K <= 1)).all()
    assert (np.diff(K, axis=0) >= 0).all()
    assert (steps.obs.action_mask[1:] >= steps.obs.action_mask[:-1]).all()
    assert ((steps.obs.features >= 0) & (steps.obs.features <= 1)).all()
    ready = env.curriculum.ready(np.asarray(steps.state.K), np.float32(theta))
    np.testing.assert_array_equal(steps.obs.action_mask, np.repeat(ready, len(env.activities or [0]), axis=-1))
    np.testing.assert_array_equal(jax.vmap(env.truly_ready)(steps.state), steps.obs.action_mask)


def test_answers_follow_guess_and_slip_and_change_nothing_else():
    env = Tutor(guess=0.3, slip=0.05, K0=0.6)
    state, _ = env.reset(jax.random.key(0))
    taught = jax.jit(jax.vmap(lambda key: env.step(key, state, jnp.array(0))))
    steps = taught(jax.random.split(jax.random.key(1), 20_000))
    chance = 0.6 * 0.95 + 0.4 * 0.3
    assert steps.state.correct.mean() == pytest.approx(chance, abs=4 * math.sqrt(chance * (1 - chance) / 20_000))
    same = steps._replace(state=steps.state._replace(correct=jnp.zeros(())))
    assert all((leaf == leaf[0]).all() for leaf in jax.tree.leaves(same) if leaf.ndim)


def test_every_number_is_a_leaf_to_vmap_over():
    etas = jnp.array([0.02, 0.08, 0.3])
    many = jax.vmap(
        lambda eta: play(eqx.tree_at(lambda env: env.eta, Tutor(), eta), jax.random.key(0), jnp.zeros(5, jnp.int32))[1]
    )(etas)
    np.testing.assert_allclose(many.state.K[:, -1, 0], 1 - 0.8 * (1 - etas) ** 5, rtol=1e-5)
    assert len([leaf for leaf in jax.tree.leaves(Tutor()) if isinstance(leaf, float)]) == 14


class TestParameters:
    def test_overrides_reach_the_environment(self):
        env = mccpo.make("tutor-15", K0=0.3, horizon=7)
        state, _ = env.reset(jax.random.key(0))
        np.testing.assert_allclose(state.K, 0.3)
        assert env.horizon == 7
        assert make("tutor-25", concepts=30).num_actions == 30
        assert make("tutor-15", theta=0.2).reset(jax.random.key(0))[1].action_mask.all()

    @pytest.mark.parametrize(
        ("parameters", "what", "fix"),
        [
            ({"K0": 1.2}, "K0 is 1.2", "[0, 1]"),
            ({"K0": float("nan")}, "K0 is nan", "[0, 1]"),
            ({"eta": -0.1}, "eta is -0.1", "[0, 1]"),
            ({"theta": 1.0}, "theta is 1.0", "strictly between 0 and 1"),
            ({"unready_gain": 2.0}, "unready_gain is 2.0", "[0, 1]"),
            ({"r_base": float("inf")}, "r_base is inf", "finite number"),
            ({"r_difficulty": -1.0}, "r_difficulty is -1.0", "at least 0"),
            ({"novelty_span": 0.0}, "novelty_span is 0.0", "above 0"),
            ({"c2_gain": -0.1}, "c2_gain is -0.1", "at least 0"),
            ({"c3_demand": 1.5}, "c3_demand is 1.5", "[0, 1]"),
            ({"c4_rate": float("nan")}, "c4_rate is nan", "at least 0"),
            ({"guess": 0.5, "slip": 0.5}, "guess is 0.5 and slip is 0.5", "less than 1"),
            ({"gamma": 0.0}, "gamma is 0.0", "(0, 1]"),
            ({"horizon": 0}, "horizon is 0", "at least 1"),
            ({"concepts": 0}, "concepts is 0", "at least 1"),
            ({"curriculum_seed": -1}, "curriculum_seed is -1", "from 0 on"),
            ({"curriculum_seed": 0.5}, "curriculum_seed is 0.5", "from 0 on"),
            ({"curriculum_seed": 1, "curriculum": OWN}, "both given", "one of them"),
            ({"curriculum": "graph.json"}, "curriculum is 'graph.json'", "Curriculum.read"),
            ({"activities": "hint"}, "activities is 'hint'", '["hint"]'),
            ({"activities": ["hnt"]}, "unknown activity 'hnt'", "hint"),
            ({"activities": ["hint", "hint"]}, "activities is ['hint', 'hint']", "each once"),
            ({"activities": [Activity("a/b")]}, "an activity is called 'a/b'", "without a slash"),
            ({"activities": [Activity("a", gain=-1)]}, "a: gain is -1", "at least 0"),
            ({"activities": [Activity("a", demand=float("nan"))]}, "a: demand is nan", "at least 0"),
            ({"activities": [Activity("a", engagement=3)]}, "a: engagement is 3", "from -1 to 1"),
            ({"activities": ["challenge"], "eta": 0.9}, "eta times the gain of challenge is", "[0, 1]"),
        ],
        ids=lambda value: str(value) if isinstance(value, dict) else "",
    )
    def test_impossible_ones_are_refused_with_a_way_out(self, parameters, what, fix):
        with pytest.raises(InputError) as refused:
            make("tutor-15", **parameters)
        assert what in refused.value.what
        assert fix in refused.value.fix


class TestCurricula:
    def test_a_seed_decides_a_random_one(self):
        envs = [make("tutor-15", curriculum_seed=seed) for seed in (0, 0, 1)]
        assert envs[0].curriculum == envs[1].curriculum != envs[2].curriculum
        assert len(envs[0].curriculum) == len(make("tutor-15", curriculum_seed=0).action_names) == 15
        assert envs[0].curriculum != profile_curriculum(15)

    def test_a_users_own_is_taken_with_its_demands(self):
        env = make("tutor-15", curriculum=OWN)
        assert (env.curriculum, env.concepts, env.action_names) == (OWN, 2, ("add", "multiply"))
        assert one_step(env, 0).costs[1] == pytest.approx(0.2)
        assert bool(one_step(env, 1).unready)

    def test_no_concept_is_a_hack_by_its_name(self):
        env = make("tutor-15", curriculum=Curriculum.from_edges([("add", "hack")]))
        assert not env.hack.any()

    def test_a_single_concept_and_a_graph_without_edges_will_do(self):
        for curriculum in (Curriculum.from_edges([], ["add"]), Curriculum.from_edges([], ["add", "count"])):
            step = one_step(make("tutor-15", curriculum=curriculum), len(curriculum) - 1)
            assert step.obs.action_mask.all()
            assert not step.unready


class TestActivities:
    def test_actions_are_concepts_times_activities(self):
        env = make("tutor-15", curriculum=OWN, activities=["practice", "hint"])
        assert env.action_names == ("add/practice", "add/hint", "multiply/practice", "multiply/hint")
        _, obs = env.reset(jax.random.key(0))
        assert obs.action_mask.tolist() == [True, True, False, False]
        assert obs.features.shape == (env.num_features,) == (3 * 2 + 4 + 1,)
        step = one_step(env, 1)
        assert step.obs.features[4:8].tolist() == [0, 1, 0, 0]
        assert bool(one_step(env, 3).unready)

    def test_practice_alone_is_the_tutor_without_activities(self):
        for action in (0, 1, 2):
            plain, practice = (one_step(env, action) for env in (Tutor(), Tutor(activities=["practice"])))
            assert eqx.tree_equal(plain, practice)

    def test_each_has_its_own_demand_gain_and_engagement(self):
        env = make("tutor-15", curriculum=OWN, activities=ACTIVITIES)
        for which, activity in enumerate(ACTIVITIES.values()):
            step = one_step(env, which)
            demand = 0.3 * activity.demand
            assert float(step.gain) == pytest.approx(0.064 * activity.gain, abs=1e-6)
            assert float(step.reward) == pytest.approx(0.611 - 0.984 * demand + activity.engagement, abs=1e-6)
            assert float(step.costs[1]) == pytest.approx(0.5 - demand, abs=1e-6)
        np.testing.assert_allclose(env.demand[-5:], [0.15, 0.45, 0.6, 0.75, 0.975])

    def test_demand_is_held_to_1_and_ones_own_are_taken(self):
        env = make("tutor-15", curriculum=OWN, activities=[Activity("quiz", demand=2.0, gain=0.5, engagement=-0.2)])
        np.testing.assert_allclose(env.demand, [0.6, 1.0])
        assert float(one_step(env, 0).gain) == pytest.approx(0.032, abs=1e-6)
