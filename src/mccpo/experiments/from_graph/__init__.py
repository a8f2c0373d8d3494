"""From a prerequisite graph to a tutor: the graph checked, its learners from logs or from a stated prior, promises."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mccpo.experiments.from_graph.graph import read_graph
    from mccpo.experiments.from_graph.learners import LearnersOfPrior, learners_of_prior
    from mccpo.experiments.from_graph.posterior import Estimate, LearnerPosterior, learn_platform
    from mccpo.experiments.from_graph.prior import PARAMETERS, STATED, LearnerPrior, fit_prior
    from mccpo.experiments.from_graph.promises import (
        Promise,
        compared,
        failure,
        in_its_place,
        not_promised,
        promises_of,
    )
    from mccpo.experiments.from_graph.settings import METHOD, RULES, STEPS

__all__ = [
    "METHOD",
    "PARAMETERS",
    "RULES",
    "STATED",
    "STEPS",
    "Estimate",
    "LearnerPosterior",
    "LearnerPrior",
    "LearnersOfPrior",
    "Promise",
    "compared",
    "failure",
    "fit_prior",
    "in_its_place",
    "learn_platform",
    "learners_of_prior",
    "not_promised",
    "promises_of",
    "read_graph",
]

# Looked up on first use: some of it needs polars, which experiments without logs do without.
_HOMES = {
    "Estimate": "posterior",
    "LearnerPosterior": "posterior",
    "learn_platform": "posterior",
    "LearnerPrior": "prior",
    "LearnersOfPrior": "learners",
    "METHOD": "settings",
    "PARAMETERS": "prior",
    "Promise": "promises",
    "RULES": "settings",
    "STATED": "prior",
    "STEPS": "settings",
    "compared": "promises",
    "failure": "promises",
    "fit_prior": "prior",
    "in_its_place": "promises",
    "learners_of_prior": "learners",
    "not_promised": "promises",
    "promises_of": "promises",
    "read_graph": "graph",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
