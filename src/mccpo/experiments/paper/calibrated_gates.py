"""What a gate that calibrates itself keeps and costs, judged on fresh learners: rows of the noise table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from mccpo.env import Constraints, Estimated
from mccpo.evaluation import CONFIDENCE
from mccpo.experiments.calibration import GateSettings, Trial, calibrate, grid, unready_bounds
from mccpo.experiments.options import Session, Stage
from mccpo.experiments.problem import Problem
from mccpo.experiments.training import Trained
from mccpo.experiments.worth import summarised
from mccpo.methods import EVALUATION_EPISODES
from mccpo.runs.results import CalibratedGate, Row

DELTAS = (0.05, 0.01)
"""The shares of lessons that may be unready in truth."""

NOTE = (
    "A calibrated gate chooses its caution and memory by itself, for all policies of a method together: it is told "
    "nothing of the error, tries a grid of settings on held-out learners, and keeps those whose upper bound on the "
    "share of lessons unready in truth is at most δ for every policy (95 % jointly, over all settings and policies). "
    "Of these it takes the highest return where the budgets are met, else the setting that misses them least. It is "
    "judged on the learners of the other rows, which it has not met."
)


class Case(NamedTuple):
    """One error of the estimate, and what a method gives behind a gate without caution, under it and without any."""

    part: str
    error: str
    level: float
    env: Estimated[Any]
    uncalibrated: Row
    exact: Row


def calibrated_gates(
    problem: Problem, method: Trained, constraints: Constraints, case: Case, session: Session
) -> tuple[CalibratedGate, ...]:
    """Calibrates the gate of a method's policies under one error, and judges what it chose for each δ."""
    seed, policies = problem.training.seed, method.policies
    steps = policies.seeds * EVALUATION_EPISODES * case.env.horizon
    stage = Stage(f"calibrating {case.part} {case.error} {method.name}", len(grid(case.env)), steps)

    def progress(done: int) -> None:
        if session.progress is not None:
            session.progress(stage, done)

    trials = calibrate(policies, case.env, constraints, seed=seed, progress=progress)
    chosen = {delta: trials.choose(delta) for delta in DELTAS}
    judged = {
        settings: _judged(problem, method, constraints, case.env, settings)
        for settings in dict.fromkeys(trial.settings for trial in chosen.values())
    }
    return tuple(_gate(case, method.name, delta, trial, *judged[trial.settings]) for delta, trial in chosen.items())


def _judged(
    problem: Problem, method: Trained, constraints: Constraints, env: Estimated[Any], settings: GateSettings
) -> tuple[Row, float]:
    """What the policies give behind a gate on fresh learners, and a bound on the unready share of every policy."""
    behind = settings.of(env)
    played = method.policies.play(behind, episodes=EVALUATION_EPISODES, seed=problem.training.seed)
    _, bounds = unready_bounds(played, (1 - CONFIDENCE) / method.policies.seeds)
    return summarised(played, behind, problem.anchor, constraints), float(bounds.max())


def _gate(case: Case, method: str, delta: float, trial: Trial, row: Row, upper: float) -> CalibratedGate:
    return CalibratedGate(
        part=case.part,
        method=method,
        error=case.error,
        level=case.level,
        delta=delta,
        caution=trial.settings.caution,
        memory=trial.settings.memory,
        shut=trial.settings.shut,
        held_out_bound=trial.bound,
        true_violation_rate=row["true_violation_rate"].mean,
        upper=upper,
        uncalibrated_rate=case.uncalibrated["true_violation_rate"].mean,
        mean_return=row["return"].mean,
        uncalibrated_return=case.uncalibrated["return"].mean,
        exact_return=case.exact["return"].mean,
        mean_gain=row["dK"].mean,
        uncalibrated_gain=case.uncalibrated["dK"].mean,
        exact_gain=case.exact["dK"].mean,
        satisfaction_strict=row["satisfaction_strict"].mean,
        uncalibrated_satisfaction=case.uncalibrated["satisfaction_strict"].mean,
        exact_satisfaction=case.exact["satisfaction_strict"].mean,
    )


def kept_sentence(gates: Sequence[CalibratedGate]) -> str:
    """How many of a part's calibrated gates keep their δ, and what that costs at most."""
    kept = sum(gate.kept for gate in gates)
    dearest = max(gates, key=lambda gate: gate.lost_in_all)
    shut = sum(gate.shut for gate in gates)
    closed = f"; {shut} of them had to shut, and teach only what has no prerequisites" if shut else ""
    where = f"{dearest.error} {dearest.level:g}, δ = {dearest.delta:g}"
    return (
        f"of {len(gates)} calibrated gates, {kept} keep at most δ lessons unready in truth, by an upper bound "
        f"at 95 % on fresh learners{closed}. The return is lowest under {where}: {dearest.mean_return:.2f}, against "
        f"{dearest.uncalibrated_return:.2f} without calibration and {dearest.exact_return:.2f} without error."
    )
