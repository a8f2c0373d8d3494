"""What holds for every registered environment."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from mccpo.env import (
    Answering,
    FiniteEnvironment,
    PreparedEnsemble,
    RandomCurricula,
    TutorBKT,
    environment_entry,
    make,
    registered,
)
from mccpo.errors import InputError

EPISODES = 64


LIKE_A_JUDGE = ("prepared-best-lr", "prepared-recurrent")
"""These share all but the learner with `prepared-judge`, which is tried each time; `make test-all` tries them, too."""


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(entry.name, marks=pytest.mark.slow if entry.name in LIKE_A_JUDGE else ())
        for entry in registered().values()
        if not entry.needs_data
    ],
)
def env(request):
    return make(request.param)


@pytest.fixture(scope="module")
def finite(env):
    if not isinstance(env, FiniteEnvironment):
        pytest.skip(f"{env.name} is not finite")
    return env


def play(env, key, actions):
    """One episode by `scan`: the state before each step, the action, and what it brought about."""
    start, *keys = jax.random.split(key, env.horizon + 1)

    def advance(state, chosen):
        step = env.step(chosen[0], state, chosen[1])
        return step.state, (state, chosen[1], step)

    return jax.lax.scan(advance, env.reset(start)[0], (jnp.stack(keys), actions))[1]


@pytest.fixture(scope="module")
def play_all(env):
    """Plays episodes of actions drawn without regard to the mask, and among them the no-op: [episodes, steps]."""
    actions = jax.random.randint(jax.random.key(1), (EPISODES, env.horizon), 0, env.num_actions + 1)
    compiled = jax.jit(jax.vmap(lambda key, chosen: play(env, key, chosen)))
    return lambda: compiled(jax.random.split(jax.random.key(0), EPISODES), actions)


@pytest.fixture(scope="module")
def episodes(play_all):
    """As NumPy's, of which a part needs no program of its own."""
    return jax.device_get(play_all())


@pytest.fixture(scope="module")
def reset(env):
    return jax.jit(lambda key: env.reset(key))


@pytest.fixture(scope="module")
def everything(finite):
    """The outcomes of every action, the no-op among them, in every state number: [states, actions + 1, outcomes]."""
    over_actions = jax.vmap(lambda number, action: finite.outcomes(finite.state(number), action), in_axes=(None, 0))
    over_states = jax.jit(jax.vmap(over_actions, in_axes=(0, None)))
    return jax.device_get(over_states(jnp.arange(finite.num_states), jnp.arange(finite.num_actions + 1)))


def ready_lessons(env, state):
    """Whether each lesson, a concept or an activity of one, is of a concept that its learner's own graph opens."""
    K = np.asarray(state.K, np.float32)
    if isinstance(env, RandomCurricula):
        ready, graphs = np.empty(K.shape, bool), np.asarray(state.case)
        for graph in np.unique(graphs):
            ready[graphs == graph] = env.curricula[graph].ready(K[graphs == graph], env.theta)
    else:
        ready = env.curriculum.ready(K, env.theta)
    return np.repeat(ready, len(getattr(env, "activities", ())) or 1, axis=-1)


def same(one, other):
    assert jax.tree.structure(one) == jax.tree.structure(other)
    for left, right in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        # A multiplication and an addition may be fused in one program and not in another: the last bit can differ.
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-7)


def test_the_declarations_agree_with_each_other(env):
    assert environment_entry(env.name).build is type(env)
    assert environment_entry(env.name).doc
    assert set(env.constrained) <= set(env.cost_names)
    assert set(env.fixed_budgets) <= set(env.constrained)
    assert env.cost_bounds.shape == (len(env.cost_names),)
    assert len(set(env.action_names)) == env.num_actions == env.noop == len(env.hack)
    assert env.unwrapped is env
    assert env.discounted_horizon == pytest.approx(sum(env.gamma**t for t in range(env.horizon)))


def test_shapes_and_types_are_those_declared_and_stay_the_same(env):
    key, action = jax.random.key(0), jnp.zeros((), jnp.int32)
    state, obs = jax.eval_shape(env.reset, key)
    step = jax.eval_shape(env.step, key, state, action)
    assert (step.state, step.obs) == (state, obs)
    assert (obs.features.shape, obs.features.dtype) == ((env.num_features,), jnp.float32)
    assert (obs.action_mask.shape, obs.action_mask.dtype) == ((env.num_actions,), jnp.bool_)
    assert (step.costs.shape, step.costs.dtype) == ((len(env.cost_names),), jnp.float32)
    assert {(x.shape, x.dtype) for x in (step.reward, step.gain)} == {((), jnp.dtype("float32"))}
    assert {(x.shape, x.dtype) for x in (step.unready, step.terminated, step.truncated)} == {((), jnp.dtype("bool"))}


