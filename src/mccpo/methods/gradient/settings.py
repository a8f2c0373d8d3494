"""The numbers that a neural learner has: step sizes, weights, margins."""

from __future__ import annotations

import math
from typing import NamedTuple

from jaxtyping import Array, Float

from mccpo.methods.mc_cpo.multipliers import MultiplierRule


class PPOSettings(NamedTuple):
    """Step sizes and weights of the learner: numbers, so that another setting is not another program.

    The learning rate falls linearly to a twentieth; the entropy bonus falls to zero at `entropy_end` of training,
    the frontier rate at `frontier_end`. The discount rises from 0 to the environment's over the share `foresight` of
    training: see `appraise`.
    Training aims at budgets `tighten` below those asked for. `step_size` and `rule` move the multipliers in units in
    which 1 makes a cost at its budget weigh as much as a reward of 1 in every step. `averaging` is the share of the old
    average kept, an iteration, in the averaged parameters, from which the final policy is chosen; that choice asks for
    costs `caution` standard errors below their budgets, and the looks before it for `look_caution` of their own.
    `aside` is the share of the choice's margin that training sets aside, too, and aims below the budgets by.
    With `follow` above 0, a cost weighs more than its price in an episode that is expected to exceed what training aims
    at, by `follow` times the excess in budgets, to three prices at most, and less in others, to nothing (`due_of`).
    """

    learning_rate: float | Float[Array, ""] = 1e-3
    clip: float | Float[Array, ""] = 0.2
    gae: float | Float[Array, ""] = 0.99
    foresight: float | Float[Array, ""] = 0.1
    entropy: float | Float[Array, ""] = 0.05
    entropy_end: float | Float[Array, ""] = 0.4
    frontier_end: float | Float[Array, ""] = math.inf
    value_weight: float | Float[Array, ""] = 5.0
    gradient_norm: float | Float[Array, ""] = 0.5
    step_size: float | Float[Array, ""] = 0.1
    tighten: float | Float[Array, ""] = 0.015
    averaging: float | Float[Array, ""] = 0.8
    caution: float | Float[Array, ""] = 1.75
    look_caution: float | Float[Array, ""] = 1.0
    aside: float | Float[Array, ""] = 0.0
    follow: float | Float[Array, ""] = 0.0
    rule: MultiplierRule = MultiplierRule(proportional=3.0, memory=0.5, cap=20.0)


CAREFUL = PPOSettings(
    frontier_end=0.5,
    tighten=0.005,
    caution=2.5,
    look_caution=1.7,
    aside=1.0,
    rule=MultiplierRule(proportional=3.0, memory=0.5, cap=20.0, doubt=2.0),
)
"""Settings for budgets that must not be missed, on environments of any kind: the benchmark's.

Every learner has them, but for CCPO, whose episodes have many budgets."""
