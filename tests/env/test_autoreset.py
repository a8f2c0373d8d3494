"""A step that starts a new episode where one ends."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from mccpo.env import autoreset_step, make


def test_a_new_episode_follows_the_end_and_the_last_observation_is_kept():
    env = make("chain", horizon=3)
    keys = jax.random.split(jax.random.key(0), (2, 8))

    def advance(state, keys):
        step, state, obs = autoreset_step(env, *keys, state, jnp.asarray(0))
        return state, (step.obs, step.terminated, state.t, obs)

    start = env.reset(jax.random.key(1))[0]
    last, ended, t, obs = jax.jit(lambda: jax.lax.scan(advance, start, (keys[0], keys[1])))()[1]
    assert ended.tolist() == [False, False, True, False, False, True, False, False]
    assert t.tolist() == [1, 2, 0, 1, 2, 0, 1, 2]
    np.testing.assert_allclose(env.view(last.features, "time", axis=1)[2], 1.0)
    np.testing.assert_allclose(env.view(obs.features, "time", axis=1)[2], 0.0)
    np.testing.assert_array_equal(last.features[~ended], obs.features[~ended])


def test_copies_restart_apart_from_each_other():
    env = make("tutor-15-goal", eta=0.9, horizon=30)
    copies = 32
    states, _ = jax.vmap(env.reset)(jax.random.split(jax.random.key(0), copies))
    advance = jax.jit(jax.vmap(partial(autoreset_step, env)))
    apart = False
    for t in range(12):
        keys = jax.random.split(jax.random.key(t + 1), (2, copies))
        step, after, _ = advance(keys[0], keys[1], states, jnp.full(copies, t % 15))
        np.testing.assert_array_equal(after.t, jnp.where(step.terminated, 0, step.state.t))
        apart |= bool(step.terminated.any() and not step.terminated.all())
        states = after
    assert apart
