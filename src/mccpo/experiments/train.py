"""One method on one environment: the comparison with a single row."""

from __future__ import annotations

from dataclasses import replace

from mccpo.experiments import compare
from mccpo.experiments.options import Options, Session
from mccpo.experiments.table import Produced


def produce(environment: str, method: str, options: Options, session: Session) -> Produced:
    """Trains and evaluates a method at one budget level, with the unconstrained policies that κ and RHSI refer to."""
    options.only_kappa("train")
    produced = compare.produce(environment, replace(options, methods=(method,)), session)
    return replace(produced, results=replace(produced.results, title=f"{method} on {environment}"))
