"""MaskablePPO of sb3-contrib in the benchmark's table.

    pip install 'mccpo[gym]' sb3-contrib
    python examples/maskable_ppo.py --out maskable-ppo.parquet
    mccpo benchmark --envs tutor-15 --rows maskable-ppo.parquet

Any agent joins in this way: train it however you like, then hand `measure` a function from what is seen to an action.
With `--unmasked` every action is allowed, which makes it the unconstrained PPO of stable-baselines3; `--compare` trains
ours for as many steps with as many seeds, and says whether the two agree within a standard error of their difference.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from typing import Any

import equinox as eqx
import gymnasium
import jax
import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv

from mccpo.env import Environment, autoreset_step, make
from mccpo.experiments.benchmark import measure, write_agent_rows
from mccpo.methods import NeuralPlan, PPOSettings, Sizes, evaluate_neural, method_spec, train_neural

SIZES, SETTINGS = Sizes(), PPOSettings()


class Tutors(VecEnv):
    """Many copies of an environment, all stepped by one compiled call; an episode that ends is followed by a new one.

    `gymnasium.make` and a `DummyVecEnv` would do as well, several times slower.
    """

    def __init__(self, env: Environment[Any], copies: int, seed: int, masked: bool) -> None:
        self.render_mode = None
        self._env, self._masked = env, masked
        self._key = jax.random.key(seed)
        self._action = np.zeros(copies, np.int32)
        space = gymnasium.spaces.Box(0.0, 1.0, (env.num_features,), np.float32)
        super().__init__(copies, space, gymnasium.spaces.Discrete(env.num_actions))

    def reset(self) -> np.ndarray:
        self._key, use = jax.random.split(self._key)
        self._state, self._obs = _reset(self._env, jax.random.split(use, self.num_envs))
        return np.array(self._obs.features)

    def step_async(self, actions: np.ndarray) -> None:
        self._action = np.asarray(actions, np.int32)

    def step_wait(self) -> Any:
        self._key, use = jax.random.split(self._key)
        self._state, self._obs, reward, last, cut = _step(self._env, use, self._state, self._action)
        ended, cut = np.asarray(last[1]), np.asarray(cut)
        infos: list[dict[str, Any]] = [{} for _ in ended]
        for at in np.flatnonzero(ended):  # so that the value of what a cut left out is not lost
            infos[at] = {"terminal_observation": np.asarray(last[0][at]), "TimeLimit.truncated": bool(cut[at])}
        return np.array(self._obs.features), np.array(reward), ended, infos

    def action_masks(self) -> np.ndarray:
        mask = np.asarray(self._obs.action_mask)
        return mask if self._masked else np.ones_like(mask)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> Any:
        return getattr(self, method_name)(*args, **kwargs)

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self, attr_name)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        setattr(self, attr_name, value)

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False] * self.num_envs

    def close(self) -> None:
        pass


@eqx.filter_jit
def _reset(env: Environment[Any], keys: Any) -> Any:
    return jax.vmap(env.reset)(keys)


@eqx.filter_jit
def _step(env: Environment[Any], key: Any, state: Any, action: Any) -> Any:
    moving, starting = jax.random.split(key)
    keys = (jax.random.split(use, action.shape[0]) for use in (moving, starting))
    step, state, obs = jax.vmap(partial(autoreset_step, env))(*keys, state, action)
    return state, obs, step.reward, (step.obs.features, step.terminated | step.truncated), step.truncated


class FadingEntropy(BaseCallback):
    """The entropy bonus falls to zero within the first part of training, as ours does."""

    def _on_step(self) -> bool:
        done = 1.0 - self.model._current_progress_remaining
        self.model.ent_coef = SETTINGS.entropy * max(0.0, 1.0 - done / SETTINGS.entropy_end)
        return True


def train(env: Environment[Any], steps: int, seed: int, *, masked: bool) -> MaskablePPO:
    """One agent, with our sizes and step sizes."""
    agent = MaskablePPO(
        "MlpPolicy",
        Tutors(env, SIZES.environments, seed, masked),
        n_steps=SIZES.rollout,
        batch_size=SIZES.minibatch,
        n_epochs=SIZES.epochs,
        learning_rate=lambda left: SETTINGS.learning_rate * max(left, 0.05),
        clip_range=SETTINGS.clip,
        gamma=env.gamma,
        gae_lambda=SETTINGS.gae,
        seed=seed,
        device="cpu",
        policy_kwargs={"net_arch": [64, 64], "activation_fn": torch.nn.Tanh},
    )
    return agent.learn(steps, callback=FadingEntropy())


def acting(agent: MaskablePPO, *, masked: bool) -> Any:
    """The agent as `measure` takes it: it draws its actions, as ours do."""

    def act(observation: np.ndarray, mask: np.ndarray) -> int:
        allowed = mask if masked else np.ones_like(mask)
        return int(agent.predict(observation, action_masks=allowed, deterministic=False)[0])

    return act


def compare(env: Environment[Any], steps: int, theirs: list[float], seeds: int) -> str:
    """Our unconstrained PPO beside theirs."""
    free = method_spec("unconstrained")
    runs = train_neural(env, [free], {}, NeuralPlan(steps, seeds))
    ours = evaluate_neural(env, [free], runs.selected, episodes=200, seed=0).ret[0].mean(axis=-1)
    apart = float(np.mean(ours) - np.mean(theirs))
    error = float(np.sqrt(np.var(ours, ddof=1) / len(ours) + np.var(theirs, ddof=1) / len(theirs)))
    verdict = "within" if abs(apart) <= error else "more than"
    return (
        f"ours {np.mean(ours):.3f} {np.round(ours, 3).tolist()}, theirs {np.mean(theirs):.3f} "
        f"{np.round(theirs, 3).tolist()}: {apart:+.3f} apart, {verdict} one standard error ({error:.3f})"
    )


def main() -> None:
    """Trains, measures and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environment", default="tutor-15")
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--unmasked", action="store_true")
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--out", default="maskable-ppo.parquet")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    env, masked = make(asked.environment), not asked.unmasked
    rows = []
    for seed in range(asked.seeds):
        begun = time.perf_counter()
        agent = train(env, asked.steps, seed, masked=masked)
        seconds = time.perf_counter() - begun
        name = "maskable-ppo" if masked else "sb3-ppo"
        act = acting(agent, masked=masked)
        rows.append(measure(asked.environment, act, name=name, seed=seed, episodes=asked.episodes, seconds=seconds))
        sys.stderr.write(f"seed {seed}: return {rows[-1].ret:.3f}, {seconds:.0f} s\n")
    write_agent_rows(asked.out, rows)
    if asked.compare:
        sys.stdout.write(compare(env, asked.steps, [row.ret for row in rows], asked.seeds) + "\n")


if __name__ == "__main__":
    main()
