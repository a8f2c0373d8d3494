"""The environment contract: what every environment takes and gives back, as pure functions of arrays."""

from __future__ import annotations

import abc
import inspect
from collections.abc import Mapping
from math import prod
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from mccpo.env.concept_graph import ConceptGraph
from mccpo.errors import InputError

StateT = TypeVar("StateT")
Filter = Literal["block", "renormalise"]


class Observation(NamedTuple):
    """What a policy sees.

    **Fields:**

    - `features`, float32 of shape (`num_features`,): the learner's state as numbers from 0 to 1. Its parts, their order
      and their sizes are the same in every state: `Environment.observation_fields` names them.
    - `action_mask`, bool of shape (`num_actions`,): true where a masked policy may act: the ready concepts, and actions
      that need no mastery. It is never all false.

    A batch of observations has one more axis: rollouts have it last, `vmap` puts it first by default.

    >>> import jax, mccpo
    >>> state, observation = mccpo.make("chain").reset(jax.random.key(0))
    >>> observation.action_mask.tolist()  # of five concepts and hack, the first and hack
    [True, False, False, False, False, True]
    """

    features: Float[Array, " features"]
    action_mask: Bool[Array, " actions"]


class ObservationField(NamedTuple):
    """A named part of `Observation.features`.

    **Fields:**

    - `shape`: () of one number, (n,) of n numbers.
    - `per_concept`: whether each concept has the same share of these numbers, concept after concept in the
      curriculum's order. Else they are about the learner as a whole.
    """

    shape: tuple[int, ...] = ()
    per_concept: bool = False

    @property
    def size(self) -> int:
        """How many numbers the part has."""
        return prod(self.shape)


class Ensemble(NamedTuple):
    """The models that learners are drawn from, one entry each: the number of its kind, and its share of learners."""

    kinds: tuple[int, ...]
    shares: tuple[float, ...]


ONE_MODEL = Ensemble((0,), (1.0,))


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

    >>> import jax, mccpo
    >>> env = mccpo.make("chain")
    >>> state, _ = env.reset(jax.random.key(0))
    >>> step = env.step(jax.random.key(1), state, 5)  # hack: it engages and teaches nothing
    >>> float(step.reward), float(step.gain), bool(step.unready)
    (1.0, 0.0, False)
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

    >>> import mccpo
    >>> env = mccpo.make("tutor-15")
    >>> isinstance(env, Environment), env.num_actions, env.cost_names, env.horizon
    (True, 15, ('c2', 'c3', 'c4'), 100)
    """

    action_names: eqx.AbstractVar[tuple[str, ...]]
    horizon: eqx.AbstractVar[int]
    gamma: eqx.AbstractVar[float]

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The name that it is registered under. A class variable where it is the same for all of a class."""

    @property
    @abc.abstractmethod
    def cost_names(self) -> tuple[str, ...]:
        """The costs, in the order of `TimeStep.costs`."""

    @property
    @abc.abstractmethod
    def constrained(self) -> tuple[str, ...]:
        """The costs that carry budgets."""

    @property
    @abc.abstractmethod
    def filter(self) -> Filter:
        """What a safety filter does with an action that it stops: execute the no-op, or draw among the others."""

    @property
    @abc.abstractmethod
    def observation_fields(self) -> Mapping[str, ObservationField]:
        """The parts of `Observation.features` by name, in the order in which they lie there."""

    @property
    def num_features(self) -> int:
        """The length of `Observation.features`."""
        return sum(field.size for field in self.observation_fields.values())

    def view(self, features: Float[Array, ...], name: str, axis: int = 0) -> Float[Array, ...]:
        """The part of `Observation.features` that `observation_fields` names.

        `axis` is the one that the features lie on, counted from the front: the first in what rollouts have, where the
        batch comes last. In its place the result has the shape of the field, so that one number has no axis there.
        """
        first = 0
        for field_name, field in self.observation_fields.items():
            if field_name == name:
                part = slice(first, first + field.size) if field.shape else first
                return features[(slice(None),) * axis + (part,)]
            first += field.size
        raise InputError(f"{self.name} shows no '{name}'", fix=f"choose from {', '.join(self.observation_fields)}")

    @property
    def concept_graph(self) -> ConceptGraph | None:
        """What is known of the concepts that are taught; None where no concepts are."""
        return None

    @property
    def parameters(self) -> dict[str, Any]:
        """What its class takes to build it again, by name: what it keeps of each parameter under that name."""
        try:
            return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}
        except AttributeError as error:
            raise InputError(
                f"{self.name} does not say what its parameter '{error.name}' was", fix="keep it in a field of that name"
            ) from error

    @property
    def unwrapped(self) -> Environment[Any]:
        """The environment inside all wrappers: itself, unless it is a wrapper."""
        return self

    @property
    def hidden_fields(self) -> Mapping[str, ObservationField]:
        """The parts of `hidden` by name, in their order; none where a policy sees all that there is."""
        return {}

    def hidden(self, state: StateT) -> Float[Array, " hidden"]:
        """What no policy sees and critics may see in training, as numbers: see `Privileged`."""
        del state
        return jnp.zeros(0, jnp.float32)

    def last_answer(self, state: StateT) -> Bool[Array, ...] | None:
        """Whether the learner's last answer was right, as its record says; None where learners give no answers."""
        del state
        return None

    def mastered(self, state: StateT) -> Float[Array, ...] | None:
        """How many concepts the learner has mastered in truth; None where nobody counts them."""
        del state
        return None

    def elapsed(self, state: StateT) -> Int[Array, ...] | None:
        """How many steps the episode has taken; None where the state does not say."""
        del state
        return None

    @property
    def ensemble(self) -> Ensemble:
        """The models that learners are drawn from: budgets and floors are to hold for each of them."""
        return ONE_MODEL

    @property
    def members(self) -> int:
        """How many models its learners are drawn from."""
        return len(self.ensemble.kinds)

    def member(self, state: StateT) -> Int[Array, ...]:
        """Which of the `members` the learner is drawn from. No policy sees it."""
        del state
        return jnp.zeros((), jnp.int32)

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
    def gain_bound(self) -> float:
        """The largest gain of one step."""
        return 1.0

    @property
    def loss_bound(self) -> float:
        """The most that one step can take off what is gained, where learners forget."""
        return 0.0

    @property
    def floors(self) -> dict[str, float]:
        """Costs that stand for a floor: by name, the most that any policy is known to reach. See `Floored`."""
        return {}

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

    @property
    def unready_allowed(self) -> float | None:
        """The share of lessons that may be unready in truth by what the gate promises; None where it promises none."""
        return None

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
    """An environment with so few states that each has a number, so that it can be solved exactly.

    `training_episodes` is how many episodes methods are trained for unless a user says otherwise, and
    `episodes_per_update` how many of them go into one update.

    >>> import mccpo
    >>> env = mccpo.make("chain")
    >>> isinstance(env, FiniteEnvironment), env.num_states
    (True, 160)
    """

    training_episodes: ClassVar[int] = 200_000
    episodes_per_update: ClassVar[int] = 40

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
