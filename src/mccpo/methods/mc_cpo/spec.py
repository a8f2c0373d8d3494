"""A method is data: which mask, which shaping, which multiplier rule, which frontier rate, which filter.

Because every field is an array, one compiled program serves all methods: they differ in numbers, not in code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from mccpo.env import Environment
from mccpo.policy import FILTERS, blocked, renormalised, unfiltered

_FILTERS = tuple(FILTERS)


@dataclass(frozen=True)
class MethodSpec:
    """A method in words: what a user names, and what a table's row stands for.

    `shared` is whether concepts share the weights of its network. `filter` "environment" is the rule by which the
    environment's authors filter: see `Environment.filter`.
    """

    name: str
    masked: bool = False
    shared: bool = False
    engagement: float = 1.0
    progress: float = 0.0
    shaping: Mapping[str, float] = field(default_factory=dict)
    constrained: bool = False
    frontier_rate: float = 0.0
    filter: Literal["none", "block", "renormalise", "environment"] = "none"


class MethodArrays(eqx.Module):
    """A method as the numbers that the compiled learner reads.

    - `masked`: whether the policy is confined to the ready set.
    - `engagement`, `progress`: what the reward r_E and the mastery gained ΔK weigh in the reward that is learnt from.
    - `shaping`: subtracted from it per unit of each cost.
    - `constrained`: 1.0 where the multipliers act, 0.0 where they stay at zero.
    - `frontier_rate`: ε_min of the frontier mixing.
    - `filter`: an index into `FILTERS`, applied at execution only.
    """

    masked: Bool[Array, ""]
    engagement: Float[Array, ""]
    progress: Float[Array, ""]
    shaping: Float[Array, " costs"]
    constrained: Float[Array, ""]
    frontier_rate: Float[Array, ""]
    filter: Int[Array, ""]


def method_arrays(spec: MethodSpec, env: Environment[Any]) -> MethodArrays:
    """The numbers of a method on an environment."""
    rule = env.filter if spec.filter == "environment" else spec.filter
    return MethodArrays(
        masked=jnp.asarray(spec.masked),
        engagement=jnp.asarray(spec.engagement),
        progress=jnp.asarray(spec.progress),
        shaping=jnp.array([spec.shaping.get(name, 0.0) for name in env.cost_names]),
        constrained=jnp.asarray(float(spec.constrained)),
        frontier_rate=jnp.asarray(spec.frontier_rate),
        filter=jnp.asarray(_FILTERS.index(rule)),
    )


def execute(
    method: MethodArrays,
    probs: Float[Array, "*batch actions"],
    mask: Bool[Array, "*batch actions"],
    hack: Bool[Array, " actions"],
) -> Float[Array, "*batch actions+1"]:
    """The executed policy: the trained one through the method's filter. The last action is the no-op.

    What the filters do is written in `mccpo.policy.execution`; here the filter's number may be traced.
    """
    allowed = mask & ~hack
    return jnp.select(
        [method.filter == _FILTERS.index("block"), method.filter == _FILTERS.index("renormalise")],
        [blocked(probs, allowed), renormalised(probs, allowed)],
        unfiltered(probs, allowed),
    )
