"""What a user should know before relying on a fitted model."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mccpo.mastery.fitting.diagnostics import Diagnostics
from mccpo.mastery.fitting.fit import Fitted
from mccpo.mastery.fitting.reports import ResponseReport, TracingReport
from mccpo.mastery.responses import Responses

FEW_HELD_OUT = 30
"""Learners below which an interval says little."""
FEW_LEARNERS = 10
"""Learners of a concept below which its parameters may be anything."""


def warnings_of(fitted: Fitted, training: Responses, diagnostics: Diagnostics) -> tuple[str, ...]:
    """One sentence for each thing that speaks against the model, those that weigh most first."""
    return (
        *_against_the_constant(diagnostics),
        *_of_the_fit(fitted),
        *_of_few_learners(training, diagnostics),
    )


def _against_the_constant(result: Diagnostics) -> Iterator[str]:
    ours, constant = result.log_loss, result.constant_log_loss
    gain = result.intervals.get("gain")
    if ours >= constant:
        yield f"it predicts no better than a constant: log-loss {ours:.4f}, the constant's is {constant:.4f}"
    elif gain is not None and gain.low <= 0:
        yield (
            "it may predict no better than a constant: the gain in log-loss is between "
            f"{gain.low:.4f} and {gain.high:.4f}"
        )
    if np.isnan(result.auc):
        yield "all answers it is judged on are the same, so there is no AUC"


def _of_the_fit(fitted: Fitted) -> Iterator[str]:
    report = fitted.report
    if isinstance(report, TracingReport):
        for name, concepts in report.at_bound.items():
            if concepts:
                yield f"{name} is at its bound of {report.bound:g} for {_listed(concepts)}"
    if isinstance(report, ResponseReport):
        if not report.items:
            yield "the logs name no items, so all items of a concept are taken to be alike"
        if report.not_converged:
            yield f"the regression did not converge in {report.steps} steps"
    elif report.not_converged:
        yield f"the fit did not converge for {_listed(report.not_converged)}"


def _of_few_learners(training: Responses, result: Diagnostics) -> Iterator[str]:
    if result.learners < FEW_HELD_OUT:
        yield f"it is judged on {result.learners} learners, and fewer than {FEW_HELD_OUT} say little about others"
    pairs = np.unique(training.learner.astype(np.int64) * len(training.concepts) + training.concept)
    met = np.bincount(pairs % len(training.concepts), minlength=len(training.concepts))
    few = tuple(training.concepts[code] for code in np.flatnonzero((met > 0) & (met < FEW_LEARNERS)))
    if few:
        yield f"fewer than {FEW_LEARNERS} learners are there to fit {_listed(few)}"


def _listed(concepts: tuple[str, ...], most: int = 3) -> str:
    shown = ", ".join(repr(name) for name in concepts[:most])
    noun = "concept" if len(concepts) == 1 else "concepts"
    return f"{len(concepts)} {noun} ({shown}{', …' if len(concepts) > most else ''})"
