"""Our environments as Gymnasium's: its own checker, masks, costs, seeds, and the six-tuple of Safety-Gymnasium."""

import subprocess
import sys
import warnings

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from tests.env.test_contract import LIKE_A_JUDGE

from mccpo.env import Chain, environment_names, make, registered
from mccpo.env.gym import SafetyWrapper, TutorEnv, gym_id, register_ids
from mccpo.errors import InputError

HACK = 5
WITHOUT_DATA = [
    pytest.param(entry.name, marks=pytest.mark.slow if entry.name in LIKE_A_JUDGE else ())
    for entry in registered().values()
    if not entry.needs_data
]


@pytest.fixture
def chain():
    return gymnasium.make("mccpo/Chain-v0")


def episode(env, seed, actions):
    observation, info = env.reset(seed=seed)
    return [(observation, info), *(env.step(action) for action in actions)]


def flat(steps):
    return [np.asarray(leaf).tolist() for leaf in jax.tree.leaves(steps)]


def test_the_names_are_the_documented_ones():
    documented = ("Gate", "Chain", "RandomFinite", "Tutor15", "Tutor25", "Tutor15Bkt")
    register_ids()
    ours = {name for name in gymnasium.registry if name.startswith("mccpo/")}
    assert {f"mccpo/{name}-v0" for name in documented} <= ours == {gym_id(name) for name in environment_names()}


@pytest.mark.parametrize("name", WITHOUT_DATA)
def test_gymnasiums_checker_finds_nothing(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(gym_id(name)).unwrapped)


@pytest.mark.parametrize("name", WITHOUT_DATA)
def test_an_episode_is_cut_by_nothing_but_its_own_end(name):
    env = gymnasium.make(gym_id(name))
    _, info = env.reset(seed=0)
    env.action_space.seed(0)
    for t in range(env.unwrapped.environment.horizon):
        observation, _, terminated, truncated, info = env.step(env.action_space.sample(info["action_mask"]))
        assert observation in env.observation_space
        assert (terminated, truncated) == (t + 1 == env.unwrapped.environment.horizon, False)


def test_a_longer_horizon_is_passed_on_and_not_cut():
    env = gymnasium.make("mccpo/Chain-v0", horizon=9)
    env.reset(seed=0)
    assert [env.step(HACK)[2:4] for _ in range(9)] == [(False, False)] * 8 + [(True, False)]


def test_registering_again_is_harmless():
    register_ids()
    before = dict(gymnasium.registry)
    register_ids()
    assert dict(gymnasium.registry) == before


ALONE = """
import sys, mccpo.env
print("gymnasium" in sys.modules)
import gymnasium
print(gymnasium.make("mccpo.env.gym:mccpo/Gate-v0", R=0.7).unwrapped.environment.R)
"""


def test_gymnasium_finds_environments_by_module_name():
    found = subprocess.run([sys.executable, "-c", ALONE], check=True, capture_output=True, text=True)
    assert found.stdout.split() == ["False", "0.7"]


def test_info_has_mask_costs_gain_and_unready(chain):
    _, info = chain.reset(seed=0)
    assert info["action_mask"].tolist() == [1, 0, 0, 0, 0, 1]
    _, reward, _, _, info = chain.step(HACK)
    assert (reward, info["costs"], info["cost"]) == (1.0, {"c2": 0.0, "c3": 0.0, "c4": 1.0}, 1.0)
    assert (info["gain"], info["unready"]) == (0.0, False)
    _, reward, _, _, info = chain.step(3)
    assert (reward, info["costs"], info["cost"]) == (0.0, {"c2": 0.0, "c3": 1.0, "c4": 0.0}, 1.0)
    assert (info["gain"], info["unready"]) == (0.0, True)


def test_cost_is_the_sum_of_all_costs_and_learning_opens_the_mask():
    env = TutorEnv(Chain(p_learn=0.0))
    env.reset(seed=0)
    assert env.step(0)[4]["cost"] == 2.0
    env = TutorEnv(Chain(p_learn=1.0))
    env.reset(seed=0)
    observation, reward, _, _, info = env.step(0)
    assert observation.tolist() == pytest.approx([1, 0, 0, 0, 0, 0.2])
    assert reward == pytest.approx(0.6)
    assert (info["cost"], info["gain"]) == (0.0, 1.0)
    assert info["action_mask"].tolist() == [1, 1, 0, 0, 0, 1]


def test_action_masks_are_the_info_s_as_booleans_and_through_wrappers(chain):
    for act in (lambda: chain.reset(seed=3), lambda: chain.step(0), lambda: chain.step(0)):
        *_, info = act()
        masks = chain.get_wrapper_attr("action_masks")()
        assert masks.dtype == np.bool_
        assert info["action_mask"].dtype == np.int8
        np.testing.assert_array_equal(masks, info["action_mask"] == 1)
    masks[:] = False
    assert chain.get_wrapper_attr("action_masks")().any()


