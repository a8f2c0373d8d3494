"""Many copies of an environment as a vector environment of Gymnasium, all stepped by one compiled call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from mccpo.env.contract import Environment, Observation, TimeStep
from mccpo.env.gym.single import FloatArray, allowed_actions, key_from, reset_with_key, spaces_of, step_with_key
from mccpo.errors import InputError

BoolArray = npt.NDArray[np.bool_]


class TutorVectorEnv(VectorEnv[FloatArray, npt.NDArray[np.int64], npt.NDArray[Any]]):
    """Copies of an environment, each with a learner and random numbers of its own.

    It gives what `gymnasium.vector.SyncVectorEnv` gives for as many `TutorEnv`s under the same seeds. A copy whose
    episode has ended starts a new one in the next step, whatever its action then (`AutoresetMode.NEXT_STEP`). `infos`
    has an array for each entry of a `TutorEnv`'s `info`, and under the same name with a leading underscore which copies
    have it.

    `reset` takes a seed, from which copy i has seed + i, or a list of one for each copy, and no options.

    >>> from mccpo import make
    >>> envs = TutorVectorEnv(make("chain"), num_envs=4)
    >>> observations, infos = envs.reset(seed=0)
    >>> infos["action_mask"].shape
    (4, 6)
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]  # Gymnasium's is not a ClassVar
        "render_modes": [],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(self, environment: Environment[Any], num_envs: int) -> None:
        if num_envs < 1:
            raise InputError(f"num_envs is {num_envs}", fix="give at least 1")
        self.environment, self.num_envs = environment, num_envs
        self.single_observation_space, self.single_action_space = spaces_of(environment)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._keys: PRNGKeyArray | None = None
        self._state: Any = None
        self._ended = np.zeros(num_envs, bool)
        self._masks = np.ones((num_envs, environment.num_actions), bool)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[FloatArray, dict[str, Any]]:
        if options and "reset_mask" in options:
            raise InputError("some copies only cannot be reset", fix="leave out reset_mask: each resets itself")
        self._keys = self._seeded(seed)
        self._keys, self._state, obs = _reset(self.environment, self._keys)
        self._ended = np.zeros(self.num_envs, bool)
        return self._see(obs), self._masked_info()

    def step(
        self, actions: npt.ArrayLike
    ) -> tuple[FloatArray, npt.NDArray[np.float64], BoolArray, BoolArray, dict[str, Any]]:
        numbers = self._checked(actions)
        if self._keys is None:
            raise gymnasium.error.ResetNeeded("no episode is under way: call reset() first")
        began = self._ended
        self._keys, self._state, step = _step(self.environment, self._keys, self._state, numbers, began)
        terminated, truncated = np.array(step.terminated), np.array(step.truncated)
        self._ended = terminated | truncated
        observations = self._see(step.obs)
        infos = self._masked_info() | self._step_infos(step, ~began)
        return observations, np.array(step.reward, np.float64), terminated, truncated, infos

    def action_masks(self) -> BoolArray:
        """Where a masked policy may act now, a row for each copy."""
        return self._masks.copy()

    def _seeded(self, seed: int | Sequence[int | None] | None) -> PRNGKeyArray:
        """The keys that seeds give; a copy without one goes on with the key that it has."""
        seeds = [seed + copy for copy in range(self.num_envs)] if isinstance(seed, int | np.integer) else seed
        if seeds is None:
            seeds = [None] * self.num_envs
        if len(seeds) != self.num_envs:
            raise InputError(f"{len(seeds)} seeds are given for {self.num_envs} copies", fix="give one for each copy")
        return jnp.stack([self._key(copy, own) for copy, own in enumerate(seeds)])

    def _key(self, copy: int, seed: int | None) -> PRNGKeyArray:
        if seed is not None:
            return key_from(gymnasium.utils.seeding.np_random(int(seed))[0])
        return key_from(self.np_random) if self._keys is None else self._keys[copy]

    def _see(self, obs: Observation) -> FloatArray:
        self._masks = np.array(obs.action_mask, bool)
        return np.array(obs.features, np.float32)

    def _masked_info(self) -> dict[str, Any]:
        return {"action_mask": self._masks.astype(np.int8), "_action_mask": np.ones(self.num_envs, bool)}

    def _step_infos(self, step: TimeStep[Any], acted: BoolArray) -> dict[str, Any]:
        """What a step says of the copies that acted; those that began an episode have none of it."""
        if not acted.any():
            return {}
        costs = dict(zip(self.environment.cost_names, np.array(step.costs, np.float64).T, strict=True))
        infos = {
            "costs": _with_masks(costs, acted),
            "cost": sum(costs.values(), np.zeros(self.num_envs)),
            "gain": np.array(step.gain, np.float64),
            "unready": np.array(step.unready),
        }
        return _with_masks(infos, acted)

    def _checked(self, actions: npt.ArrayLike) -> Int[np.ndarray, " copies"]:
        numbers = np.asarray(actions)
        if numbers.shape != (self.num_envs,) or not np.issubdtype(numbers.dtype, np.integer):
            raise InputError(
                f"the actions are {actions!r}", fix=f"give {self.num_envs} whole numbers, one for each copy"
            )
        wrong = numbers[(numbers < 0) | (numbers >= self.environment.num_actions)]
        if len(wrong):
            raise InputError(f"an action is {wrong[0]}", fix=allowed_actions(self.environment))
        return numbers.astype(np.int32)


def _with_masks(entries: dict[str, Any], which: BoolArray) -> dict[str, Any]:
    """Entries, each followed by which copies have it, as Gymnasium's vector environments tell it."""
    return {name: entry for key, value in entries.items() for name, entry in ((key, value), (f"_{key}", which.copy()))}


@eqx.filter_jit
def _reset(environment: Environment[Any], keys: PRNGKeyArray) -> tuple[PRNGKeyArray, Any, Observation]:
    return jax.vmap(lambda key: reset_with_key(environment, key))(keys)


@eqx.filter_jit
def _step(
    environment: Environment[Any],
    keys: PRNGKeyArray,
    states: Any,
    actions: Int[np.ndarray, " copies"],
    ended: Bool[np.ndarray, " copies"],
) -> tuple[PRNGKeyArray, Any, TimeStep[Any]]:
    """A step of every copy, or the start of a new episode where the last one has ended."""

    def step(key: PRNGKeyArray, state: Any, action: Int[Array, ""], ended: Bool[Array, ""]) -> Any:
        rest, _, taken = step_with_key(environment, key, state, action)
        _, fresh, obs = reset_with_key(environment, key)
        begun = jax.tree.map(jnp.zeros_like, taken)._replace(state=fresh, obs=obs)
        chosen = jax.tree.map(lambda new, old: jnp.where(ended, new, old), begun, taken)
        return rest, chosen.state, chosen

    return jax.vmap(step)(keys, states, jnp.asarray(actions), jnp.asarray(ended))
