"""Why floors were met in no seed: beyond what an episode can have, not found, or in conflict with something else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mccpo.env import Constraints
from mccpo.experiments.asked.floors import floor_range
from mccpo.experiments.problem import Problem
from mccpo.methods import METHODS, is_masked
from mccpo.runs.results import Row, Rows, UnmetBudgets

_METRICS = {"learning": "learning", "learning-total": "dK", "mastered": "mastered", "engagement": "return"}


def short_of_floors(problem: Problem, rows: Rows, constraints: Constraints) -> UnmetBudgets:
    """What can be reached of floors that were met in no seed, as far as is known.

    Known is that no policy reaches more than every step of an episode can add up to, and that a single floor without
    budgets is reached by the policy that showed what can be reached.
    """
    beyond = {name: floor for name, floor in constraints.floors.items() if floor > problem.reach[name]}
    asked = " and ".join(f"{name} ≥ {floor:.4g}" for name, floor in (beyond or constraints.floors).items())
    most = ", ".join(f"{name} {problem.reach[name]:.4g}" for name in beyond or constraints.floors)
    bounds = {name: floor_range(problem.env, name)[1] for name in beyond}
    above = [name for name, bound in bounds.items() if beyond[name] > bound]
    if above:
        bound = ", ".join(f"{name} {bounds[name]:.4g}" for name in above)
        return UnmetBudgets(
            feasible=False,
            what=f"no policy reaches {asked}: an episode adds up to {bound} at most",
            fix="lower the floor",
            conflict=tuple(above),
        )
    if beyond:
        return UnmetBudgets(
            feasible=None,
            what=f"no policy that was found reaches {asked}: the most that was reached is {most}",
            fix="lower the floor, or train for longer",
            conflict=tuple(beyond),
        )
    if len(constraints.floors) == 1 and not constraints.budgets:
        return UnmetBudgets(
            feasible=True,
            what=f"no seed reached {asked}, though {most} can be reached",
            fix="train for longer, or lower the floor",
        )
    return _in_conflict(rows, constraints, asked, most)


class _Nearest(NamedTuple):
    """The policy that misses least of all that is asked: which one, and what it has of everything that it misses."""

    worst: float
    name: str
    missed: dict[str, str]


def _in_conflict(rows: Rows, constraints: Constraints, asked: str, most: str) -> UnmetBudgets:
    """Floors, and budgets, each of which can be met by itself: what came nearest, and which of them it misses."""
    within = " within the budgets" if constraints.budgets else " together"
    what = f"no seed reached {asked}{within}; each by itself, {most} can be reached"
    candidates = list(_candidates(rows, constraints))
    if not candidates:
        return UnmetBudgets(feasible=None, what=what, fix="lower a floor, raise a budget, or train for longer")
    nearest = max(candidates, key=lambda one: one.worst)
    missed = ", ".join(nearest.missed.values())
    return UnmetBudgets(
        feasible=None,
        what=f"{what}; nearest came {nearest.name}, with {missed}",
        fix=f"ask for at most what it has of {' and '.join(nearest.missed)}, or train for longer",
        conflict=(*constraints.floors, *constraints.budgets),
        nearest=nearest.name,
    )


def _candidates(rows: Rows, constraints: Constraints) -> Iterator[_Nearest]:
    """Every masked policy of a table by how much it misses."""
    for name, row in rows.items():
        if name in METHODS and is_masked(name) and _measured(row, constraints):
            for seed in range(len(row["return"].per_seed)):
                yield _misses(f"{name}, seed {seed}", row, seed, constraints)


def _measured(row: Row, constraints: Constraints) -> bool:
    asked = [*(_METRICS[name] for name in constraints.floors), *(f"J_{name}" for name in constraints.budgets)]
    return "return" in row and all(metric in row for metric in asked)


def _misses(name: str, row: Row, seed: int, constraints: Constraints) -> _Nearest:
    shares, words = {}, {}
    for floor, amount in constraints.floors.items():
        value = row[_METRICS[floor]].per_seed[seed]
        shares[floor], words[floor] = value / amount, f"{floor} {value:.4g} of {amount:.4g}"
    for cost, budget in constraints.budgets.items():
        value = row[f"J_{cost}"].per_seed[seed]
        shares[cost] = budget / value if value > 0 else 1.0
        words[cost] = f"{cost} {value:.4g}, allowed {budget:.4g}"
    missed = {key: words[key] for key, share in shares.items() if share < 1.0}
    return _Nearest(min(shares.values()), name, missed)
