"""Finite tutoring environments in which a concept is either mastered or not."""

from __future__ import annotations

import abc
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from mccpo.curriculum import Curriculum, check_theta
from mccpo.env.concept_graph import ConceptGraph
from mccpo.env.contract import FiniteEnvironment, Observation, ObservationField, TimeStep
from mccpo.errors import InputError
from mccpo.policy import check_gamma, check_horizon

# 2^V · T states are enumerated, each with every action: beyond this the linear program no longer fits on a laptop.
MOST_STATES = 200_000
MOST_REWARD = 1e6


class BinaryState(NamedTuple):
    """Which concepts are mastered, and how many steps have been taken."""

    K: Bool[Array, " concepts"]
    t: Int[Array, ""]


class Signals(NamedTuple):
    """What a step is worth: the engagement reward and the costs."""

    reward: Float[Array, ""]
    costs: Float[Array, " costs"]


class BinaryMastery(FiniteEnvironment[BinaryState]):
    """Concepts that are mastered in one go with some chance, on a curriculum; a child says with which and at what cost.

    Actions are the concepts in the curriculum's order, then `hack` where there is one.
    """

    curriculum: eqx.AbstractVar[Curriculum]
    theta: eqx.AbstractVar[float]

    def __check_init__(self) -> None:
        check_theta(self.theta)
        check_gamma(self.gamma)
        check_horizon(self.horizon)
        concepts = len(self.curriculum)
        if concepts > 30 or self.num_states > MOST_STATES:
            raise InputError(
                f"{self.name}: {concepts} concepts over {self.horizon} steps make "
                f"{_states(concepts, self.horizon)} states, and at most {MOST_STATES} are solved exactly",
                fix="take fewer concepts or a shorter horizon",
            )

    @abc.abstractmethod
    def learn_probability(self, state: BinaryState, concept: Int[Array, ""]) -> Float[Array, ""]:
        """The chance that teaching a ready, unmastered concept masters it."""

    @abc.abstractmethod
    def signals(
        self, state: BinaryState, action: Int[Array, ""], ready: Bool[Array, ""], gain: Float[Array, ""]
    ) -> Signals:
        """Reward and costs of an action that is not the no-op; `ready` says whether the gate lets it through."""

    @property
    def num_states(self) -> int:
        return self.horizon * 2 ** len(self.curriculum)

    @property
    def concept_graph(self) -> ConceptGraph:
        return ConceptGraph.of(self.curriculum)

    @property
    def observation_fields(self) -> dict[str, ObservationField]:
        """The mastered concepts, and t/T."""
        return {
            "mastery": ObservationField((len(self.curriculum),), per_concept=True),
            "time": ObservationField(),
        }

    def index(self, state: BinaryState) -> Int[Array, ""]:
        bits = jnp.left_shift(1, jnp.arange(len(self.curriculum)))
        return state.t * 2 ** len(self.curriculum) + jnp.sum(jnp.where(state.K, bits, 0))

    def state(self, index: Int[Array, ""]) -> BinaryState:
        t, code = jnp.divmod(index, 2 ** len(self.curriculum))
        return BinaryState(K=(code >> jnp.arange(len(self.curriculum))) & 1 == 1, t=t)

    def describe(self, state: BinaryState) -> str:
        known = [name for name, mastered in zip(self.curriculum.concepts, state.K, strict=True) if mastered]
        return f"step {int(state.t) + 1}, knows {', '.join(known) or 'nothing'}"

    def mastered(self, state: BinaryState) -> Float[Array, ...]:
        return state.K.sum(axis=0).astype(jnp.float32)

    def elapsed(self, state: BinaryState) -> Int[Array, ...]:
        return state.t

    def observe(self, state: BinaryState) -> Observation:
        mastery = state.K.astype(jnp.float32)
        needs_nothing = jnp.ones(self.num_actions - len(self.curriculum), bool)
        return Observation(
            features=jnp.append(mastery, state.t / self.horizon),
            action_mask=jnp.concatenate([self.curriculum.ready(mastery, self.theta), needs_nothing]),
        )

    def reset(self, key: PRNGKeyArray) -> tuple[BinaryState, Observation]:
        del key  # every learner starts with nothing mastered
        state = BinaryState(K=jnp.zeros(len(self.curriculum), bool), t=jnp.zeros((), jnp.int32))
        return state, self.observe(state)

    def outcomes(
        self, state: BinaryState, action: Int[Array, ""]
    ) -> tuple[Float[Array, " outcomes"], TimeStep[BinaryState]]:
        chance = self._chance(state, action)
        steps = jax.vmap(self._after, in_axes=(None, None, 0))(state, action, jnp.array([0.0, 1.0]))
        return jnp.stack([1 - chance, chance]), steps

    def step(self, key: PRNGKeyArray, state: BinaryState, action: Int[Array, ""]) -> TimeStep[BinaryState]:
        learns = jax.random.uniform(key) >= 1 - self._chance(state, action)
        return self._after(state, action, learns.astype(jnp.float32))

    def _chance(self, state: BinaryState, action: Int[Array, ""]) -> Float[Array, ""]:
        """The chance that an action masters a concept."""
        concept = jnp.minimum(action, len(self.curriculum) - 1)
        teaches = (action < len(self.curriculum)) & self._passes(state, action) & ~state.K[concept]
        return jnp.where(teaches, self.learn_probability(state, concept), 0.0)

    def _passes(self, state: BinaryState, action: Int[Array, ""]) -> Bool[Array, ""]:
        """Whether the gate lets an action through; the no-op always passes."""
        return jnp.append(self.observe(state).action_mask, True)[action]

    def _after(self, state: BinaryState, action: Int[Array, ""], gain: Float[Array, ""]) -> TimeStep[BinaryState]:
        """What an action brings about, given whether it masters its concept."""
        learnt = (jnp.arange(len(self.curriculum)) == action) & (gain > 0)
        successor = BinaryState(K=state.K | learnt, t=state.t + 1)
        ready = self._passes(state, action)
        reward, costs = self.signals(state, action, ready, gain)
        idle = action == self.noop
        return TimeStep(
            state=successor,
            obs=self.observe(successor),
            reward=jnp.where(idle, 0.0, reward),
            costs=jnp.where(idle, 0.0, costs),
            gain=gain,
            unready=~ready,
            terminated=successor.t >= self.horizon,
            truncated=jnp.zeros((), bool),
        )


def _states(concepts: int, horizon: int) -> str:
    return f"{horizon}·2^{concepts}" if concepts > 30 else str(horizon * 2**concepts)


def check_reward(name: str, value: float) -> None:
    """Refuses a reward that is not a positive number of a sensible size."""
    if not 0 < value <= MOST_REWARD:
        raise InputError(f"{name} is {value}", fix=f"give a reward above 0 and up to {MOST_REWARD:g}")
