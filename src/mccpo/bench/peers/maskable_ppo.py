"""Trains sb3-contrib's MaskablePPO on request: run by its path, in an environment that has it.

Says which versions it runs, then answers every request, one JSON object a line, with the steps it trained. Learners are
built and warmed up by a request of no iterations.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from importlib.metadata import version
from typing import Any

import gymnasium
import numpy as np
import torch  # type: ignore[import-not-found]
from plain_tutor import PlainTutors  # type: ignore[import-not-found]  # beside this file, which is run by its path
from sb3_contrib import MaskablePPO  # type: ignore[import-not-found]
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor  # type: ignore[import-not-found]
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv  # type: ignore[import-not-found]

from mccpo.env import make
from mccpo.env.gym import gym_id

ENVIRONMENT = "tutor-15"
HIDDEN = (64, 64)
LIBRARIES = ("torch", "sb3-contrib", "stable-baselines3", "gymnasium", "numpy")


class PlainVecEnv(VecEnv):  # type: ignore[misc]
    """The tutor in NumPy, as stable-baselines3 takes environments."""

    def __init__(self, environments: int) -> None:
        self.render_mode = None
        self._tutors = PlainTutors(make(ENVIRONMENT), environments)
        self._infos: list[dict[str, Any]] = [{} for _ in range(environments)]
        self._action = np.zeros(environments, int)
        space = gymnasium.spaces.Box(0.0, 1.0, self._tutors.features.shape[1:], np.float32)
        super().__init__(environments, space, gymnasium.spaces.Discrete(self._tutors.mask.shape[1]))

    def reset(self) -> Any:
        return self._tutors.reset()

    def step_async(self, actions: Any) -> None:
        self._action = actions

    def step_wait(self) -> Any:
        played = self._tutors.step(self._action)
        return played.features, played.reward, played.ended, self._infos

    def action_masks(self) -> Any:
        return self._tutors.mask

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> Any:
        return getattr(self, method_name)(*args, **kwargs)  # one entry for each environment, as an array

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self, attr_name)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        setattr(self, attr_name, value)

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False] * self.num_envs

    def close(self) -> None:
        pass


class Trunk(BaseFeaturesExtractor):  # type: ignore[misc]
    """Two layers that the policy and the value share, as in our network; by default each has two of its own."""

    def __init__(self, observation_space: Any) -> None:
        super().__init__(observation_space, HIDDEN[1])
        first = torch.nn.Linear(observation_space.shape[0], HIDDEN[0])
        second = torch.nn.Linear(*HIDDEN)
        self._layers = torch.nn.Sequential(first, torch.nn.Tanh(), second, torch.nn.Tanh())

    def forward(self, features: Any) -> Any:
        return self._layers(features)


def build(seed: int, environment: str, shared: bool, sizes: dict[str, int]) -> Any:
    """A learner at its start."""
    if environment == "numpy":
        env = PlainVecEnv(sizes["environments"])
    else:
        # Without Gymnasium's checks of every step, which would only slow it down.
        one = partial(gymnasium.make, f"mccpo.env.gym:{gym_id(ENVIRONMENT)}", disable_env_checker=True)
        env = DummyVecEnv([one] * sizes["environments"])
    network = {"features_extractor_class": Trunk, "net_arch": []} if shared else {"net_arch": list(HIDDEN)}
    return MaskablePPO(
        "MlpPolicy",
        env,
        n_steps=sizes["rollout"],
        batch_size=sizes["minibatch"],
        n_epochs=sizes["epochs"],
        seed=seed,
        device="cpu",
        policy_kwargs={"activation_fn": torch.nn.Tanh, **network},
    )


class Worker:
    """Learners by what they were asked to be, so that a request finds those of an earlier one."""

    def __init__(self) -> None:
        self._learners: dict[str, list[Any]] = {}

    def train(self, request: dict[str, Any]) -> int:
        """Trains every seed for some iterations; gives the steps of all."""
        how = {name: request[name] for name in ("environment", "shared", "sizes")}
        torch.distributions.Distribution.set_default_validate_args(request["checked"])
        steps = request["sizes"]["environments"] * request["sizes"]["rollout"]
        name = json.dumps([how, request["checked"]])
        if name not in self._learners:
            self._learners[name] = [build(seed, **how) for seed in request["seeds"]]
            self._learners[name][0].learn(steps)
        trained = request["iterations"] * steps
        for learner in self._learners[name] if trained else ():
            learner.learn(trained, reset_num_timesteps=False)
        return trained * len(self._learners[name])


def main() -> None:
    """Answers requests until there are no more."""
    torch.set_num_threads(1)
    worker = Worker()
    answer: dict[str, Any] = {name: version(name) for name in LIBRARIES}
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
    for line in sys.stdin:
        sys.stdout.write(json.dumps({"steps": worker.train(json.loads(line))}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
