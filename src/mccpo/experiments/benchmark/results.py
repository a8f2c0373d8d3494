"""What follows from rows: cells, hypervolumes, the return kept within the budgets, winners.

Results are written after every pair, when most of the rows are as they were: what bootstrapping gave is remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from itertools import groupby
from typing import NamedTuple

from mccpo.evaluation import Summary, hypervolume, summarise_metric
from mccpo.evaluation.policy import metrics_of
from mccpo.exact import Infeasible, Optimum
from mccpo.experiments.benchmark.overall import ByMethod, improvement, over_environments, profiles
from mccpo.experiments.benchmark.plane import beyond_rules
from mccpo.experiments.benchmark.protocol import Protocol
from mccpo.experiments.problem import Problem
from mccpo.methods import OURS
from mccpo.runs.benchmark import (
    Anchor,
    ByKappa,
    Cell,
    Findings,
    Leaders,
    Outcome,
    ProblemRecord,
    Row,
    Unseen,
    Winners,
)
from mccpo.runs.benchmark import Optimum as OptimumRecord

_TIED = 1e-9
_UNSEEN = ("return", "share", "satisfaction", "satisfaction_strict", "cost_share")


class Met(NamedTuple):
    """Whether a cell meets the budgets in every seed, and whether in any."""

    always: bool
    ever: bool


def findings_of(rows: Sequence[Row], anchors: Mapping[str, Anchor]) -> Findings:
    """Everything that follows from rows, and from what is had without budgets on each environment."""
    volumes, within = hypervolumes(rows), kept_shares(rows)
    cells = cells_of(rows)
    best = winners(volumes, cells)
    return Findings(
        cells=tuple(cells),
        aggregate={
            method: replace(aggregate, best_on=_best_on(method, best))
            for method, aggregate in over_environments(volumes, within).items()
        },
        profiles=profiles(volumes),
        improvement={OURS: improvement(volumes, OURS)} if volumes.get(OURS) else {},
        hypervolume=_by_environment(volumes),
        kept=_by_environment(within),
        winners=best,
        beyond_rules=_by_environment(beyond_rules(rows, anchors)),
    )


def cells_of(rows: Iterable[Row]) -> list[Cell]:
    """A cell for each environment, method and κ: its status, and every metric over the seeds that are done."""
    cells = []
    for (environment, method, kappa), group in groupby(rows, _cell_key):
        seeds = list(group)
        failed = [row for row in seeds if row.status != "done"]
        cells.append(
            Cell(
                environment=environment,
                method=method,
                kind=seeds[0].kind,
                kappa=kappa,
                status=failed[0].status if failed else "done",
                why=failed[0].why if failed else "",
                folder=seeds[0].folder,
                seconds=seeds[0].seconds,
                seeds_done=len(seeds) - len(failed),
                metrics=_summaries(seeds),
            )
        )
    return cells


def hypervolumes(rows: Iterable[Row]) -> ByMethod:
    """The hypervolume over κ of every seed, by method and environment.

    The plane begins at the smallest κ: to spend less than anybody asked for is no merit. It is closed under mixtures:
    neither is spending less than one's own κ. A seed that failed dominates nothing. A method that does not apply to an
    environment has no entry there.
    """
    rows = list(rows)
    smallest = min((row.kappa for row in rows), default=0.0)
    least = smallest if smallest < 1 else 0.0

    def volume(seed_rows: Sequence[Row]) -> float:
        points = [(row.outcome.cost_share, row.outcome.share) for row in seed_rows if row.outcome is not None]
        front = [(spent, share) for spent, share in points if share is not None]
        return hypervolume([spent for spent, _ in front], [share for _, share in front], least=least)

    return _by_seed(rows, volume)


def kept_shares(rows: Iterable[Row]) -> ByMethod:
    """The share of the unconstrained return that every seed keeps within the budgets, by method and environment.

    It is the mean over the κ asked for, each counting what the policy for that very κ returns. A policy that misses a
    budget (τ = 0), even slightly, or failed, scores 0 at that κ. No policies keep more than the optimum under each
    budget does. Hypervolume asks for something else: there a policy counts for what it spends, whichever κ it is for. A
    method that does not apply to an environment has no entry there.
    """
    rows = list(rows)
    asked = {row.kappa for row in rows}

    def kept(seed_rows: Sequence[Row]) -> float:
        total = 0.0
        for row in seed_rows:
            total += _kept(row.outcome) / len(asked)
        return total

    return _by_seed(rows, kept)


def winners(volumes: ByMethod, cells: Iterable[Cell]) -> dict[str, Winners]:
    """On each environment, who has the largest mean hypervolume: of all, and of those that always meet the budgets.

    A method that dominates nothing leads nowhere. Where every budget was met by some method, who is best of those that
    always meet the reachable budgets is the safe one.
    """
    met: dict[str, dict[float, dict[str, Met]]] = {}
    for cell in cells:
        met.setdefault(cell.environment, {}).setdefault(cell.kappa, {})[cell.method] = _met(cell)
    leading = {}
    for environment, methods in _by_environment(volumes).items():
        means = {method: measured.mean for method, measured in methods.items()}
        levels = met.get(environment, {})
        unmet = [kappa for kappa, level in levels.items() if not any(seeds.ever for seeds in level.values())]
        safe = _always_meeting(means, list(levels.values()))
        reachable = _always_meeting(means, [level for kappa, level in levels.items() if kappa not in unmet])
        leading[environment] = Winners(
            overall=_leaders(means),
            safe=_leaders(safe),
            safe_methods=tuple(sorted(safe)),
            unmet=tuple(sorted(unmet)),
            reachable=_leaders(reachable),
        )
    return leading


def unseen_of(rows: Iterable[Row], kappas: Sequence[float]) -> Unseen:
    """What methods do at κ that nobody trained for: by method and environment, a summary for each κ or none."""
    by_pair: dict[tuple[str, str], dict[float, list[Row]]] = {}
    for row in rows:
        if row.status == "done":
            by_pair.setdefault((row.method, row.environment), {}).setdefault(row.kappa, []).append(row)
    methods: dict[str, dict[str, ByKappa]] = {}
    for (method, environment), levels in by_pair.items():
        summaries = [_summaries(levels[kappa]) if kappa in levels else {} for kappa in kappas]
        methods.setdefault(method, {})[environment] = {
            metric: tuple(summary.get(metric) for summary in summaries) for metric in _UNSEEN
        }
    return Unseen(tuple(kappas), methods)


def problem_record(problem: Problem, protocol: Protocol) -> ProblemRecord:
    """What the results say of an environment."""
    optima = None
    if problem.model is not None:
        optima = {kappa: best for kappa in protocol.kappa if (best := _optimum(problem, kappa)) is not None}
    return ProblemRecord(
        anchor=Anchor(**asdict(problem.reference)),
        budgets={kappa: problem.limits(kappa) for kappa in protocol.kappa},
        optimum=optima,
        finite=problem.model is not None,
        costs=tuple(problem.test.cost_names),
        constrained=tuple(problem.test.constrained),
        actions=problem.test.num_actions,
        horizon=problem.test.horizon,
        gamma=problem.test.gamma,
        floors={floor.name: floor.amount(problem.reach) for floor in problem.floors},
        reach=problem.reach,
    )


def _optimum(problem: Problem, kappa: float) -> OptimumRecord | None:
    match problem.optimum(kappa):
        case Infeasible() as infeasible:
            return OptimumRecord(
                infeasible=infeasible.what(problem.limits(kappa), problem.constraints_at(kappa).floors)
            )
        case Optimum() as best:
            return OptimumRecord(
                metrics_of(best.values, problem.reference, problem.test, problem.constraints_at(kappa))
            )
        case _:
            return None


def _by_seed(rows: Iterable[Row], score: Callable[[Sequence[Row]], float]) -> ByMethod:
    """A score of every seed, from its rows at all κ, by method and environment; without what does not apply."""
    seeds: dict[tuple[str, str, int], list[Row]] = {}
    for row in rows:
        if row.status != "does not apply":
            seeds.setdefault((row.method, row.environment, row.seed), []).append(row)
    scores: dict[str, dict[str, dict[int, float]]] = {}
    for (method, environment, seed), seed_rows in seeds.items():
        scores.setdefault(method, {}).setdefault(environment, {})[seed] = score(seed_rows)
    return scores


def _kept(outcome: Outcome | None) -> float:
    """The return share of a policy that meets every budget; missing one is never worth more than meeting all."""
    met = outcome is not None and outcome.satisfaction_strict == 1
    return max(0.0, outcome.share or 0.0) if met and outcome is not None else 0.0


def _summaries(rows: Sequence[Row]) -> dict[str, Summary]:
    """Every metric over the seeds that are done."""
    seeds = [row.outcome.metrics for row in rows if row.outcome is not None]
    summaries = {}
    for metric in seeds[0] if seeds else ():
        values = [value for metrics in seeds if (value := metrics.get(metric)) is not None]
        if values:
            summaries[metric] = _summary(metric, tuple(values))
    return summaries


def _cell_key(row: Row) -> tuple[str, str, float]:
    return row.environment, row.method, row.kappa


def _met(cell: Cell) -> Met:
    strict = cell.metrics["satisfaction_strict"].mean if "satisfaction_strict" in cell.metrics else 0.0
    return Met(always=cell.status == "done" and strict == 1, ever=strict > 0)


def _always_meeting(means: Mapping[str, float], levels: Sequence[Mapping[str, Met]]) -> dict[str, float]:
    """The methods that always meet the budgets at all these κ; none where there is no κ, since nothing is shown."""
    return {
        method: mean
        for method, mean in means.items()
        if levels and all(method in level and level[method].always for level in levels)
    }


def _leaders(means: Mapping[str, float]) -> Leaders:
    most = max(means.values(), default=0.0)
    first = tuple(method for method, mean in means.items() if mean > 0 and mean >= most - _TIED)
    return Leaders(first, max(means.values(), default=None))


def _best_on(method: str, best: Mapping[str, Winners]) -> tuple[str, ...]:
    return tuple(environment for environment, leading in best.items() if method in leading.safe.methods)


@cache
def _summary(metric: str, seeds: tuple[float, ...]) -> Summary:
    return summarise_metric(metric, seeds)


def _by_environment(scores: ByMethod) -> dict[str, dict[str, Summary]]:
    summaries: dict[str, dict[str, Summary]] = {}
    for method, environments in scores.items():
        for environment, seeds in environments.items():
            summaries.setdefault(environment, {})[method] = _summary("", tuple(seeds.values()))
    return summaries
