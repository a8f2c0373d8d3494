"""Copies of an environment as a vector environment: step for step what Gymnasium makes of single ones."""

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from mccpo.env import Chain, make
from mccpo.env.gym import TutorVectorEnv, gym_id
from mccpo.errors import InputError

COPIES = 5


def same(ours, theirs):
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for left, right in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        left, right = np.asarray(left), np.asarray(right)
        assert (left.dtype, left.shape) == (right.dtype, right.shape)
        np.testing.assert_allclose(left, right, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("gate", {}), ("chain", {"horizon": 3}), ("tutor-15-bkt", {"horizon": 4}), ("tutor-15-goal", {"horizon": 4})],
)
def test_every_step_matches_single_environments(name, parameters):
    ours = gymnasium.make_vec(gym_id(name), num_envs=COPIES, **parameters)
    theirs = gymnasium.make_vec(gym_id(name), num_envs=COPIES, vectorization_mode="sync", **parameters)
    assert isinstance(ours, TutorVectorEnv)
    assert (ours.observation_space, ours.action_space) == (theirs.observation_space, theirs.action_space)
    assert ours.metadata["autoreset_mode"] == theirs.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    draw = np.random.default_rng(0)
    for seed in (11, None, [1, 2, 3, 4, 5]):
        same(ours.reset(seed=seed), theirs.reset(seed=seed))
        for _ in range(12):  # through several ends, all of them at once in a fixed horizon
            actions = draw.integers(0, ours.single_action_space.n, COPIES)
            same(ours.step(actions), theirs.step(actions))


def test_copies_end_apart_and_begin_in_the_step_after():
    """Goals differ, and so do the lengths of episodes: some copies act while others begin."""
    ours = gymnasium.make_vec("mccpo/Tutor15Goal-v0", num_envs=16, eta=0.9, horizon=6)
    theirs = gymnasium.make_vec("mccpo/Tutor15Goal-v0", num_envs=16, vectorization_mode="sync", eta=0.9, horizon=6)
    same(ours.reset(seed=0), theirs.reset(seed=0))
    apart, draw = False, np.random.default_rng(1)
    for _ in range(30):
        actions = draw.integers(0, 15, 16)
        step = ours.step(actions)
        same(step, theirs.step(actions))
        apart |= bool(step[2].any() and not step[2].all())
    assert apart


def test_masks_match_the_info():
    envs = gymnasium.make_vec("mccpo/Chain-v0", num_envs=3, vectorization_mode="vector_entry_point", p_learn=1.0)
    _, infos = envs.reset(seed=0)
    assert infos["action_mask"].dtype == np.int8
    np.testing.assert_array_equal(envs.action_masks(), infos["action_mask"] == 1)
    *_, infos = envs.step(np.array([0, 5, 0]))
    assert infos["action_mask"].tolist() == [[1, 1, 0, 0, 0, 1], [1, 0, 0, 0, 0, 1], [1, 1, 0, 0, 0, 1]]
    assert infos["costs"]["c4"].tolist() == [0.0, 1.0, 0.0]
    assert infos["cost"].tolist() == [0.0, 1.0, 0.0]
    assert infos["_cost"].all()


def test_a_seed_decides_all_copies_and_they_differ():
    envs = TutorVectorEnv(Chain(horizon=12, p_learn=0.5), 8)

    def play(seed):
        envs.reset(seed=seed)
        return np.stack([envs.step(np.zeros(8, int))[0] for _ in range(8)])

    first = play(3)
    np.testing.assert_array_equal(play(3), first)
    assert len({copy.tobytes() for copy in np.swapaxes(first, 0, 1)}) > 1
    assert play(4).tobytes() != first.tobytes()
    assert play(None).tobytes() != play(None).tobytes()


class CountedChain(Chain):
    """A chain that counts how often its step is traced."""

    traces = []  # noqa: RUF012 - shared on purpose

    def signals(self, *args):
        self.traces.append(args)
        return super().signals(*args)


def test_all_copies_are_stepped_by_one_program():
    for _ in range(2):
        envs = TutorVectorEnv(CountedChain(), 4)
        envs.reset(seed=0)
        for _ in range(7):
            envs.step(np.zeros(4, int))
    assert len(CountedChain.traces) == 1


def test_what_is_wrong_is_refused():
    envs = TutorVectorEnv(make("gate"), 2)
    with pytest.raises(gymnasium.error.ResetNeeded, match="call reset"):
        envs.step(np.array([0, 0]))
    envs.reset(seed=0)
    for actions in ([0], [0, 1, 2], [0.0, 1.0], 1):
        with pytest.raises(InputError, match="give 2 whole numbers, one for each copy"):
            envs.step(actions)
    with pytest.raises(InputError, match=r"an action is 3; give a whole number from 0 to 2 \(prog, next, hack\)"):
        envs.step([0, 3])
    with pytest.raises(InputError, match="3 seeds are given for 2 copies"):
        envs.reset(seed=[1, 2, 3])
    with pytest.raises(InputError, match="leave out reset_mask"):
        envs.reset(options={"reset_mask": np.array([True, False])})
    with pytest.raises(InputError, match="num_envs is 0"):
        TutorVectorEnv(make("gate"), 0)
    with pytest.raises(TypeError, match="draws nothing"):
        gymnasium.make_vec("mccpo/Gate-v0", num_envs=2, render_mode="rgb_array")
