"""A step as Safety-Gymnasium gives it, with its cost beside its reward."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from mccpo.env.gym.single import FloatArray, TutorEnv
from mccpo.errors import InputError


class SafetyWrapper(
    gymnasium.Wrapper[FloatArray, np.int64, FloatArray, np.int64], gymnasium.utils.RecordConstructorArgs
):
    """Gives a step as Safety-Gymnasium does: (observation, reward, cost, terminated, truncated, info).

    The cost is the sum of the costs that `costs` names, of all of them where it names none; to bound what carries a
    budget, give the environment's `constrained`. `info["cost"]` is always the same number.

    >>> from mccpo import make
    >>> from mccpo.env.gym import TutorEnv
    >>> env = SafetyWrapper(TutorEnv(make("chain")))
    >>> observation, info = env.reset(seed=0)
    >>> observation, reward, cost, terminated, truncated, info = env.step(0)
    >>> cost == sum(info["costs"].values())
    True
    """

    def __init__(self, env: gymnasium.Env[FloatArray, np.int64], costs: tuple[str, ...] | None = None) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(self, costs=costs)
        gymnasium.Wrapper.__init__(self, env)
        if not isinstance(env.unwrapped, TutorEnv):
            raise InputError(f"{env} has no costs", fix="wrap an environment of mccpo")
        known = env.unwrapped.environment.cost_names
        for name in costs or ():
            if name not in known:
                raise InputError(f"unknown cost '{name}'", fix=f"choose from {', '.join(known)}")
        self.costs = known if costs is None else tuple(costs)

    def step(  # type: ignore[override]  # one value more than Gymnasium's is the point
        self, action: Any
    ) -> tuple[FloatArray, float, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        cost = sum((info["costs"][name] for name in self.costs), 0.0)
        return observation, float(reward), cost, terminated, truncated, {**info, "cost": cost}
