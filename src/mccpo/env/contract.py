"""The environment contract: what every environment takes and gives back, as pure functions of arrays."""

from __future__ import annotations

import abc
from typing import Generic, Literal, NamedTuple, TypeVar

import equinox as eqx
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

StateT = TypeVar("StateT")
Filter = Literal["block", "renormalise"]


class Observation(NamedTuple):
    """What a policy sees.

    **Fields:**

    - `features`: the learner's state as numbers from 0 to 1, the same length in every state.
    - `action_mask`: true where a masked policy may act: the ready concepts, and actions that need no mastery.
    """

    features: Float[Array, " features"]
    action_mask: Bool[Array, " actions"]


class TimeStep(NamedTuple, Generic[StateT]):
    """What one action brings about.

    **Fields:**

    - `state`, `obs`: after the action.
    - `reward`: the engagement r_E.
    - `costs`: in the order of `Environment.cost_names`.
    - `gain`: the mastery gained, ΔK_t, summed over concepts.
    - `unready`: whether a concept was taught whose prerequisites were not mastered. The environment counts this,
      whatever the policy believes of itself.
    - `terminated`, `truncated`: the episode ended by its own rule, or was cut.
    """

    state: StateT
    obs: Observation
    reward: Float[Array, ""]
    costs: Float[Array, " costs"]
    gain: Float[Array, ""]
    unready: Bool[Array, ""]
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]


class Environment(eqx.Module, Generic[StateT]):
    """A constrained MDP whose actions are gated by what the learner has mastered.

    `reset` and `step` are pure and run under `jit`, `vmap` and `scan`. Action `num_actions` is the no-op: time passes
    and nothing else happens. A filter that blocks an action executes it; no policy chooses it.
    """

    name: eqx.AbstractClassVar[str]
    action_names: eqx.AbstractVar[tuple[str, ...]]
    cost_names: eqx.AbstractClassVar[tuple[str, ...]]
    constrained: eqx.AbstractClassVar[tuple[str, ...]]
    horizon: eqx.AbstractVar[int]
    gamma: eqx.AbstractVar[float]
    filter: eqx.AbstractClassVar[Filter]

    @property
    @abc.abstractmethod
    def num_features(self) -> int:
        """The length of `Observation.features`."""

    @property
    def num_actions(self) -> int:
        return len(self.action_names)

    @property
    def noop(self) -> int:
        return self.num_actions

    @property
    def hack(self) -> Bool[np.ndarray, " actions"]:
        """Actions that engage without teaching, which a safety filter removes."""
        return np.array([name == "hack" for name in self.action_names])

    @property
    def discounted_horizon(self) -> float:
        """D(T): the discounted length of an episode that runs to its horizon."""
        return self.horizon if self.gamma == 1 else (1 - self.gamma**self.horizon) / (1 - self.gamma)

    @property
    def fixed_budgets(self) -> dict[str, float]:
        """Budgets that the environment's definition gives; the others are a share κ of the unconstrained costs."""
        return {}

    @property
    def reward_bound(self) -> float:
        """The largest reward of one step."""
        return 1.0

    @property
    @abc.abstractmethod
    def cost_bounds(self) -> Float[np.ndarray, " costs"]:
        """The largest value c_max that each cost can take in one step."""

    @abc.abstractmethod
    def observe(self, state: StateT) -> Observation:
        """What a policy sees in a state."""

    @property
    def estimates_readiness(self) -> bool:
        """Whether the gate goes by an estimate, so that what is ready may not be so in truth."""
        return type(self).truly_ready is not Environment.truly_ready

    def truly_ready(self, state: StateT) -> Bool[Array, " actions"]:
        """The actions that the learner is ready for in truth: what the policy sees, unless it sees an estimate."""
        return self.observe(state).action_mask

    @abc.abstractmethod
    def reset(self, key: PRNGKeyArray) -> tuple[StateT, Observation]:
        """Starts an episode."""

    @abc.abstractmethod
    def step(self, key: PRNGKeyArray, state: StateT, action: Int[Array, ""]) -> TimeStep[StateT]:
        """Takes one action."""


class FiniteEnvironment(Environment[StateT]):
    """An environment with so few states that each has a number, so that it can be solved exactly."""

    @property
    @abc.abstractmethod
    def num_states(self) -> int:
        """How many state numbers there are; not all need be reachable."""

    @abc.abstractmethod
    def index(self, state: StateT) -> Int[Array, ""]:
        """The number of a state."""

    @abc.abstractmethod
    def state(self, index: Int[Array, ""]) -> StateT:
        """The state of a number: the inverse of `index`."""

    @abc.abstractmethod
    def describe(self, state: StateT) -> str:
        """A state in words."""

    @abc.abstractmethod
    def outcomes(self, state: StateT, action: Int[Array, ""]) -> tuple[Float[Array, " outcomes"], TimeStep[StateT]]:
        """Every outcome of an action with its probability; the time steps carry a leading axis of outcomes."""
