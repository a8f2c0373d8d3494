"""One environment as Gymnasium has it."""

from __future__ import annotations

import operator
from typing import Any, ClassVar

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Int, PRNGKeyArray

from mccpo.env.contract import Environment, Observation, TimeStep
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

    >>> from mccpo import make
    >>> env = TutorEnv(make("chain"))
    >>> observation, info = env.reset(seed=0)
    >>> info["action_mask"].tolist()
    [1, 0, 0, 0, 0, 1]
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}  # type: ignore[misc]  # Gymnasium's is not a ClassVar

    def __init__(self, environment: Environment[Any]) -> None:
        self.environment = environment
        self.observation_space, self.action_space = spaces_of(environment)
        self._key: PRNGKeyArray | None = None
        self._state: Any = None
        self._mask = np.ones(environment.num_actions, bool)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[FloatArray, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None or self._key is None:
            self._key = key_from(self.np_random)
        self._key, self._state, obs = reset_with_key(self.environment, self._key)
        features = self._see(obs)
        return features, {"action_mask": self._mask.astype(np.int8)}

    def step(self, action: Any) -> tuple[FloatArray, float, bool, bool, dict[str, Any]]:
        number = np.asarray(_checked(self.environment, action), np.int32)
        if self._key is None or self._state is None:
            raise gymnasium.error.ResetNeeded("no episode is under way: call reset() first")
        self._key, state, step = step_with_key(self.environment, self._key, self._state, number)
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


def spaces_of(environment: Environment[Any]) -> tuple[gymnasium.Space[FloatArray], gymnasium.Space[np.int64]]:
    """The spaces of observations and of actions."""
    observations: gymnasium.Space[Any] = gymnasium.spaces.Box(0.0, 1.0, (environment.num_features,), np.float32)
    return observations, gymnasium.spaces.Discrete(environment.num_actions)


def key_from(generator: np.random.Generator) -> PRNGKeyArray:
    """A key from Gymnasium's generator, so that any seed it takes will do and an unseeded first reset is random."""
    return jax.random.key(int(generator.integers(2**32)))


def allowed_actions(environment: Environment[Any]) -> str:
    """What to give as an action."""
    names = environment.action_names
    return f"give a whole number from 0 to {len(names) - 1} ({', '.join(names)})"


def _checked(environment: Environment[Any], action: Any) -> int:
    try:
        number = operator.index(action)
    except TypeError:
        raise InputError(f"the action is {action!r}", fix=allowed_actions(environment)) from None
    if isinstance(action, bool) or not 0 <= number < environment.num_actions:
        raise InputError(f"the action is {action!r}", fix=allowed_actions(environment))
    return number


# Compiled over the environment itself, so that many copies of one environment share one compilation.
@eqx.filter_jit
def reset_with_key(environment: Environment[Any], key: PRNGKeyArray) -> tuple[PRNGKeyArray, Any, Observation]:
    """Starts an episode with one part of a key; the other part is for what follows."""
    key, use = jax.random.split(key)
    state, obs = environment.reset(use)
    return key, state, obs


@eqx.filter_jit
def step_with_key(
    environment: Environment[Any], key: PRNGKeyArray, state: Any, action: Int[np.ndarray, ""] | Int[Array, ""]
) -> tuple[PRNGKeyArray, Any, TimeStep[Any]]:
    """Takes an action with one part of a key; the other part is for what follows."""
    key, use = jax.random.split(key)
    step = environment.step(use, state, jnp.asarray(action))
    return key, step.state, step
