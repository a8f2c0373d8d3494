"""What a policy is held to: budgets on costs, floors on learning and engagement; checked before anything is trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from mccpo.env.contract import Environment
from mccpo.env.floors import Objective, check_floors, with_floors
from mccpo.errors import InputError


@dataclass(frozen=True)
class Constraints:
    """Budgets and floors in numbers, and what is made as large as they allow.

    **Fields:**

    - `budgets`: by cost, what an episode may cost at most.
    - `floors`: by name (see `FLOORS`), what an episode must reach at least; `reach`: the most that is known to be
      reached of each.
    - `objective`: what is made as large as can be.

    >>> Constraints(budgets={"c2": 1.5}, floors={"learning": 2.0}).amounts
    {'c2': 1.5, 'learning': 2.0}
    """

    budgets: Mapping[str, float] = field(default_factory=dict)
    floors: Mapping[str, float] = field(default_factory=dict)
    reach: Mapping[str, float] = field(default_factory=dict)
    objective: Objective = "engagement"

    @property
    def amounts(self) -> dict[str, float]:
        """Every budget and floor by name, as training in `environment` takes them."""
        return {**self.budgets, **self.floors}

    def check(self, env: Environment[Any]) -> None:
        """Refuses what an environment cannot be held to."""
        check_budgets(env.cost_names, self.budgets)
        check_floors(env, self.floors)

    def environment(self, env: Environment[Any]) -> Environment[Any]:
        """The environment to train in: with a cost for each floor, and the objective as its reward."""
        reach = {name: max(self.reach.get(name, floor), floor) for name, floor in self.floors.items()}
        return with_floors(env, reach, self.objective)


def check_budgets(cost_names: tuple[str, ...], budgets: Mapping[str, float]) -> None:
    """Refuses budgets on costs that are not there, and negative or non-finite ones.

    >>> check_budgets(("c2", "c4"), {"c3": 1.0})
    Traceback (most recent call last):
        ...
    mccpo.errors.InputError: unknown cost 'c3'; choose from c2, c4
    """
    for name, budget in budgets.items():
        if name not in cost_names:
            raise InputError(f"unknown cost '{name}'", fix=f"choose from {', '.join(cost_names)}")
        if not (isfinite(budget) and budget >= 0):
            raise InputError(f"the budget of {name} is {budget}", fix="give a finite number of at least 0")
