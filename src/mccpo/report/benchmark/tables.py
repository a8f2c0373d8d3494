"""The tables of a benchmark's report on one environment, on failures, and on budgets that nobody trained for.

They sort by their heads, and numbers of runs lead to the runs behind them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mccpo.evaluation import Summary
from mccpo.report import numbers
from mccpo.report.benchmark import cells as entry
from mccpo.report.benchmark.ranking import not_told_apart_count
from mccpo.report.benchmark.views import CellView, EnvironmentView, Pair
from mccpo.report.benchmark.whole_view import BenchmarkView
from mccpo.report.benchmark.words import status
from mccpo.report.markup import Html, el, join
from mccpo.report.vocabulary import method_label, metric_label
from mccpo.runs.benchmark import Optimum


def methods(environment: EnvironmentView, kappas: Sequence[float]) -> Html:
    """Every method on one environment, the largest hypervolume first, what came to nothing last."""
    heads = [
        entry.Head("Method", ascending=True),
        entry.Head("Hypervolume", sorted=True),
        entry.Head("Kept", f"return share within budgets, mean {entry.unbroken('over κ')}"),
        entry.Head(f"Met, {entry.unbroken('τ = 0')}", "all κ"),
        *(entry.Head(f"Return, {entry.unbroken(f'κ = {kappa:g}')}", "met") for kappa in kappas),
        entry.Head("Unready lessons", "by the gate, in truth", ascending=True),
        entry.Head("Mastery gained", "ΔK"),
        entry.Head("Mastered", "concepts"),
        entry.Head("Beyond rules", "return share at the same mastery gained"),
        entry.Head("Seconds", ascending=True),
    ]
    rows = [
        entry.row(pair.method, _pair(environment, pair, kappas))
        for pair in [*environment.ranked, *_unranked(environment)]
    ]
    return entry.table(heads, rows, "place")


def constraints(environment: EnvironmentView) -> Html:
    """Every cost of every method at every κ, beside its budget, by mean and by worst seed."""
    costs = list(environment.constrained)
    heads = [
        entry.Head("Method", ascending=True),
        entry.Head("κ", ascending=True),
        entry.Head("Return"),
        entry.Head("Share of optimum" if environment.finite else "Share of unconstrained"),
        *(entry.Head(f"Cost {cost}", f"J({cost}): mean, worst seed", ascending=True) for cost in costs),
        entry.Head("Met", "τ = 0"),
        entry.Head("Met", "τ = 0.1"),
        entry.Head("Unready lessons", "by the gate, in truth", ascending=True),
        entry.Head("Mastery gained", "ΔK"),
        entry.Head("Mastered", "concepts"),
        entry.Head("Reward hacking", "RHSI", ascending=True),
    ]
    done = [cell for pair in environment.ranked for cell in pair.cells if cell.seeds_done]
    rows = [entry.row(cell.method, _cell(environment, cell, costs)) for cell in done]
    return join(_levels(environment), entry.table(heads, rows, "cells"))


def exact(environment: EnvironmentView) -> Html:
    """Every method on a finite environment beside the optimum and the budgets of each κ."""
    costs = list(environment.constrained)
    heads = [entry.Head("Method", ascending=True)]
    for kappa, budgets in environment.budgets.items():
        best = environment.optimum.get(kappa, Optimum()).ret
        most = f"of {numbers.short(best)}" if best is not None else "cannot be met"
        heads.append(entry.Head(f"Share, κ = {kappa:g}", most))
        for cost in costs:
            limit = f"κ = {kappa:g}, at most {numbers.short(budgets[cost])}"
            heads.append(entry.Head(metric_label(f"J_{cost}"), limit, ascending=True))
    rows = []
    for pair in environment.ranked:
        if not any(cell.seeds_done for cell in pair.cells):
            continue
        cells = [entry.method_head(pair.method, pair.kind)]
        for kappa in environment.budgets:
            cell = pair.at(kappa)
            known = cell is not None and cell.seeds_done
            cells += [_share(cell), *(_cost(environment, cell, cost) for cost in costs)] if cell and known else []
            cells += [] if known else [entry.missing()] * (1 + len(costs))
        rows.append(entry.row(pair.method, cells))
    return entry.table(heads, rows, "exact")


def faults(view: BenchmarkView) -> Html | None:
    """What crashed, diverged, ran out of time or does not apply, and why."""
    failed = [(environment, pair) for environment in view.run for pair in environment.pairs if pair.failed]
    if not failed:
        return None
    heads = [
        entry.Head("Method", ascending=True),
        entry.Head("Environment", ascending=True),
        entry.Head("What became of it", ascending=True),
    ]
    rows = []
    for environment, pair in failed:
        outcome = f"{status(pair)}: {pair.failed.why}" if pair.failed and pair.failed.why else status(pair)
        cells = [
            entry.method_head(pair.method, pair.kind),
            entry.text(environment.name),
            el("td", entry.link(pair.first, outcome), data_sort=outcome),
        ]
        rows.append(entry.row(pair.method, cells))
    return entry.table(heads, rows, "faults")


def unseen(view: BenchmarkView, methods: Sequence[str]) -> Html:
    """What becomes of budgets that nobody trained for: by environment and method, for every κ."""
    heads = [entry.Head("Method", ascending=True), entry.Head("Environment", ascending=True)]
    heads += [entry.Head(f"κ = {kappa:g}", "met; return") for kappa in view.unseen.kappa]
    rows = []
    for environment in view.run:
        for method in methods:
            if (metrics := view.unseen.methods[method].get(environment.name)) is None:
                continue
            pair = environment.pair(method)
            cells = [entry.method_head(method, pair.kind if pair else "learner"), entry.text(environment.name)]
            cells += [
                _asked(pair, *both) for both in zip(metrics["satisfaction_strict"], metrics["share"], strict=True)
            ]
            rows.append(entry.row(method, cells))
    return entry.table(heads, rows, "unseen")


def _asked(pair: Pair | None, met: Summary | None, share: Summary | None) -> Html:
    if met is None:
        return entry.missing()
    seeds = numbers.of_seeds(met.per_seed) or numbers.share(met.mean)
    cell = pair.first if pair else None
    below = el("small", entry.link(cell, numbers.share(share.mean))) if share else None
    shown = f"{entry.mark(met.mean == 1)} {seeds}"
    return el("td", entry.link(cell, shown), below, data_sort=entry.key(met.mean))


def _pair(environment: EnvironmentView, pair: Pair, kappas: Sequence[float]) -> list[Html]:
    cells = [cell for cell in pair.cells if cell.seeds_done]
    note = "best that meets the rest" if environment.unmet else "best that meets all"
    best = [el("small", part, class_="better") for part in (note, not_told_apart_count(environment.keeping)) if part]
    return [
        entry.method_head(pair.method, pair.kind, status(pair)),
        entry.score(pair, "hypervolume", *(best if pair in environment.reachable else ())),
        entry.score(pair, "kept"),
        entry.met(pair.cells if cells else (), pair.first),
        *(_return(pair.at(kappa)) for kappa in kappas),
        _unready(cells, pair.first),
        _over(pair, cells, "dK"),
        _over(pair, cells, "mastered"),
        entry.number(pair.beyond_rules.mean if pair.beyond_rules else None, _signed, pair.first),
        entry.number(pair.first.seconds, numbers.number, pair.first),
    ]


def _signed(share: float) -> str:
    return f"{100 * share:+.1f} %"


def _return(cell: CellView | None) -> Html:
    """The return, and below it how many seeds meet the budgets."""
    if cell is None or not cell.seeds_done:
        return entry.missing()
    measured = cell.metrics["return"]
    below = f"{entry.mark(cell.met)} {cell.seeds_met}/{cell.seeds}"
    return el(
        "td",
        entry.link(cell, numbers.number(measured.mean)),
        el("small", entry.link(cell, below)),
        data_sort=entry.key(measured.mean),
    )


def _cell(environment: EnvironmentView, cell: CellView, costs: Iterable[str]) -> list[Html]:
    return [
        el("th", method_label(cell.method), scope="row", data_sort=method_label(cell.method)),
        el("td", f"{cell.kappa:g}", data_sort=entry.key(cell.kappa)),
        entry.spread(cell, "return"),
        _share(cell) if environment.finite else entry.mean(cell, "share", numbers.share),
        *(_cost(environment, cell, cost) for cost in costs),
        *(entry.seeds(cell, metric) for metric in ("satisfaction_strict", "satisfaction")),
        _unready([cell], cell),
        *(entry.mean(cell, metric) for metric in ("dK", "mastered", "rhsi")),
    ]


def _share(cell: CellView) -> Html:
    """The share of the optimum where every seed meets the budgets: beyond them there is more to be had."""
    if "optimum_share" not in cell.metrics:
        return entry.missing()
    if cell.met:
        return entry.mean(cell, "optimum_share", numbers.share)
    note = el("small", entry.link(cell, f"met {cell.seeds_met}/{cell.seeds}"), class_="differs")
    return el("td", entry.NONE, note, data_sort="")


def _cost(environment: EnvironmentView, cell: CellView, cost: str) -> Html:
    """A cost by its mean and its worst seed, which is marked where it exceeds the budget."""
    measured, budget = cell.metrics.get(f"J_{cost}"), environment.budgets.get(cell.kappa, {}).get(cost)
    if measured is None:
        return entry.missing()
    worst = cell.worst.get(f"J_{cost}", max(measured.per_seed))
    over = budget is not None and worst > budget and not cell.met  # what is over by rounding is met
    shown = entry.link(cell, f"{'✗ ' if over else ''}{numbers.number(worst)}")
    small = el("small", shown, class_="differs" if over else None)
    return el("td", entry.link(cell, numbers.number(measured.mean)), small, data_sort=entry.key(measured.mean))


def _levels(environment: EnvironmentView) -> Html:
    """The budgets at each κ, and what the linear program gives within them where there is one."""
    items = []
    for kappa, budgets in environment.budgets.items():
        limits = ", ".join(f"{metric_label(f'J_{cost}')} ≤ {numbers.short(limit)}" for cost, limit in budgets.items())
        best = environment.optimum.get(kappa, Optimum())
        costs = {cost: value for cost in budgets if (value := best.cost(cost)) is not None}
        spent = ", ".join(f"J({cost}) {numbers.short(value)}" for cost, value in costs.items())
        exact = f"; exact optimum {numbers.short(best.ret)} at {spent}" if best.ret is not None else ""
        items.append(el("li", f"κ = {kappa:g}: {limits}{exact}{best.infeasible and f'; {best.infeasible}'}"))
    return el("ul", *items, class_="notes")


def _unranked(environment: EnvironmentView) -> list[Pair]:
    return [pair for pair in environment.pairs if pair.hypervolume is None]


def _unready(cells: Sequence[CellView], of: CellView) -> Html:
    """The share of steps that teach what is not ready, by the gate's account and, below it, in truth; mean over κ."""
    gate, truth = (_mean(cells, name) for name in ("prerequisite_violation_rate", "true_violation_rate"))
    if gate is None:
        return entry.missing()
    below = None if truth is None else el("small", entry.link(of, f"{numbers.share(truth)} in truth"))
    return el("td", entry.link(of, numbers.share(gate)), below, data_sort=entry.key(gate if truth is None else truth))


def _over(pair: Pair, cells: Sequence[CellView], metric: str) -> Html:
    """The mean of a metric over κ."""
    return entry.number(_mean(cells, metric), numbers.number, pair.first)


def _mean(cells: Sequence[CellView], metric: str) -> float | None:
    means = [cell.metrics[metric].mean for cell in cells if metric in cell.metrics]
    return sum(means) / len(means) if means else None
