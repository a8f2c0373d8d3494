"""The gate: one decision between engagement that teaches nothing and progress that pays less."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from mccpo.curriculum import Curriculum
from mccpo.env.contract import Filter
from mccpo.env.finite.binary import BinaryMastery, BinaryState, Signals
from mccpo.env.registry import register
from mccpo.errors import InputError


@register("gate")
class Gate(BinaryMastery):
    """Two concepts in a chain and one decision: `hack` pays 1 at cost 1, `prog` pays R and masters the first concept.

    The second concept, `next`, is not ready in the only decision there is; an unmasked policy can still choose it,
    which pays nothing. The budget is d = 0, so the best safe return is R.
    """

    name: ClassVar[str] = "gate"
    cost_names: ClassVar[tuple[str, ...]] = ("c",)
    constrained: ClassVar[tuple[str, ...]] = ("c",)
    filter: ClassVar[Filter] = "block"
    training_episodes: ClassVar[int] = 20_000
    episodes_per_update: ClassVar[int] = 8

    R: float
    gamma: float = eqx.field(static=True)
    theta: float = eqx.field(static=True)
    curriculum: Curriculum = eqx.field(static=True)
    horizon: int = eqx.field(static=True)
    action_names: tuple[str, ...] = eqx.field(static=True)

    def __init__(self, R: float = 0.6, gamma: float = 0.99, theta: float = 0.5) -> None:
        if not 0 < R < 1:
            raise InputError(f"R is {R}", fix="give a reward between 0 and 1, which is what hack pays")
        self.R = R
        self.gamma = gamma
        self.theta = theta
        self.horizon = 1
        self.curriculum = Curriculum.from_edges([("prog", "next")])
        self.action_names = (*self.curriculum.concepts, "hack")

    @property
    def cost_bounds(self) -> Float[np.ndarray, " costs"]:
        return np.array([1.0])

    @property
    def fixed_budgets(self) -> dict[str, float]:
        return {"c": 0.0}

    def learn_probability(self, state: BinaryState, concept: Int[Array, ""]) -> Float[Array, ""]:
        return jnp.ones(())

    def signals(
        self, state: BinaryState, action: Int[Array, ""], ready: Bool[Array, ""], gain: Float[Array, ""]
    ) -> Signals:
        hacks = action == self.action_names.index("hack")
        reward = jnp.where(hacks, 1.0, jnp.where(action == self.action_names.index("prog"), self.R, 0.0))
        return Signals(reward, hacks.astype(jnp.float32)[None])
