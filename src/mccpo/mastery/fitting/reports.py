"""How a fit went, in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True)
class TracingReport:
    """How a fit of knowledge tracing went.

    **Fields:**

    - `mean_steps`, `most_steps`: of all concepts and restarts.
    - `not_converged`: the concepts whose best restart ended at the limit of steps.
    - `at_bound`: of guess and slip, the concepts at which they reach the `bound`.
    - `forgetting`: when something may be forgotten, where the model has that.
    """

    log_likelihood: float
    restarts: int
    tolerance: float
    mean_steps: float
    most_steps: int
    not_converged: tuple[str, ...]
    bound: float
    at_bound: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    forgetting: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The report as plain values, for JSON."""
        report = {
            "log_likelihood": self.log_likelihood,
            "restarts": self.restarts,
            "tolerance": self.tolerance,
            "steps": {"mean": self.mean_steps, "most": self.most_steps},
            "not_converged": list(self.not_converged),
            "bound": self.bound,
            "at_bound": {name: list(concepts) for name, concepts in self.at_bound.items()},
        }
        return report if self.forgetting is None else report | {"forgetting": self.forgetting}


@dataclass(frozen=True)
class RegressionReport:
    """How a fit of performance factors went; `not_converged` are the concepts whose regression did not."""

    log_likelihood: float
    decay: float
    penalty: float
    not_converged: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The report as plain values, for JSON."""
        return {
            "log_likelihood": self.log_likelihood,
            "decay": self.decay,
            "penalty": self.penalty,
            "not_converged": list(self.not_converged),
        }


@dataclass(frozen=True)
class ResponseReport:
    """How a fit of a response model went.

    **Fields:**

    - `items`: how many items have a difficulty of their own.
    - `clock`: whether any answer has a time.
    - `steps`: of the regression.
    """

    log_likelihood: float
    ridge: float
    items: int
    clock: bool
    steps: int
    converged: bool

    @property
    def not_converged(self) -> tuple[str, ...]:
        """What did not converge: all concepts are fitted by one regression."""
        return () if self.converged else ("the regression",)

    def as_json(self) -> dict[str, Any]:
        """The report as plain values, for JSON."""
        return {
            "log_likelihood": self.log_likelihood,
            "ridge": self.ridge,
            "items": self.items,
            "clock": self.clock,
            "steps": self.steps,
            "not_converged": list(self.not_converged),
        }


@dataclass(frozen=True)
class AverageReport:
    """How a moving average was fitted: there is nothing to say of it."""

    not_converged: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Nothing, for JSON."""
        return {}


FitReport: TypeAlias = TracingReport | RegressionReport | ResponseReport | AverageReport
