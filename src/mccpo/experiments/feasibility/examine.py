"""Whether a table's budgets and floors were met in some seed, and if not, why."""

from __future__ import annotations

from mccpo.env import Constraints
from mccpo.experiments.feasibility.diagnosis import diagnose
from mccpo.experiments.feasibility.floors import short_of_floors
from mccpo.experiments.options import Session
from mccpo.experiments.problem import Problem
from mccpo.methods import sees_budgets
from mccpo.runs.results import Rows, UnmetBudgets


def examine(
    problem: Problem, rows: Rows, constraints: Constraints, label: str, session: Session
) -> UnmetBudgets | None:
    """Why a table's budgets and floors were met in no seed; None where some seed met them."""
    met = [row["satisfaction_strict"].mean for name, row in rows.items() if sees_budgets(name)]
    if not met or max(met) > 0:
        return None
    if constraints.floors:
        return short_of_floors(problem, rows, constraints)
    return diagnose(problem, constraints.budgets, rows, f"{label}, least costs", session).unmet()
