"""Floors: what learning or engagement must reach at least, as costs that every constrained method can hold down.

J of a floor's cost is the negative of what the floor is about, so that "at least f" is "at most −f". Nothing else in a
method need know that it is a floor.

    learning         E Σ γ^t ΔK_t     the mastery gained, discounted as the return is
    learning-total   E Σ ΔK_t         the same without discount
    mastered         E of the number of concepts that are mastered when the episode ends
    engagement       E Σ γ^t r_t      the return
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from mccpo.env.contract import Environment, FiniteEnvironment, Observation, TimeStep
from mccpo.env.wrapper import Wrapper
from mccpo.errors import InputError

FLOORS = ("learning", "learning-total", "mastered", "engagement")
"""What a floor can be about."""
UNDISCOUNTED = ("learning-total", "mastered")

Objective = Literal["engagement", "learning"]
"""What is made as large as it can be, within budgets and floors: the return, or the discounted mastery gained."""


class Floored(Wrapper[Any]):
    """An environment in which floors are costs beside its own, and learning can take the place of the reward.

    States, observations and actions are those of the inner environment, so that a policy trained here acts there.

    **Parameters:**

    - `reach`: by the name of each floor, the most that any policy is known to reach, by which errors are measured.
    - `objective`: what the reward is.
    """

    names: tuple[str, ...] = eqx.field(static=True)
    most: tuple[float, ...] = eqx.field(static=True)
    objective: Objective = eqx.field(static=True)

    def __init__(
        self, env: Environment[Any], reach: Mapping[str, float], *, objective: Objective = "engagement"
    ) -> None:
        check_floors(env, reach)
        super().__init__(env)
        self.objective, self.names, self.most = objective, tuple(reach), tuple(map(float, reach.values()))

    @property
    def floors(self) -> dict[str, float]:
        return dict(zip(self.names, self.most, strict=True))

    @property
    def cost_names(self) -> tuple[str, ...]:
        return (*self.env.cost_names, *self.names)

    @property
    def constrained(self) -> tuple[str, ...]:
        return (*self.env.constrained, *self.names)

    @property
    def reward_bound(self) -> float:
        return self.env.reward_bound if self.objective == "engagement" else self.env.gain_bound

    @property
    def cost_bounds(self) -> Float[np.ndarray, " costs"]:
        latest = self.gamma ** -(self.horizon - 1.0)
        bounds = {
            "learning": self.gain_bound,
            "learning-total": self.gain_bound * latest,
            "mastered": max(latest, self._concepts),  # all may be known at the start, which the first step counts
            "engagement": self.env.reward_bound,
        }
        return np.append(self.env.cost_bounds, [bounds[name] for name in self.names])

    @property
    def _concepts(self) -> float:
        return 1.0 if self.concept_graph is None else float(len(self.concept_graph.demand))

    def observe(self, state: Any) -> Observation:
        return self.env.observe(state)

    def reset(self, key: PRNGKeyArray) -> tuple[Any, Observation]:
        return self.env.reset(key)

    def step(self, key: PRNGKeyArray, state: Any, action: Int[Array, ""]) -> TimeStep[Any]:
        return self._floored(state, self.env.step(key, state, action))

    def _floored(self, state: Any, step: TimeStep[Any]) -> TimeStep[Any]:
        """A step with a cost for each floor."""
        missing = jnp.stack([-self._counts(name, state, step) for name in self.names]) if self.names else jnp.zeros(0)
        reward = step.reward if self.objective == "engagement" else step.gain
        return step._replace(reward=reward, costs=jnp.concatenate([step.costs, missing.astype(step.costs.dtype)]))

    def _counts(self, name: str, state: Any, step: TimeStep[Any]) -> Float[Array, ""]:
        """What a step adds to what a floor is about, by the weight that undoes the discount where it has none."""
        if name == "learning":
            return step.gain
        if name == "engagement":
            return step.reward
        elapsed, known = self.env.elapsed(state), self.env.mastered(step.state)
        assert elapsed is not None  # as `check_floors` has seen
        weight = self.gamma ** -elapsed.astype(jnp.float32)
        if name == "learning-total":
            return weight * step.gain
        before = self.env.mastered(state)
        assert known is not None
        assert before is not None
        return weight * (known - jnp.where(elapsed > 0, before, 0.0))  # what was known at the start counts, too


class FlooredFinite(Floored, FiniteEnvironment[Any]):
    """A finite environment with floors: it has the states of the inner one, by the same numbers."""

    def __init__(
        self, env: FiniteEnvironment[Any], reach: Mapping[str, float], *, objective: Objective = "engagement"
    ) -> None:
        super().__init__(env, reach, objective=objective)

    @property
    def finite(self) -> FiniteEnvironment[Any]:
        assert isinstance(self.env, FiniteEnvironment)
        return self.env

    @property
    def num_states(self) -> int:
        return self.finite.num_states

    def index(self, state: Any) -> Int[Array, ""]:
        return self.finite.index(state)

    def state(self, index: Int[Array, ""]) -> Any:
        return self.finite.state(index)

    def describe(self, state: Any) -> str:
        return self.finite.describe(state)

    def outcomes(self, state: Any, action: Int[Array, ""]) -> tuple[Float[Array, " outcomes"], TimeStep[Any]]:
        chances, steps = self.finite.outcomes(state, action)
        return chances, jax.vmap(self._floored, in_axes=(None, 0))(state, steps)


def with_floors(
    env: Environment[Any], reach: Mapping[str, float], objective: Objective = "engagement"
) -> Environment[Any]:
    """An environment with floors as costs, finite where it is finite; itself where there is nothing to add."""
    if not reach and objective == "engagement":
        return env
    if isinstance(env, FiniteEnvironment):
        return FlooredFinite(env, reach, objective=objective)
    return Floored(env, reach, objective=objective)


def check_floors(env: Environment[Any], floors: Mapping[str, float]) -> None:
    """Refuses floors that nobody knows, that an environment cannot count, or that are no numbers above 0."""
    for name, amount in floors.items():
        if name not in FLOORS:
            raise InputError(f"unknown floor '{name}'", fix=f"choose from {', '.join(FLOORS)}")
        if not (isfinite(amount) and amount > 0):
            raise InputError(f"the floor of {name} is {amount}", fix="give a finite number above 0")
        if name == "mastered" and _silent(env, "mastered"):
            raise InputError(f"{env.name} does not count mastered concepts", fix="give a floor on learning")
        if name in UNDISCOUNTED and _silent(env, "elapsed"):
            raise InputError(f"{env.name} does not tell the steps of an episode", fix="give a floor on learning")


def _silent(env: Environment[Any], method: str) -> bool:
    """Whether an environment leaves a method as the contract has it, which says nothing."""
    return getattr(type(env.unwrapped), method) is getattr(Environment, method)