def test_views_of_the_fields_are_the_features_in_order(env, episodes):
    features = np.asarray(episodes[2].obs.features)  # episodes, steps, features
    parts = [env.view(features, name, axis=2) for name in env.observation_fields]
    assert [part.shape[2:] for part in parts] == [field.shape for field in env.observation_fields.values()]
    np.testing.assert_array_equal(np.concatenate([part.reshape(*part.shape[:2], -1) for part in parts], 2), features)
    np.testing.assert_array_equal(env.view(np.moveaxis(features, 2, 0), "time"), env.view(features, "time", axis=2))
    with pytest.raises(InputError, match=f"shows no 'mood'; choose from {next(iter(env.observation_fields))}"):
        env.view(features, "mood")


def test_fields_of_concepts_have_as_many_numbers_for_each(env):
    for name, field in env.observation_fields.items():
        assert not field.per_concept or field.size % len(env.curriculum) == 0, name


def test_mastery_and_time_are_what_the_state_has(env, episodes):
    steps = episodes[2]
    if "mastery" in env.observation_fields:
        np.testing.assert_array_equal(env.view(steps.obs.features, "mastery", axis=2), steps.state.K)
    time = env.view(steps.obs.features, "time", axis=2)
    np.testing.assert_allclose(time * env.horizon, steps.state.t, rtol=1e-6)


def test_a_step_is_compiled_once_and_gives_the_same_alone_batched_and_scanned(env, reset, episodes):
    traces = []

    @jax.jit
    def step(key, state, action):
        traces.append(action)
        return env.step(key, state, action)

    states, actions, steps = jax.tree.map(lambda leaf: leaf[0], episodes)
    start, *keys = jax.random.split(jax.random.split(jax.random.key(0), EPISODES)[0], env.horizon + 1)
    state, _ = reset(start)
    for t, key in enumerate(keys):
        alone = step(key, state, actions[t])
        same((state, alone), jax.tree.map(lambda leaf, t=t: leaf[t], (states, steps)))
        state = alone.state
    assert len(traces) == 1


def test_episodes_end_at_the_horizon_and_not_before(env, episodes):
    _, _, steps = episodes
    ended = np.asarray(steps.terminated | steps.truncated)
    assert ended[:, -1].all()
    assert not ended[:, :-1].any()


def test_the_mask_is_the_ready_set_and_never_empty(env, reset, episodes):
    _, _, steps = episodes
    for state, obs in (reset(jax.random.key(2)), (steps.state, steps.obs)):
        expected = ready_lessons(env, state)
        lessons = expected.shape[-1]
        assert obs.action_mask.any(axis=-1).all()
        np.testing.assert_array_equal(obs.action_mask[..., :lessons], expected)
        assert obs.action_mask[..., lessons:].all()


def test_features_and_costs_stay_within_their_bounds(env, episodes):
    _, _, steps = episodes
    assert ((steps.obs.features >= 0) & (steps.obs.features <= 1)).all()
    assert (steps.costs >= 0).all()
    assert (steps.costs <= np.float32(env.cost_bounds)).all()
    assert np.isfinite(steps.reward).all()


def test_the_no_op_lets_time_pass_and_nothing_else(env, episodes):
    states, actions, steps = jax.tree.map(np.asarray, episodes)
    idle = actions == env.noop
    assert idle.any()
    before, steps = jax.tree.map(lambda leaf: leaf[idle], (states, steps))
    same(steps.state, before._replace(t=before.t + 1))
    for signal in (steps.reward, steps.costs, steps.gain, steps.unready):
        assert not signal.any()


def test_an_unready_concept_can_be_taught_and_is_counted(env, episodes):
    states, actions, steps = episodes
    ready = ready_lessons(env, states)
    allowed = np.concatenate([ready, np.ones((*ready.shape[:2], env.num_actions + 1 - ready.shape[2]), bool)], axis=2)
    expected = ~np.take_along_axis(allowed, np.asarray(actions)[..., None], axis=2)[..., 0]
    assert expected.any()
    np.testing.assert_array_equal(steps.unready, expected)


def test_gain_is_the_mastery_gained(env, episodes):
    states, actions, steps = episodes
    if isinstance(env, TutorBKT):
        _gain_is_the_chance_to_master(env, states, actions, steps)
        return

    if isinstance(env, Answering):
        _gain_is_the_expected_change(env, states, actions, steps)
        return
    if isinstance(env, PreparedEnsemble):
        return  # as each kind has it: tests/env/test_ensemble.py
    gained = (steps.state.K.astype(np.float32) - states.K.astype(np.float32)).sum(axis=-1)
    np.testing.assert_allclose(steps.gain, gained, atol=1e-6)
    assert (gained > 0).any()


def _gain_is_the_expected_change(env, states, actions, steps):
    """Of learners by their answers: what the chance on the concept taught changes by, on average over both answers."""
    chances = jax.jit(jax.vmap(jax.vmap(env.chances)))
    concept = np.minimum(actions, len(env.curriculum) - 1)[..., None]
    before, after = (
        np.take_along_axis(np.asarray(chances(at.latent)), concept, axis=-1) for at in (states, steps.state)
    )
    moved = (after - before)[..., 0]
    assert (moved[actions == env.noop] == 0).all()
    assert (steps.gain[actions == env.noop] == 0).all()
    assert abs((moved - steps.gain).mean()) < 4 * (moved - steps.gain).std() / np.sqrt(moved.size)
    assert np.abs(moved - steps.gain).max() > 0.01  # an answer tells of the learner, which is no gain
    assert (steps.gain > 0).any()


