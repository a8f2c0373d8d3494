"""mccpo: tutoring policies that teach only what a gate says a learner is ready for, and that are held to learning.

>>> import mccpo
>>> mccpo.__version__.count("."), mccpo.METHODS["mc-cpo"].label
(2, 'MC-CPO')
>>> env = mccpo.make("chain")
>>> optimum = mccpo.solve(mccpo.enumerate_model(env), {"c4": 2.4505})
>>> round(optimum.values.ret, 4), round(optimum.multipliers["c4"], 3)
(3.6757, 0.5)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mccpo._version import __version__

if TYPE_CHECKING:
    from mccpo import datasets
    from mccpo.curriculum import Curriculum, frontier
    from mccpo.env import (
        Environment,
        FiniteEnvironment,
        Observation,
        TimeStep,
        Tutor,
        autoreset_step,
        make,
        register_environment,
    )
    from mccpo.errors import GateFailed, InputError, MccpoError
    from mccpo.exact import enumerate_model, evaluate, front, solve
    from mccpo.experiments.api import compare, problem, train
    from mccpo.methods import (
        METHODS,
        NeuralPlan,
        TabularPlan,
        evaluate_neural,
        method_spec,
        register_method,
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
    "Tutor",
    "__version__",
    "autoreset_step",
    "compare",
    "datasets",
    "enumerate_model",
    "evaluate",
    "evaluate_neural",
    "front",
    "frontier",
    "make",
    "masked_softmax",
    "method_spec",
    "problem",
    "register_environment",
    "register_method",
    "solve",
    "train",
    "train_neural",
    "train_tabular",
]

# Looked up on first use: the command line imports this package for every `--help`, and jax takes a second.
_HOMES = {
    "autoreset_step": "env",
    "register_method": "methods",
    "method_spec": "methods",
    "train": "experiments.api",
    "problem": "experiments.api",
    "compare": "experiments.api",
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
    "Tutor": "env",
    "make": "env",
    "register_environment": "env",
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
    if name == "datasets":
        return import_module("mccpo.datasets")
    raise AttributeError(f"module 'mccpo' has no attribute '{name}'")
