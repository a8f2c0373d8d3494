"""Budgets by name, checked before anything is trained or solved under them."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from mccpo.errors import InputError


def check_budgets(cost_names: tuple[str, ...], budgets: Mapping[str, float]) -> None:
    """Refuses budgets on costs that are not there, and negative or non-finite ones."""
    for name, budget in budgets.items():
        if name not in cost_names:
            raise InputError(f"unknown cost '{name}'", fix=f"choose from {', '.join(cost_names)}")
        if not (isfinite(budget) and budget >= 0):
            raise InputError(f"the budget of {name} is {budget}", fix="give a finite number of at least 0")
