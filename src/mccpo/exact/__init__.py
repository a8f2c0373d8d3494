"""Finite CMDPs solved: enumeration, exact evaluation, the occupancy-measure linear program."""

from mccpo.exact.evaluation import Values, evaluate, occupancy, reaches, rhsi, satisfies
from mccpo.exact.lyapunov import Iteration, safe_policy_iteration
from mccpo.exact.model import FiniteModel, enumerate_model
from mccpo.exact.program import Infeasible, Optimum, front, most, safest, solve

__all__ = [
    "FiniteModel",
    "Infeasible",
    "Iteration",
    "Optimum",
    "Values",
    "enumerate_model",
    "evaluate",
    "front",
    "most",
    "occupancy",
    "reaches",
    "rhsi",
    "safe_policy_iteration",
    "safest",
    "satisfies",
    "solve",
]
