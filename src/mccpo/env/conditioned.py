"""An environment in which every learner comes with its own share κ of the budgets, which the policy sees."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from mccpo.env.concept_graph import ConceptGraph
from mccpo.env.contract import Environment, FiniteEnvironment, Observation, ObservationField, TimeStep
from mccpo.env.wrapper import Wrapper
from mccpo.errors import InputError

_DRAWING = 2**31 - 1  # folded into the key of a reset to draw κ, which the inner environment has no part in


class ConditionedState(NamedTuple):
    """A state of the inner environment, and the κ under which its learner is taught."""

    learner: Any
    kappa: Float[Array, ""]


class Conditioned(Wrapper[ConditionedState]):
    """An environment whose learners each have a share κ of the budgets, which is one more field of the observation.

    The field is called `kappa` and comes last. At reset κ is one of `levels`, each as likely as another. With
    `relative`, costs come divided by κ: those of every learner are then held to the same budgets, whichever κ it has,
    and what meets the budgets d in these costs meets κ·d in the costs as they are.
    """

    levels: Float[Array, " levels"]
    relative: bool = eqx.field(static=True)
    most: float = eqx.field(static=True)

    def __init__(self, env: Environment[Any], levels: tuple[float, ...], *, relative: bool) -> None:
        if not levels or not all(0 < level <= 1 for level in levels):
            raise InputError(f"kappa is one of {levels}", fix="give numbers above 0 and up to 1")
        super().__init__(env)
        self.relative, self.most = relative, 1.0 / min(levels) if relative else 1.0
        self.levels = jnp.asarray(levels, jnp.float32)

    def inner(self, state: ConditionedState) -> Any:
        return state.learner

    @property
    def observation_fields(self) -> dict[str, ObservationField]:
        return {**self.env.observation_fields, "kappa": ObservationField()}

    @property
    def concept_graph(self) -> ConceptGraph | None:
        return None  # the published fronts are a plain network's, which reads κ beside every other feature

    @property
    def cost_bounds(self) -> Float[np.ndarray, " costs"]:
        return self.env.cost_bounds * self.most

    def observe(self, state: ConditionedState) -> Observation:
        return self._with_kappa(self.env.observe(state.learner), state.kappa)

    def reset(self, key: PRNGKeyArray) -> tuple[ConditionedState, Observation]:
        # The learner is the one that this key has without a κ, so that methods are compared on the same ones.
        learner, obs = self.env.reset(key)
        kappa = jax.random.choice(jax.random.fold_in(key, _DRAWING), self.levels)
        return ConditionedState(learner, kappa), self._with_kappa(obs, kappa)

    def step(self, key: PRNGKeyArray, state: ConditionedState, action: Int[Array, ""]) -> TimeStep[ConditionedState]:
        return self._conditioned(self.env.step(key, state.learner, action), state.kappa)

    def _conditioned(self, step: TimeStep[Any], kappa: Float[Array, ""]) -> TimeStep[ConditionedState]:
        return TimeStep(
            **step._asdict()
            | {
                "state": ConditionedState(step.state, kappa),
                "obs": self._with_kappa(step.obs, kappa),
                "costs": step.costs / kappa if self.relative else step.costs,
            }
        )

    def _with_kappa(self, obs: Observation, kappa: Float[Array, ""]) -> Observation:
        return obs._replace(features=jnp.append(obs.features, kappa))


class ConditionedFinite(Conditioned, FiniteEnvironment[ConditionedState]):
    """A finite environment at one κ: it has the states of the inner one, by the same numbers."""

    def __init__(self, env: FiniteEnvironment[Any], kappa: float) -> None:
        super().__init__(env, (kappa,), relative=False)

    @property
    def finite(self) -> FiniteEnvironment[Any]:
        assert isinstance(self.env, FiniteEnvironment)
        return self.env

    @property
    def num_states(self) -> int:
        return self.finite.num_states

    def index(self, state: ConditionedState) -> Int[Array, ""]:
        return self.finite.index(state.learner)

    def state(self, index: Int[Array, ""]) -> ConditionedState:
        return ConditionedState(self.finite.state(index), self.levels[0])

    def describe(self, state: ConditionedState) -> str:
        return self.finite.describe(state.learner)

    def outcomes(
        self, state: ConditionedState, action: Int[Array, ""]
    ) -> tuple[Float[Array, " outcomes"], TimeStep[ConditionedState]]:
        chances, steps = self.finite.outcomes(state.learner, action)
        return chances, jax.vmap(self._conditioned, in_axes=(0, None))(steps, state.kappa)


def at_kappa(env: Environment[Any], kappa: float) -> Conditioned:
    """An environment as it is, seen at one κ; finite where it is finite."""
    if isinstance(env, FiniteEnvironment):
        return ConditionedFinite(env, kappa)
    return Conditioned(env, (kappa,), relative=False)
