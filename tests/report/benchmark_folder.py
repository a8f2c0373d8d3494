"""A folder as `mccpo benchmark` leaves it, of made-up numbers: every kind of row that a report may meet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from mccpo.experiments.benchmark.protocol import Protocol
from mccpo.experiments.benchmark.results import findings_of, unseen_of
from mccpo.experiments.benchmark.rows import folder_of, rows_not_run
from mccpo.report.benchmark.reading import view_of
from mccpo.report.benchmark.whole_view import BenchmarkView
from mccpo.runs.benchmark import (
    ROWS,
    Anchor,
    BenchmarkResults,
    MethodRecord,
    NotRun,
    Optimum,
    Outcome,
    ProblemRecord,
    ProtocolRecord,
    Row,
    Seconds,
    write_results,
    write_rows,
)

KAPPAS, SEEDS = (0.5, 0.7, 0.9), 3
COSTS = {"gate": ("c",), "chain": ("c4",), "tutor-15": ("c2", "c3", "c4")}
ANCHORS = {
    "gate": (1.0, {"c": 1.0}),
    "chain": (4.901, {"c4": 4.901}),
    "tutor-15": (34.2, {"c2": 0.912, "c3": 15.85, "c4": 27.6}),
}
STRENGTHS = {  # the share of what can be had within the budgets
    "unconstrained": 1.0, "reward-shaped": 0.86, "mc-cpo": 0.995, "mc-cpo-no-frontier": 0.985, "cpo": 0.97,
    "pid-lagrangian": 0.99, "rcpo": 0.93, "focops": 0.96, "ccpo": 0.95, "mastery-learning": 0.62, "random-ready": 0.5,
    "planning": 0.55, "lyapunov-lp": 0.999, "maskable-ppo": 0.98,
}  # fmt: skip
KINDS = {"mastery-learning": "tutor", "random-ready": "tutor", "planning": "tutor", "lyapunov-lp": "solver"}
BETTER = {("tutor-15", "pid-lagrangian"): 1.008, ("chain", "mc-cpo"): 1.006}  # than elsewhere
FREE = {"unconstrained": 1.0, "maskable-ppo": 0.97, "reward-shaped": 0.6}  # what they spend, whatever the budgets
LAZY = {"reward-shaped": 0.3}  # the share of what others teach at the same return
ABSENT = "no data: it is made of logs"
FAULTS = {
    ("tutor-15", "focops"): ("crashed", "FloatingPointError: the divergence is <nan> & not a number"),
    ("tutor-15", "rcpo"): ("timed out", "after 60 seconds"),
    ("tutor-15", "lyapunov-lp"): ("does not apply", "tutor-15 is not finite"),
    ("gate", "ccpo"): ("diverged", "seed 1 has parameters that are not finite"),
}


def made_up(folder: Path) -> Path:
    """Writes the folder; with the folders of its pairs, but for the outside agent, which has none."""
    rows = [row for environment in COSTS for method in STRENGTHS for row in _pair(environment, method)]
    protocol = Protocol(kappa=KAPPAS, seeds=SEEDS, steps=100_000)
    for method in STRENGTHS:
        rows += rows_not_run("junyi-2015-14", method, _kind(method), ABSENT, protocol)
    unseen = [row for method in ("cpo", "ccpo", "mc-cpo") for row in _unseen("tutor-15", method)]
    for path in {row.folder for row in rows if row.folder}:
        (folder / path).mkdir(parents=True)
    results = BenchmarkResults(
        suite="quick",
        protocol=ProtocolRecord.parse(protocol.as_json()),
        environments={**{name: _problem(name) for name in COSTS}, "junyi-2015-14": NotRun(ABSENT)},
        methods={name: _method(name) for name in STRENGTHS},
        findings=findings_of(rows, {name: _problem(name).anchor for name in COSTS}),
        unseen=unseen_of(unseen, protocol.unseen),
        seconds=4211.5,
    )
    write_rows(folder / ROWS, rows)
    write_results(folder, results)
    return folder


def view_from(results: object) -> BenchmarkView:
    """The view of results that a test has changed, as JSON."""
    return view_of(BenchmarkResults.parse(results))


def _problem(name: str) -> ProblemRecord:
    ret, costs = ANCHORS[name]
    finite = name != "tutor-15"
    return ProblemRecord(
        anchor=Anchor(ret, costs, 0.0, 0.4, 0.0, 1.0, 0.0),
        budgets={kappa: {cost: kappa * value for cost, value in costs.items()} for kappa in KAPPAS},
        optimum={kappa: Optimum({"return": ret * _best(kappa), **_spent(name, kappa)}) for kappa in KAPPAS}
        if finite
        else None,
        finite=finite,
        costs=tuple(costs),
        constrained=COSTS[name],
        actions=16,
        horizon=50,
        gamma=0.99,
    )


def _method(name: str) -> MethodRecord:
    device = "cpu" if _kind(name) == "tutor" else "NVIDIA H200"
    outside = _kind(name) == "outside"  # which was trained elsewhere
    seconds = Seconds(2.5, 31.0, None, None) if outside else Seconds(2.5, 31.0, 100.0, device)
    return MethodRecord(_kind(name), {environment: {} for environment in COSTS}, dict.fromkeys(COSTS, seconds))


def _best(kappa: float) -> float:
    return 0.5 + 0.5 * kappa


def _spent(environment: str, kappa: float) -> dict[str, float]:
    return {f"J_{cost}": kappa * value for cost, value in ANCHORS[environment][1].items()}


def _kind(method: str) -> str:
    return "outside" if method == "maskable-ppo" else KINDS.get(method, "learner")


def _pair(environment: str, method: str) -> Iterator[Row]:
    draw = np.random.default_rng([len(environment), sum(map(ord, method))])
    if environment == "chain" and method == "maskable-ppo":
        return
    for kappa in KAPPAS:
        for seed in range(SEEDS):
            yield _row(environment, method, kappa, seed, draw)


def _row(environment: str, method: str, kappa: float, seed: int, draw: np.random.Generator) -> Row:
    costs = ANCHORS[environment][1]
    status, why = FAULTS.get((environment, method), ("done", ""))
    if status == "diverged" and seed != 1:
        status, why = "done", ""
    return Row(
        environment=environment,
        method=method,
        kind=_kind(method),
        kappa=kappa,
        seed=seed,
        status=status,
        why=why,
        settings="{}",
        folder="" if method == "maskable-ppo" else folder_of(environment, method),
        seconds=2.5 + draw.uniform(),
        budgets={cost: kappa * value for cost, value in costs.items()},
        outcome=_outcome(environment, method, kappa, seed, draw) if status == "done" else None,
    )


def _outcome(environment: str, method: str, kappa: float, seed: int, draw: np.random.Generator) -> Outcome:
    ret, costs = ANCHORS[environment]
    level = FREE.get(method, 0.2 if KINDS.get(method) == "tutor" else kappa)
    over = 1.02 if (environment, method, seed) == ("tutor-15", "cpo", 2) else draw.uniform(0.97, 1.0)
    share = STRENGTHS[method] * BETTER.get((environment, method), 1.0) * (0.5 + 0.5 * level) * draw.uniform(0.998, 1.0)
    met = float(level * over <= kappa)
    taught = LAZY.get(method, 1.0) * (1.1 - share)
    return Outcome(
        ret=share * ret,
        satisfaction=met,
        satisfaction_strict=met,
        prerequisite_violation_rate=0.0 if met else 0.031,
        violation_rate=0.4,
        dK=5.2 * taught,
        rhsi=share * level * over,
        learning=4.1 * taught,
        mastered=12 * taught,
        costs={cost: level * over * value for cost, value in costs.items()},
        share=share,
        optimum_share=share / _best(kappa) if environment != "tutor-15" else None,
        cost_share=level * over,
    )


def _unseen(environment: str, method: str) -> Iterator[Row]:
    draw = np.random.default_rng(len(method))
    for kappa in Protocol(kappa=KAPPAS).unseen:
        trained = max((level for level in KAPPAS if level <= kappa), default=None)
        if method != "ccpo" and trained is None:
            continue
        for seed in range(SEEDS):
            row = _row(environment, method, trained if method != "ccpo" and trained else kappa, seed, draw)
            assert row.outcome is not None
            met = float(row.outcome.cost_share <= kappa)
            yield replace(row, kappa=kappa, outcome=replace(row.outcome, satisfaction=met, satisfaction_strict=met))
