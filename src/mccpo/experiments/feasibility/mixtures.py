"""What mixtures of policies reach: whether budgets can be met by drawing one of several policies, and why not.

Drawing one of several policies at the start of an episode costs the mean of their costs. So the convex hull of all cost
vectors seen can be reached. Which budgets that meets is a small linear program.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
import scipy  # whose parts load when they are used: training need not wait for them
from jaxtyping import Float

from mccpo.errors import MccpoError

_CLOSE = 0.99  # a floor this near to the scaling needs no further prices
_ROUNDING = 1e-9

Costs = Mapping[str, float]
Prices = Mapping[str, float]


@dataclass(frozen=True)
class Nearest:
    """The policy that comes nearest to all budgets: its `cost` is `factor` times its budget, and no other is more."""

    name: str
    cost: str
    factor: float

    def __str__(self) -> str:
        times = f"{self.factor:.4g} times its budget" if math.isfinite(self.factor) else "above a budget of 0"
        return f"{self.name}, whose {self.cost} is {times}"


@dataclass(frozen=True)
class Unreached:
    """That no policy which was found meets the budgets, and why. It is no proof that none does.

    `conflict` is a smallest set of budgets that no mixture of the policies found meets, `least` the lowest value found
    of each cost, `scaling` the smallest common factor by which raising all budgets brings a mixture within them.
    `floor` is the factor that the learner believes no policy can do with less than; what holds between the two is open.
    `prices` are those at which the budgets hinder most, `policies` is how many were found, `nearest` the best of them.
    """

    conflict: tuple[str, ...]
    least: dict[str, float]
    scaling: float | None
    floor: float | None
    prices: dict[str, float]
    policies: int
    nearest: Nearest

    @property
    def settled(self) -> bool:
        """Whether further prices would tell nothing new."""
        return self.scaling is None or (self.floor is not None and self.floor >= _CLOSE * self.scaling)

    def what(self, budgets: Mapping[str, float]) -> str:
        """What was not found, in words."""
        asked = " and ".join(f"{name} ≤ {budgets[name]:g}" for name in self.conflict)
        least = ", ".join(f"{name} {self.least[name]:.4f}" for name in self.conflict)
        together = "each alone was brought down to" if len(self.conflict) > 1 else "the least found is"
        return (
            f"none of {self.policies} policies that were found, nor a mixture of them, meets {asked}: {together} "
            f"{least}; nearest came {self.nearest}"
        )

    def fix(self) -> str:
        """What would do for certain, in words."""
        if self.scaling is None:
            return "raise the budgets that are 0"
        enough = math.ceil(self.scaling * 1e4) / 1e4  # rounded up, so that what is printed will do
        doubt = "" if self.floor is None else f" (the learner believes that less than {self.floor:.4f} cannot do)"
        return f"raise all budgets by a factor of {enough:.4f}, within which a mixture stays{doubt}"


@dataclass(frozen=True)
class Reached:
    """The budgets can be met after all: a mixture of the policies found stays within `scaling` times each of them.

    `by` names a policy that does so by itself; it is empty where it takes a mixture.
    """

    scaling: float
    policies: int
    by: str = ""

    def what(self, budgets: Mapping[str, float]) -> str:
        """What was found, in words."""
        asked = " and ".join(f"{name} ≤ {budget:g}" for name, budget in budgets.items())
        mixed = f"a mixture of the {self.policies} policies found has {self.scaling:.4f} of them"
        return f"{asked} can be met: {self.by} meets them" if self.by else f"{asked} can be met: {mixed}"

    def fix(self) -> str:
        """What would make the learner meet them, in words."""
        return f"train for more steps, or take {self.by}" if self.by else "train for more steps, or with more seeds"


def weightings(names: tuple[str, ...]) -> list[dict[str, float]]:
    """Where to look on the simplex of weightings: its corners, the middles of its edges, its centre.

    >>> weightings(("c3", "c4"))
    [{'c3': 1.0}, {'c4': 1.0}, {'c3': 0.5, 'c4': 0.5}]
    """
    sizes = sorted({min(size, len(names)) for size in (1, 2, len(names))})
    return [dict.fromkeys(part, 1 / size) for size in sizes for part in combinations(names, size)]


def verdict_on(
    costs: Sequence[Costs],
    budgets: Mapping[str, float],
    *,
    prices: Sequence[Prices] = (),
    slack: Mapping[str, float] | None = None,
    names: Sequence[str] = (),
) -> Unreached | Reached:
    """Whether a mixture of policies of these costs meets the budgets, and if not, why not.

    `prices` are those that policies were trained for; a budget of 0 is met up to `slack`. `names` are the policies'.
    """
    allowed = slack or {}
    nearest = _nearest(costs, budgets, allowed, names or [f"policy {at}" for at in range(len(costs))])

    def scaling(names: Sequence[str]) -> Scaling | None:
        table = np.array([[one[name] for name in names] for one in costs])
        limits, slacks = ([mapping.get(name, 0.0) for name in names] for mapping in (budgets, allowed))
        return least_scaling(table, np.array(limits), np.array(slacks))

    def met(found: Scaling | None) -> bool:
        return found is not None and found.factor <= 1 + _ROUNDING

    overall = scaling(tuple(budgets))
    if overall is not None and met(overall):
        return Reached(overall.factor, len(costs), nearest.name if nearest.factor <= 1 + _ROUNDING else "")
    sets = (names for size in range(1, len(budgets) + 1) for names in combinations(budgets, size))
    hinder = {} if overall is None else dict(zip(budgets, map(float, overall.prices), strict=True))
    return Unreached(
        conflict=next((names for names in sets if not met(scaling(names))), tuple(budgets)),
        least={name: min(one[name] for one in costs) for name in budgets},
        scaling=None if overall is None else overall.factor,
        floor=None if overall is None else _floor(costs, budgets, prices),
        prices={name: price for name, price in hinder.items() if price > _ROUNDING},
        policies=len(costs),
        nearest=nearest,
    )


def _nearest(
    costs: Sequence[Costs], budgets: Mapping[str, float], slack: Mapping[str, float], names: Sequence[str]
) -> Nearest:
    """The policy whose cost that is furthest above its budget is the least so; above a budget of 0, infinitely far."""

    def factor(one: Costs, name: str) -> float:
        if budgets[name] > 0:
            return one[name] / budgets[name]
        return 0.0 if one[name] <= slack.get(name, 0.0) else math.inf

    furthest = [max(((factor(one, name), name) for name in budgets), default=(0.0, "")) for one in costs]
    at = min(range(len(costs)), key=lambda place: furthest[place][0])
    return Nearest(names[at], furthest[at][1], furthest[at][0])


class Scaling(NamedTuple):
    """The smallest `factor` on all limits that a mixture meets, and the `prices` that no mixture undercuts it at."""

    factor: float
    prices: Float[np.ndarray, " costs"]


def least_scaling(
    costs: Float[np.ndarray, "policies costs"],
    limits: Float[np.ndarray, " costs"],
    slack: Float[np.ndarray, " costs"],
) -> Scaling | None:
    """The smallest factor s for which a mixture of policies has costs of at most s times the limits, if there is one.

    A limit of 0 stays 0 whatever s is, and is met up to its slack. With no other limits, s is 0 where they are met.
    """
    positive = limits > 0
    units = np.where(positive, limits, 1.0)
    found = scipy.optimize.linprog(
        np.append(np.zeros(len(costs)), 1.0),
        A_ub=np.column_stack([(costs / units).T, -positive.astype(float)]),
        b_ub=np.where(positive, 0.0, slack),
        A_eq=np.append(np.ones(len(costs)), 0.0)[None],
        b_eq=[1.0],
        method="highs",
    )
    if found.status not in (0, 2):
        raise MccpoError(f"the linear program was not solved: {found.message}")
    return Scaling(float(found.fun), -found.ineqlin.marginals / units) if found.status == 0 else None


def _floor(costs: Sequence[Costs], budgets: Mapping[str, float], prices: Sequence[Prices]) -> float | None:
    """The largest factor that one of the prices rules out for every policy found."""

    def worth(price: Prices, amounts: Mapping[str, float]) -> float:
        return sum(each * amounts[name] for name, each in price.items())

    usable = [price for price in prices if all(budgets.get(name, 0.0) > 0 for name in price)]
    return max((min(worth(price, one) for one in costs) / worth(price, budgets) for price in usable), default=None)
