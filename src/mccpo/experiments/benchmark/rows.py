"""The rows of a trial: what the policy of every seed is worth at every κ."""

from __future__ import annotations

import math
from dataclasses import replace

from mccpo.evaluation.policy import metrics_of, slack_of
from mccpo.exact import Values
from mccpo.experiments.benchmark.protocol import Protocol
from mccpo.experiments.benchmark.trial import DIVERGED, Trial
from mccpo.experiments.problem import Problem
from mccpo.files import dump_json
from mccpo.runs.benchmark import Outcome, Row


def rows_of(problem: Problem, trial: Trial, protocol: Protocol) -> list[Row]:
    """The rows of a trial at every κ that was asked for; one that failed has rows that say so."""
    seeds = trial.seeds or range(protocol.seeds)
    return [
        _row(problem, trial, kappa, seed, values)
        for kappa in protocol.kappa
        for seed, values in zip(seeds, trial.values.get(kappa) or [None] * len(seeds), strict=True)
    ]


def unseen_rows(problem: Problem, trial: Trial) -> list[Row]:
    """The same at the κ that nobody trained for."""
    return [
        _row(problem, trial, kappa, seed, values)
        for kappa, seeds in trial.unseen.items()
        for seed, values in enumerate(seeds)
    ]


def rows_not_run(environment: str, method: str, kind: str, why: str, protocol: Protocol) -> list[Row]:
    """The rows of a method on an environment that there is no data for, or that cannot be posed."""
    return [
        Row(environment, method, kind, kappa, seed, "does not apply", why, "{}", "", None, {}, None)
        for kappa in protocol.kappa
        for seed in range(protocol.seeds)
    ]


def outcome(problem: Problem, kappa: float, values: Values) -> Outcome:
    """What a policy is worth at a κ, absolutely and as shares of what is to be had."""
    metrics = metrics_of(values, problem.reference, problem.test, problem.constraints_at(kappa))
    best = problem.best_return(kappa)
    return Outcome(
        ret=metrics["return"],
        satisfaction=metrics["satisfaction"],
        satisfaction_strict=metrics["satisfaction_strict"],
        prerequisite_violation_rate=metrics["prerequisite_violation_rate"],
        violation_rate=metrics["violation_rate"],
        dK=metrics["dK"],
        rhsi=metrics["rhsi"],
        learning=values.learning,
        mastered=values.mastered,
        costs=values.costs,
        share=_ratio(values.ret, problem.reference.ret),
        optimum_share=None if best is None else _ratio(values.ret, best),
        cost_share=cost_share(values, problem),
        true_violation_rate=values.true_violation_rate,
    )


def cost_share(values: Values, problem: Problem) -> float:
    """The share of the unconstrained cost that is spent, of whichever budgeted cost is highest; 0 without budgets.

    Where a cost is nothing without budgets, what counts as meeting a budget of 0 (`satisfies`) is nothing. More than
    that is more than all: above 1, and the more the more is spent.
    """
    whole, slack = problem.reference.costs, slack_of(problem.test)
    shares = [_spent(values.costs[name], whole[name], slack[name]) for name in problem.test.constrained]
    return max(shares, default=0.0)


def folder_of(environment: str, method: str) -> str:
    """The folder of a pair, relative to that of the benchmark."""
    return f"cells/{environment}/{method}"


def _row(problem: Problem, trial: Trial, kappa: float, seed: int, values: Values | None) -> Row:
    """One row. Seeds that came to something are done, whatever became of the others."""
    status, why = ("done", "") if values is not None else (trial.status, trial.why)
    if status == "does not apply" and kappa in trial.values:  # it has no answer at another κ, and came to nothing here
        status, why = "diverged", DIVERGED
    return Row(
        environment=problem.name,
        method=trial.method,
        kind=trial.kind,
        kappa=kappa,
        seed=seed,
        status=status,
        why=why,
        settings=dump_json(trial.settings.get(kappa, {})),
        folder=folder_of(problem.name, trial.method),
        seconds=trial.seconds,
        budgets=problem.limits(kappa),
        outcome=None if values is None else _outcome_of(trial, outcome(problem, kappa, values)),
    )


def _outcome_of(trial: Trial, worth: Outcome) -> Outcome:
    """What is known of a method's outcome: an agent from elsewhere tells neither of these."""
    return replace(worth, learning=None, mastered=None) if trial.kind == "outside" else worth


def _spent(cost: float, whole: float, slack: float) -> float:
    if whole > 0:
        return cost / whole
    return 0.0 if cost <= slack else float(cost / slack)


def _ratio(part: float, whole: float) -> float | None:
    """A share of a whole; of nothing, nothing is 0 and anything is no share at all."""
    if whole == 0:
        return 0.0 if part == 0 else None
    ratio = part / whole
    return ratio if math.isfinite(ratio) else None
