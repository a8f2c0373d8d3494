"""An environment around another: everything is the inner one's, but for what a wrapper says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import equinox as eqx
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from mccpo.env.concept_graph import ConceptGraph
from mccpo.env.contract import Ensemble, Environment, Filter, ObservationField

StateT = TypeVar("StateT")


class Wrapper(Environment[StateT]):
    """An environment that passes on what its inner one says; `inner` is the inner state of one of its own.

    What a step brings about and what is seen are left to each wrapper: `observe`, `reset` and `step`.
    """

    env: Environment[Any]
    action_names: tuple[str, ...] = eqx.field(static=True)
    horizon: int = eqx.field(static=True)
    gamma: float = eqx.field(static=True)

    def __init__(self, env: Environment[Any]) -> None:
        self.env = env
        self.action_names, self.horizon, self.gamma = env.action_names, env.horizon, env.gamma

    def inner(self, state: StateT) -> Any:
        """The state of the inner environment; by default the wrapper has the same states."""
        return state

    @property
    def name(self) -> str:
        return self.env.name

    @property
    def cost_names(self) -> tuple[str, ...]:
        return self.env.cost_names

    @property
    def constrained(self) -> tuple[str, ...]:
        return self.env.constrained

    @property
    def filter(self) -> Filter:
        return self.env.filter

    @property
    def observation_fields(self) -> Mapping[str, ObservationField]:
        return self.env.observation_fields

    @property
    def hidden_fields(self) -> Mapping[str, ObservationField]:
        return self.env.hidden_fields

    @property
    def concept_graph(self) -> ConceptGraph | None:
        return self.env.concept_graph

    @property
    def unwrapped(self) -> Environment[Any]:
        return self.env.unwrapped

    @property
    def hack(self) -> Bool[np.ndarray, " actions"]:
        return self.env.hack

    @property
    def fixed_budgets(self) -> dict[str, float]:
        return self.env.fixed_budgets

    @property
    def floors(self) -> dict[str, float]:
        return self.env.floors

    @property
    def reward_bound(self) -> float:
        return self.env.reward_bound

    @property
    def gain_bound(self) -> float:
        return self.env.gain_bound

    @property
    def loss_bound(self) -> float:
        return self.env.loss_bound

    @property
    def cost_bounds(self) -> Float[np.ndarray, " costs"]:
        return self.env.cost_bounds

    def hidden(self, state: StateT) -> Float[Array, " hidden"]:
        return self.env.hidden(self.inner(state))

    def last_answer(self, state: StateT) -> Bool[Array, ...] | None:
        return self.env.last_answer(self.inner(state))

    def mastered(self, state: StateT) -> Float[Array, ...] | None:
        return self.env.mastered(self.inner(state))

    def elapsed(self, state: StateT) -> Int[Array, ...] | None:
        return self.env.elapsed(self.inner(state))

    @property
    def unready_allowed(self) -> float | None:
        return self.env.unready_allowed

    @property
    def ensemble(self) -> Ensemble:
        return self.env.ensemble

    def member(self, state: StateT) -> Int[Array, ...]:
        return self.env.member(self.inner(state))

    def truly_ready(self, state: StateT) -> Bool[Array, " actions"]:
        return self.env.truly_ready(self.inner(state))
