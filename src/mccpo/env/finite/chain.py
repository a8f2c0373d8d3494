"""The chain: five concepts, each the prerequisite of the next, and an action that engages without teaching."""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from mccpo.curriculum import Curriculum
from mccpo.env.contract import Filter
from mccpo.env.finite.binary import BinaryMastery, BinaryState, Signals, check_reward
from mccpo.env.registry import register
from mccpo.policy import check_probability


@register("chain")
class Chain(BinaryMastery):
    """The paper's multi-step environment: a ready concept pays 0.6 and is mastered with chance 0.8, `hack` pays 1.

    Costs: c2, a ready concept taught without gain; c3, a concept taught that was not ready; c4, engagement without
    gain. c4 carries the budget. A concept that is not ready pays nothing and teaches nothing.
    """

    name: ClassVar[str] = "chain"
    cost_names: ClassVar[tuple[str, ...]] = ("c2", "c3", "c4")
    constrained: ClassVar[tuple[str, ...]] = ("c4",)
    filter: ClassVar[Filter] = "renormalise"

    p_learn: float
    r_concept: float
    r_hack: float
    gamma: float = eqx.field(static=True)
    theta: float = eqx.field(static=True)
    horizon: int = eqx.field(static=True)
    curriculum: Curriculum = eqx.field(static=True)
    action_names: tuple[str, ...] = eqx.field(static=True)

    def __init__(
        self,
        concepts: int = 5,
        horizon: int = 5,
        p_learn: float = 0.8,
        r_concept: float = 0.6,
        r_hack: float = 1.0,
        gamma: float = 0.99,
        theta: float = 0.5,
    ) -> None:
        check_probability("p_learn", p_learn)
        check_reward("r_concept", r_concept)
        check_reward("r_hack", r_hack)
        names = [str(i) for i in range(1, concepts + 1)]
        self.p_learn = p_learn
        self.r_concept = r_concept
        self.r_hack = r_hack
        self.gamma = gamma
        self.theta = theta
        self.horizon = horizon
        self.curriculum = Curriculum.from_edges(list(pairwise(names)), concepts=names)
        self.action_names = (*self.curriculum.concepts, "hack")

    @property
    def concepts(self) -> int:
        return len(self.curriculum)

    @property
    def reward_bound(self) -> float:
        return float(max(self.r_concept, self.r_hack))

    @property
    def cost_bounds(self) -> Float[np.ndarray, " costs"]:
        return np.ones(3)

    def learn_probability(self, state: BinaryState, concept: Int[Array, ""]) -> Float[Array, ""]:
        return jnp.asarray(self.p_learn)

    def signals(
        self, state: BinaryState, action: Int[Array, ""], ready: Bool[Array, ""], gain: Float[Array, ""]
    ) -> Signals:
        hacks = action == len(self.curriculum)
        reward = jnp.where(hacks, self.r_hack, jnp.where(ready, self.r_concept, 0.0))
        c2 = ready & ~hacks & (gain == 0)
        c3 = ~ready
        c4 = (reward > 0) & (gain == 0)
        return Signals(reward, jnp.stack([c2, c3, c4]).astype(jnp.float32))