def _gain_is_the_chance_to_master(env, states, actions, steps):
    """Where mastery is an estimate: the chance that the lesson makes this learner master its concept in truth."""
    offered = env.activities or (None,)
    concept = np.minimum(actions // len(offered), len(env.curriculum) - 1)
    known = states.latent.mastered
    ready = (known | ~env.curriculum.prerequisites.dense[concept]).all(axis=-1)
    pace = np.array([group.eta for group in env.groups])[states.latent.group]
    rate = pace * np.broadcast_to(np.asarray(env.eta), len(env.curriculum))[concept]
    if env.activities:
        rate = rate * np.array([activity.gain for activity in offered])[actions % len(offered)]
    learns = (actions != env.noop) & ~np.take_along_axis(known, concept[..., None], axis=-1)[..., 0]
    np.testing.assert_allclose(steps.gain, learns * rate * np.where(ready, 1.0, env.unready_gain), atol=1e-6)
    learnt = (steps.state.latent.mastered & ~known).sum()
    assert abs(learnt - steps.gain.sum()) < 4 * np.sqrt((steps.gain * (1 - steps.gain)).sum())
    assert learnt > 0


def test_no_step_gains_or_loses_more_than_its_bound(env, episodes):
    gain = episodes[2].gain
    assert gain.max() <= env.gain_bound + 1e-6
    assert gain.min() >= -env.loss_bound - 1e-6
    assert env.gain_bound <= 1


def test_mastered_concepts_and_elapsed_steps_are_counted(env, episodes):
    states, _, _ = episodes
    count, elapsed = jax.jit(jax.vmap(jax.vmap(lambda state: (env.mastered(state), env.elapsed(state)))))(states)
    np.testing.assert_array_equal(elapsed, np.broadcast_to(np.arange(env.horizon), elapsed.shape))
    if isinstance(env, TutorBKT):
        known = states.latent.mastered
    elif isinstance(env, Answering):
        known = np.asarray(jax.jit(jax.vmap(jax.vmap(env.chances)))(states.latent)) >= env.theta
    elif isinstance(env, PreparedEnsemble):
        return  # as each kind has it: tests/env/test_ensemble.py
    else:
        known = env.theta <= states.K
    np.testing.assert_array_equal(count, known.sum(axis=-1))


def test_numbers_and_states_are_inverse_to_each_other(finite, episodes):
    numbers = jnp.arange(finite.num_states)
    np.testing.assert_array_equal(jax.jit(jax.vmap(lambda n: finite.index(finite.state(n))))(numbers), numbers)
    states, _, _ = episodes
    same(jax.jit(jax.vmap(jax.vmap(lambda state: finite.state(finite.index(state)))))(states), states)


def test_outcomes_are_distributions_within_the_bounds(finite, everything):
    chances, steps = everything
    np.testing.assert_allclose(chances.sum(axis=-1), 1, atol=1e-6)
    assert (chances >= 0).all()
    possible = np.asarray(steps.costs)[np.asarray(chances) > 0]
    assert (possible >= 0).all()
    assert (possible <= finite.cost_bounds).all()


def draw_steps(env, numbers, actions, draws):
    keys = jax.random.split(jax.random.key(11), (len(numbers), draws))

    def of_pair(keys, number, action):
        return jax.vmap(lambda key: env.step(key, env.state(number), action))(keys)

    return jax.jit(jax.vmap(of_pair))(keys, numbers, actions)


def test_steps_are_drawn_from_the_outcomes(finite, everything):
    """Each step drawn is exactly one of the outcomes, and they come as often as their chances say (chi-square)."""
    draws, pairs = 1000, 40
    chances = np.asarray(everything[0])
    uncertain_first = np.argsort(chances.max(axis=-1), axis=None, kind="stable")[:pairs]
    numbers, actions = np.unravel_index(uncertain_first, chances.shape[:2])
    drawn = draw_steps(finite, numbers, actions, draws)
    outcomes = jax.tree.map(lambda leaf: leaf[numbers, actions], everything[1])
    is_outcome = np.ones((len(numbers), draws, chances.shape[-1]), bool)
    for seen, listed in zip(jax.tree.leaves(drawn), jax.tree.leaves(outcomes), strict=True):
        equal = np.asarray(seen)[:, :, None] == np.asarray(listed)[:, None]
        is_outcome &= equal.reshape(*is_outcome.shape, -1).all(axis=-1)
    assert (is_outcome.sum(axis=-1) == 1).all()
    counts, expected = is_outcome.sum(axis=1), chances[numbers, actions] * draws
    possible = expected > 0
    assert not counts[~possible].any()
    surprise = (np.square(counts - expected)[possible] / expected[possible]).sum()
    freedom = possible.sum() - len(numbers)
    assert surprise == 0 if freedom == 0 else stats.chi2.sf(surprise, freedom) > 1e-3


def test_the_same_key_gives_the_same_episode(play_all, episodes):
    same(play_all(), episodes)
