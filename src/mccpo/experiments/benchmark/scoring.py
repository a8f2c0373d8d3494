"""How settings are chosen between, and which policy stands in at a κ that nobody trained for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from mccpo.env import Constraints
from mccpo.exact import Values
from mccpo.experiments.benchmark.evaluation import BySeed


class Score(NamedTuple):
    """What validation makes of a setting; of two, the larger by these in turn is better.

    - `met`: the share of seeds that meet every budget and floor, 0 where they are not sought.
    - `within`: minus the largest relative miss of a budget or floor, mean over seeds; 0 where they are not sought.
    - `ret`: the mean return.
    """

    met: float
    within: float
    ret: float


WORST = Score(-1.0, -np.inf, -np.inf)


def score_of(values: BySeed, held: Constraints, *, seeks_budgets: bool) -> Score:
    """The score of a setting by what its policies are worth; one whose policies diverge is worst."""
    sound = [one for one in values if one is not None]
    if len(sound) < len(values):
        return WORST
    ret = float(np.mean([one.ret for one in sound]))
    if not seeks_budgets or not held.amounts:
        return Score(0.0, 0.0, ret)
    excess = [_excess(one, held) for one in sound]
    return Score(float(np.mean([one <= 0 for one in excess])), -float(np.mean(np.maximum(excess, 0.0))), ret)


def mean_score(scores: Sequence[Score]) -> Score:
    """The mean of scores, number by number."""
    return Score(*(float(np.mean(numbers)) for numbers in zip(*scores, strict=True)))


def nearest(values: Mapping[float, BySeed], kappas: Sequence[float]) -> dict[float, BySeed]:
    """Policies for κ that nobody trained for: those of the next smaller κ, whose budgets are within; else none."""
    found = {}
    for kappa in kappas:
        smaller = [trained for trained in values if trained <= kappa]
        if smaller:
            found[kappa] = values[max(smaller)]
    return found


def _excess(values: Values, held: Constraints) -> float:
    """By how much the budget or floor missed most is missed, relative to it; below 0 where all are met."""
    over = [(values.costs[name] - limit) / max(limit, 1e-9) for name, limit in held.budgets.items()]
    return max([*over, *((floor - values.reached(name)) / floor for name, floor in held.floors.items())])
