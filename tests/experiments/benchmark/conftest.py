"""Protocols so small that a benchmark takes seconds, and a learner that costs nothing."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import pytest
from jaxtyping import Array, Float, Int

from mccpo.experiments.benchmark.protocol import Protocol
from mccpo.methods import MethodSpec, method_arrays
from mccpo.methods.gradient.gradient_method import GradientMethod
from mccpo.methods.gradient.ppo import Progress
from mccpo.methods.gradient.rollout import Sizes

SMALL = Protocol(
    kappa=(0.5, 0.9), seeds=2, steps=200, episodes=20, validation=8, unseen=(0.45, 0.75), sizes=Sizes(4, 8, 16, 1)
)


class FakeState(NamedTuple):
    parameters: Float[Array, " parameters"]
    iteration: Int[Array, ""]


class Standing(GradientMethod):
    """Multiplies its parameters by a number: by 1 it stands still, by infinity it diverges."""

    factor: float = 1.0

    def playing(self, env: Any) -> Any:
        return method_arrays(MethodSpec("standing", masked=True, constrained=True), env)

    def start(self, env: Any, sizes: Any, key: Any) -> FakeState:
        return FakeState(self.network(env).init(key), jnp.zeros((), jnp.int32))

    def iterate(self, env: Any, sizes: Any, budgets: Any, state: FakeState, share: Any) -> tuple[FakeState, Progress]:
        zero, costs = jnp.zeros(()), jnp.zeros(len(env.cost_names))
        told = {"costs": costs, "multipliers": costs, "violation_steps": jnp.zeros((), jnp.int32)}
        progress = Progress(**dict.fromkeys(Progress._fields, zero) | told)
        return FakeState(state.parameters * self.factor, state.iteration + 1), progress

    def prices(self, state: FakeState) -> Any:
        return jnp.zeros((*state.parameters.shape[:-1], 1))


@pytest.fixture(scope="session")
def small():
    return SMALL


@pytest.fixture(scope="session")
def standing():
    """A class of learners."""
    return Standing
