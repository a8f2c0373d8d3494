"""The numbers of a method that learns by gradient: step sizes, weights, margins."""

from __future__ import annotations

import math
from typing import NamedTuple

from jaxtyping import Array, Float

from mccpo.methods.mc_cpo.multipliers import MultiplierRule


class PPOSettings(NamedTuple):
    """Step sizes and weights of the method: numbers, so that another setting is not another program.

    The learning rate falls linearly to a twentieth; the entropy bonus falls to zero at `entropy_end` of training,
    the frontier rate at `frontier_end`, which by default is never above zero: see `exploring`. The discount rises from
    0 to the environment's over the share `foresight` of training: see `appraise`.
    Training aims at budgets `tighten` below those asked for. `step_size` and `rule` move the multipliers in units in
    which 1 makes a cost at its budget weigh as much as a reward of 1 in every step. `averaging` is the share of the old
    average kept, an iteration, in the averaged parameters, from which the final policy is chosen; that choice asks for
    costs `caution` standard errors below their budgets, and the looks before it for `look_caution` of their own.
    `aside` is the share of the choice's margin that training sets aside, too, and aims below the budgets by.
    With `follow` above 0, a cost weighs more than its price in an episode that is expected to exceed what training aims
    at, by `follow` times the excess in budgets, to three prices at most, and less in others, to nothing (`due_of`).
    With `selecting` at 0, the result is the last policy, and validation has no say.

    >>> PPOSettings(learning_rate=3e-4).clip
    0.2
    """

    learning_rate: float | Float[Array, ""] = 1e-3
    clip: float | Float[Array, ""] = 0.2
    gae: float | Float[Array, ""] = 0.99
    foresight: float | Float[Array, ""] = 0.1
    entropy: float | Float[Array, ""] = 0.05
    entropy_end: float | Float[Array, ""] = 0.4
    frontier_end: float | Float[Array, ""] = 0.0
    value_weight: float | Float[Array, ""] = 5.0
    gradient_norm: float | Float[Array, ""] = 0.5
    step_size: float | Float[Array, ""] = 0.1
    tighten: float | Float[Array, ""] = 0.005
    averaging: float | Float[Array, ""] = 0.8
    caution: float | Float[Array, ""] = 2.5
    look_caution: float | Float[Array, ""] = 1.7
    aside: float | Float[Array, ""] = 1.0
    follow: float | Float[Array, ""] = 0.0
    rule: MultiplierRule = MultiplierRule(proportional=3.0, memory=0.5, cap=20.0, doubt=2.0)
    selecting: float | Float[Array, ""] = 1.0


PAPER = PPOSettings(
    foresight=0.0,
    frontier_end=math.inf,
    tighten=0.0,
    averaging=0.0,
    caution=0.0,
    look_caution=0.0,
    aside=0.0,
    rule=MultiplierRule(proportional=0.0, memory=0.0, cap=20.0),
    selecting=0.0,
)
"""The paper's, without our additions: multipliers that only integrate, the frontier to the end, no margin, averaging,
foresight, and no selection beyond the last policy."""