def test_a_seed_decides_the_episode_and_episodes_differ():
    env = TutorEnv(Chain(horizon=12))
    actions = [0, 1, 2, 3, 4] * 2
    assert flat(episode(env, 7, actions)) == flat(episode(TutorEnv(Chain(horizon=12)), 7, actions))
    assert len({str(flat(episode(env, seed, actions))) for seed in range(20)}) > 5
    env.reset(seed=7)
    assert len({str(flat(episode(env, None, actions))) for _ in range(20)}) > 5


def test_steps_within_an_episode_draw_anew():
    env = TutorEnv(make("chain", horizon=40, p_learn=0.5))
    tries = []
    for seed in range(60):
        env.reset(seed=seed)
        tries.append(next(t for t in range(1, 41) if env.step(0)[4]["gain"] > 0))
    # With one key for all steps of an episode, a first failure would be followed by failures only.
    assert {1, 2, 3} <= set(tries)


@pytest.mark.parametrize("action", [-1, 6, 1.0, "hack", None, True, np.array([1]), np.float32(2), np.bool_(True)])
def test_an_invalid_action_is_refused(chain, action):
    env = chain.unwrapped
    env.reset(seed=0)
    with pytest.raises(InputError, match=r"the action is .*; give a whole number from 0 to 5 \(1, 2, 3, 4, 5, hack\)"):
        env.step(action)


@pytest.mark.parametrize("action", [HACK, np.int64(HACK), np.array(HACK), np.uint8(HACK)])
def test_whole_numbers_of_any_type_are_actions(chain, action):
    chain.reset(seed=0)
    assert chain.step(action)[1] == 1.0


def test_a_step_outside_an_episode_is_refused():
    env = TutorEnv(make("gate"))
    with pytest.raises(gymnasium.error.ResetNeeded, match="call reset"):
        env.step(0)
    env.reset(seed=0)
    assert env.step(0)[2]
    with pytest.raises(gymnasium.error.ResetNeeded, match="call reset"):
        env.step(0)


class CountedChain(Chain):
    """A chain that counts how often its step is traced."""

    traces = []  # noqa: RUF012 - shared on purpose

    def signals(self, *args):
        self.traces.append(args)
        return super().signals(*args)


def test_copies_of_an_environment_are_compiled_once():
    for seed in range(3):
        episode(TutorEnv(CountedChain()), seed, [0, 1, 2, 3, HACK])
    assert len(CountedChain.traces) == 1


def test_frames_are_refused_the_way_learners_expect():
    with pytest.raises(TypeError, match="draws nothing"):
        gymnasium.make("mccpo/Gate-v0", render_mode="rgb_array")
    assert gymnasium.make("mccpo/Gate-v0", render_mode=None).render_mode is None


def test_vectorised_environments_run():
    envs = gymnasium.make_vec("mccpo/Chain-v0", num_envs=2, vectorization_mode="sync")
    envs.reset(seed=0)
    observations, rewards, _, _, infos = envs.step(np.array([HACK, 0]))
    assert observations.shape == (2, 6)
    assert rewards.tolist() == pytest.approx([1.0, 0.6])
    assert infos["action_mask"].shape == (2, 6)


def test_the_safety_wrapper_gives_six_values_and_the_sum_of_costs(chain):
    env = SafetyWrapper(chain)
    observation, info = env.reset(seed=0)
    assert observation in env.observation_space
    assert "action_mask" in info
    observation, reward, cost, terminated, truncated, info = env.step(HACK)
    assert (reward, cost, terminated, truncated) == (1.0, 1.0, False, False)
    assert cost == info["cost"] == sum(info["costs"].values())


def test_the_safety_wrapper_can_sum_what_carries_a_budget():
    constrained = Chain().constrained
    env = SafetyWrapper(TutorEnv(Chain(p_learn=0.0)), costs=constrained)
    env.reset(seed=0)
    _, _, cost, _, _, info = env.step(0)
    assert info["costs"] == {"c2": 1.0, "c3": 0.0, "c4": 1.0}
    assert cost == info["cost"] == 1.0
    with pytest.raises(InputError, match="unknown cost 'c9'; choose from c2, c3, c4"):
        SafetyWrapper(TutorEnv(Chain()), costs=("c9",))
    with pytest.raises(InputError, match="wrap an environment of mccpo"):
        SafetyWrapper(gymnasium.make("CartPole-v1"))


def test_a_wrapped_environment_can_be_made_again_from_its_spec(chain):
    again = gymnasium.make(SafetyWrapper(chain, costs=("c4",)).spec)
    assert again.costs == ("c4",)
