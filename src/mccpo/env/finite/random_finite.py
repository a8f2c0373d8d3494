"""Random finite environments: small random curricula on which two budgets pull in different directions."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from mccpo.curriculum import Curriculum
from mccpo.env.contract import Filter
from mccpo.env.finite.binary import BinaryMastery, BinaryState, Signals
from mccpo.env.registry import register
from mccpo.errors import InputError
from mccpo.policy import check_horizon


@register("random-finite")
class RandomFinite(BinaryMastery):
    """A seeded random environment: `instance` decides the curriculum, how fast each concept is learnt and what it pays.

    Easy concepts engage more and are learnt faster, and what is known engages more than what is new. Costs: c2, a ready
    concept taught without gain; c3, the demand missing to one half (all of it for `hack`); c4, the engagement of a step
    without gain. c3 and c4 carry budgets: the first pulls towards hard concepts, the second towards unmastered ones, so
    that the front between engagement and safety is curved and its optimum a point.
    """

    name: ClassVar[str] = "random-finite"
    cost_names: ClassVar[tuple[str, ...]] = ("c2", "c3", "c4")
    constrained: ClassVar[tuple[str, ...]] = ("c3", "c4")
    filter: ClassVar[Filter] = "renormalise"

    p_learn: Float[Array, " concepts"]
    r_new: Float[Array, " concepts"]
    r_known: Float[Array, " concepts"]
    r_hack: float
    demand: Float[Array, " concepts"]
    instance: int = eqx.field(static=True)
    concepts: int = eqx.field(static=True)
    gamma: float = eqx.field(static=True)
    theta: float = eqx.field(static=True)
    horizon: int = eqx.field(static=True)
    curriculum: Curriculum = eqx.field(static=True)
    curriculum_drawn: bool = eqx.field(static=True)
    action_names: tuple[str, ...] = eqx.field(static=True)

    def __init__(
        self,
        instance: int = 0,
        concepts: int = 4,
        horizon: int = 6,
        gamma: float = 0.99,
        theta: float = 0.5,
        curriculum: Curriculum | None = None,
    ) -> None:
        check_horizon(horizon)
        if not isinstance(instance, int) or instance < 0:
            raise InputError(f"instance is {instance}", fix="give a whole number from 0 on")
        if curriculum is None and not 2 <= concepts <= 12:
            raise InputError(f"concepts is {concepts}", fix="give between 2 and 12, or a curriculum of your own")
        if curriculum is not None and "hack" in curriculum.concepts:
            raise InputError("a concept is called 'hack', which is the name of an action", fix="rename the concept")
        draw = np.random.default_rng([instance, concepts, horizon])
        self.curriculum = curriculum if curriculum is not None else random_curriculum(draw, concepts)
        self.concepts, self.curriculum_drawn = concepts, curriculum is None
        size = len(self.curriculum)
        ease = 1 - np.asarray(self.curriculum.demand)
        self.demand = jnp.asarray(self.curriculum.demand, jnp.float32)
        self.p_learn = jnp.asarray(np.clip(0.25 + 0.6 * ease + draw.uniform(-0.15, 0.15, size), 0.1, 0.95), jnp.float32)
        r_new = 0.15 + 0.35 * ease + draw.uniform(0.0, 0.2, size)
        self.r_new = jnp.asarray(r_new, jnp.float32)
        self.r_known = jnp.asarray(r_new + draw.uniform(0.05, 0.25, size), jnp.float32)
        self.r_hack = 1.0
        self.instance = instance
        self.gamma = gamma
        self.theta = theta
        self.horizon = horizon
        self.action_names = (*self.curriculum.concepts, "hack")

    @property
    def parameters(self) -> dict[str, Any]:
        values = super().parameters
        if self.curriculum_drawn:  # all else is drawn after it, and would differ if it were given
            del values["curriculum"]
        return values

    @property
    def cost_bounds(self) -> Float[np.ndarray, " costs"]:
        return np.array([1.0, 0.5, 1.0])

    def learn_probability(self, state: BinaryState, concept: Int[Array, ""]) -> Float[Array, ""]:
        return self.p_learn[concept]

    def signals(
        self, state: BinaryState, action: Int[Array, ""], ready: Bool[Array, ""], gain: Float[Array, ""]
    ) -> Signals:
        hacks = action == len(self.curriculum)
        concept = jnp.minimum(action, len(self.curriculum) - 1)
        engagement = jnp.where(state.K[concept], self.r_known[concept], self.r_new[concept])
        reward = jnp.where(hacks, self.r_hack, jnp.where(ready, engagement, 0.0))
        c2 = (ready & ~hacks & (gain == 0)).astype(jnp.float32)
        c3 = jnp.maximum(0.0, 0.5 - jnp.where(hacks, 0.0, self.demand[concept]))
        c4 = jnp.where(gain == 0, reward, 0.0)
        return Signals(reward, jnp.stack([c2, c3, c4]))


def random_curriculum(draw: np.random.Generator, concepts: int) -> Curriculum:
    """Draws a connected curriculum whose demand grows, with some noise, along its order.

    >>> random_curriculum(np.random.default_rng(0), concepts=3).concepts
    ('k1', 'k2', 'k3')
    """
    names = [f"k{i + 1}" for i in range(concepts)]
    edges = set()
    for v in range(1, concepts):
        for u in draw.choice(v, size=min(v, int(draw.integers(0, 3))), replace=False):
            edges.add((names[int(u)], names[v]))
    if not edges:
        edges.update(pairwise(names))
    demand = np.clip(np.linspace(0.15, 0.8, concepts) + draw.uniform(-0.1, 0.1, concepts), 0.05, 0.95)
    return Curriculum.from_edges(sorted(edges), concepts=names, demand=dict(zip(names, demand.tolist(), strict=True)))
