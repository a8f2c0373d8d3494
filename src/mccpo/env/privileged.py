"""An environment in which what no policy sees is shown as well, to critics that only training needs."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

from mccpo.env.contract import Environment, Observation, ObservationField, TimeStep
from mccpo.env.wrapper import Wrapper


class Privileged(Wrapper[Any]):
    """An environment whose observation ends with what is hidden in the inner one (`Environment.hidden`).

    States and actions are those of the inner environment. A policy that is trained here has to act without the last
    features, as it will act there.
    """

    def __init__(self, env: Environment[Any]) -> None:
        super().__init__(env)

    @property
    def observation_fields(self) -> dict[str, ObservationField]:
        return {**self.env.observation_fields, **self.env.hidden_fields}

    def observe(self, state: Any) -> Observation:
        return self._shown(state, self.env.observe(state))

    def reset(self, key: PRNGKeyArray) -> tuple[Any, Observation]:
        state, obs = self.env.reset(key)
        return state, self._shown(state, obs)

    def step(self, key: PRNGKeyArray, state: Any, action: Int[Array, ""]) -> TimeStep[Any]:
        step = self.env.step(key, state, action)
        return step._replace(obs=self._shown(step.state, step.obs))

    def _shown(self, state: Any, obs: Observation) -> Observation:
        return obs._replace(features=jnp.concatenate([obs.features, self.env.hidden(state)]))
