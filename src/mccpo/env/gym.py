"""Any of our environments as a Gymnasium environment, registered under `mccpo/…-v0`.

Gymnasium finds the names once this module is imported, or by naming it in the call:

>>> import gymnasium
>>> env = gymnasium.make("mccpo.env.gym:mccpo/Chain-v0", horizon=3)
>>> observation, info = env.reset(seed=0)
>>> info["action_mask"].tolist()
[1, 0, 0, 0, 0, 1]

Needs the extra `gym`; `mccpo.env` itself does not import Gymnasium.
"""

from __future__ import annotations

import operator
from typing import Any, ClassVar

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Int, PRNGKeyArray

from mccpo.env.contract import Environment, Observation, TimeStep
from mccpo.env.registry import ENVIRONMENTS, make
from mccpo.errors import InputError

FloatArray = npt.NDArray[np.float32]


class TutorEnv(gymnasium.Env[FloatArray, np.int64]):
    """Wraps an environment for learners that speak Gymnasium.

    Observations are `Observation.features`, actions the numbers of `Environment.action_names`. The no-op cannot be
    chosen; a concept that is not ready can, and is counted in `info["unready"]`.

    **`info`:**

    - `action_mask`: 1 where a masked policy may act, int8 as `action_space.sample(mask)` takes it; after `reset` too.
    - `costs`: every cost of the step by name; `cost`: their sum.
    - `gain`: the mastery gained; `unready`: whether a concept was taught that was not ready.

    An episode ends by the environment's own rule, so nothing is registered with a limit on its steps. `reset` takes no
    options.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}  # type: ignore[misc]  # Gymnasium's is not a ClassVar

    def __init__(self, environment: Environment[Any]) -> None:
        self.environment = environment
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (environment.num_features,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(environment.num_actions)
        self._key: PRNGKeyArray | None = None
        self._state: Any = None
        self._mask = np.ones(environment.num_actions, bool)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[FloatArray, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None or self._key is None:
            # Through Gymnasium's generator, so that any seed it takes will do and an unseeded first reset is random.
            self._key = jax.random.key(int(self.np_random.integers(2**32)))
        self._key, self._state, obs = _reset(self.environment, self._key)
        features = self._see(obs)
        return features, {"action_mask": self._mask.astype(np.int8)}

    def step(self, action: Any) -> tuple[FloatArray, float, bool, bool, dict[str, Any]]:
        number = np.asarray(self._checked(action), np.int32)
        if self._key is None or self._state is None:
            raise gymnasium.error.ResetNeeded("no episode is under way: call reset() first")
        self._key, state, step = _step(self.environment, self._key, self._state, number)
        terminated, truncated = bool(step.terminated), bool(step.truncated)
        self._state = None if terminated or truncated else state
        features = self._see(step.obs)
        costs = dict(zip(self.environment.cost_names, np.asarray(step.costs).tolist(), strict=True))
        info = {
            "action_mask": self._mask.astype(np.int8),
            "costs": costs,
            "cost": sum(costs.values()),
            "gain": float(step.gain),
            "unready": bool(step.unready),
        }
        return features, float(step.reward), terminated, truncated, info

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Where a masked policy may act now, as sb3-contrib's MaskablePPO asks for it."""
        return self._mask.copy()

    def _see(self, obs: Observation) -> FloatArray:
        self._mask = np.array(obs.action_mask, bool)
        return np.array(obs.features, np.float32)

    def _checked(self, action: Any) -> int:
        names = self.environment.action_names
        fix = f"give a whole number from 0 to {len(names) - 1} ({', '.join(names)})"
        try:
            number = operator.index(action)
        except TypeError:
            raise InputError(f"the action is {action!r}", fix=fix) from None
        if isinstance(action, bool) or not 0 <= number < len(names):
            raise InputError(f"the action is {action!r}", fix=fix)
        return number


class SafetyWrapper(
    gymnasium.Wrapper[FloatArray, np.int64, FloatArray, np.int64], gymnasium.utils.RecordConstructorArgs
):
    """Gives a step as Safety-Gymnasium does: (observation, reward, cost, terminated, truncated, info).

    The cost is the sum of the costs that `costs` names, of all of them where it names none; to bound what carries a
    budget, give the environment's `constrained`. `info["cost"]` is always the same number.
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


def build(name: str, render_mode: str | None = None, **overrides: Any) -> TutorEnv:
    """Builds a named environment for `gymnasium.make`, which passes on its keywords."""
    if render_mode is not None:
        # A TypeError, because that is how learners that ask for frames by default find out that there are none.
        raise TypeError(f"{name} draws nothing: leave out render_mode={render_mode!r}")
    return TutorEnv(make(name, **overrides))


def gym_id(name: str) -> str:
    """The Gymnasium name of an environment.

    >>> gym_id("random-finite")
    'mccpo/RandomFinite-v0'
    """
    return f"mccpo/{''.join(part.capitalize() for part in name.split('-'))}-v0"


def register() -> None:
    """Makes every environment known to Gymnasium; importing this module has done so already."""
    for name in ENVIRONMENTS:
        if gym_id(name) not in gymnasium.registry:
            gymnasium.register(gym_id(name), entry_point=f"{__name__}:build", kwargs={"name": name})


# Compiled over the environment itself, so that many copies of one environment share one compilation.
@eqx.filter_jit
def _reset(environment: Environment[Any], key: PRNGKeyArray) -> tuple[PRNGKeyArray, Any, Observation]:
    key, use = jax.random.split(key)
    state, obs = environment.reset(use)
    return key, state, obs


@eqx.filter_jit
def _step(
    environment: Environment[Any], key: PRNGKeyArray, state: Any, action: Int[np.ndarray, ""]
) -> tuple[PRNGKeyArray, Any, TimeStep[Any]]:
    key, use = jax.random.split(key)
    step = environment.step(use, state, jnp.asarray(action))
    return key, step.state, step


register()
