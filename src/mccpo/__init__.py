"""mccpo: tutoring policies that cannot teach what a learner is not ready for, with engagement bounded by learning.

>>> import mccpo
>>> env = mccpo.make("chain")
>>> optimum = mccpo.solve(mccpo.enumerate_model(env), {"c4": 2.4505})
>>> round(optimum.values.ret, 4), round(optimum.multipliers["c4"], 3)
(3.6757, 0.5)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mccpo._version import __version__

if TYPE_CHECKING:
    from mccpo.curriculum import Curriculum, frontier
    from mccpo.env import Environment, FiniteEnvironment, Observation, TimeStep, make
    from mccpo.errors import GateFailed, InputError, MccpoError
    from mccpo.exact import enumerate_model, evaluate, front, solve
    from mccpo.methods import (
        METHODS,
        NeuralPlan,
        TabularPlan,
        evaluate_neural,
        train_neural,
        train_tabular,
    )
    from mccpo.policy import masked_softmax

__all__ = [
    "METHODS",
    "Curriculum",
    "Environment",
    "FiniteEnvironment",
    "GateFailed",
    "InputError",
    "MccpoError",
    "NeuralPlan",
    "Observation",
    "TabularPlan",
    "TimeStep",
    "__version__",
    "enumerate_model",
    "evaluate",
    "evaluate_neural",
    "front",
    "frontier",
    "make",
    "masked_softmax",
    "solve",
    "train_neural",
    "train_tabular",
]

# Looked up on first use: the command line imports this package for every `--help`, and jax takes a second.
_HOMES = {
    "METHODS": "methods",
    "NeuralPlan": "methods",
    "TabularPlan": "methods",
    "evaluate_neural": "methods",
    "masked_softmax": "policy",
    "train_neural": "methods",
    "train_tabular": "methods",
    "Curriculum": "curriculum",
    "frontier": "curriculum",
    "Environment": "env",
    "FiniteEnvironment": "env",
    "Observation": "env",
    "TimeStep": "env",
    "make": "env",
    "GateFailed": "errors",
    "InputError": "errors",
    "MccpoError": "errors",
    "enumerate_model": "exact",
    "evaluate": "exact",
    "front": "exact",
    "solve": "exact",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"mccpo.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'mccpo' has no attribute '{name}'")
