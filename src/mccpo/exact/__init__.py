"""Finite CMDPs solved: enumeration, exact evaluation, the occupancy-measure linear program."""

from mccpo.exact.evaluation import Values, evaluate, occupancy, rhsi, satisfies
from mccpo.exact.model import FiniteModel, enumerate_model
from mccpo.exact.program import Infeasible, Optimum, check_budgets, front, solve

__all__ = [
    "FiniteModel",
    "Infeasible",
    "Optimum",
    "Values",
    "check_budgets",
    "enumerate_model",
    "evaluate",
    "front",
    "occupancy",
    "rhsi",
    "satisfies",
    "solve",
]
