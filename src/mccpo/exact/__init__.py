"""Finite CMDPs solved: enumeration, exact evaluation, the occupancy-measure linear program."""

from mccpo.exact.evaluation import Values, evaluate, occupancy, rhsi, satisfies
from mccpo.exact.model import FiniteModel, enumerate_model
from mccpo.exact.program import Infeasible, Optimum, front, solve

__all__ = [
    "FiniteModel",
    "Infeasible",
    "Optimum",
    "Values",
    "enumerate_model",
    "evaluate",
    "front",
    "occupancy",
    "rhsi",
    "satisfies",
    "solve",
]
