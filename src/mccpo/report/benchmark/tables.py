"""The tables of a benchmark's report on one environment, on failures, and on budgets that nobody trained for.

They sort by their heads, and numbers of runs lead to the runs behind them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mccpo.report import numbers
from mccpo.report.benchmark import cells as entry
from mccpo.report.benchmark.data import Board, Cell, Pair, Place
from mccpo.report.benchmark.ranking import level_count
from mccpo.report.benchmark.words import status
from mccpo.report.markup import Html, el, join
from mccpo.report.vocabulary import method_label, metric_label


def environment(place: Place, kappas: Sequence[float]) -> Html:
    """Everyone on one environment, the largest hypervolume first, what came to nothing last."""
    heads = [
        entry.Head("Method", ascending=True),
        entry.Head("Hypervolume", sorted=True),
        entry.Head("Kept", f"return share within budgets, mean {entry.unbroken('over κ')}"),
        entry.Head(f"Met, {entry.unbroken('τ = 0')}", "all κ"),
        *(entry.Head(f"Return, {entry.unbroken(f'κ = {kappa:g}')}", "met") for kappa in kappas),
        entry.Head("Unready steps", ascending=True),
        entry.Head("ΔK"),
        entry.Head("Seconds", ascending=True),
    ]
    rows = [entry.row(pair.method, _pair(place, pair, kappas)) for pair in [*place.ranked, *_unranked(place)]]
    return entry.table(heads, rows, "place")


def constraints(place: Place) -> Html:
    """Every cost of everyone at every κ, beside its budget, by mean and by worst seed."""
    costs = list(place.constrained)
    heads = [
        entry.Head("Method", ascending=True),
        entry.Head("κ", ascending=True),
        entry.Head("Return"),
        entry.Head("Share of optimum" if place.finite else "Share of unconstrained"),
        *(entry.Head(metric_label(f"J_{cost}"), "mean, worst seed", ascending=True) for cost in costs),
        entry.Head("Met", "τ = 0"),
        entry.Head("Met", "τ = 0.1"),
        entry.Head("Unready steps", ascending=True),
        entry.Head("ΔK"),
        entry.Head("RHSI", ascending=True),
    ]
    done = [cell for pair in place.ranked for cell in pair.cells if cell.done]
    rows = [entry.row(cell.method, _cell(place, cell, costs)) for cell in done]
    return join(_levels(place), entry.table(heads, rows, "cells"))


def exact(place: Place) -> Html:
    """Everyone on a finite environment beside the optimum and the budgets of each κ."""
    costs = list(place.constrained)
    heads = [entry.Head("Method", ascending=True)]
    for kappa, budgets in place.budgets.items():
        best = place.optimum.get(kappa, {})
        most = f"of {numbers.short(best['return'])}" if "return" in best else "cannot be met"
        heads.append(entry.Head(f"Share, κ = {kappa:g}", most))
        for cost in costs:
            limit = f"κ = {kappa:g}, at most {numbers.short(budgets[cost])}"
            heads.append(entry.Head(metric_label(f"J_{cost}"), limit, ascending=True))
    rows = []
    for pair in place.ranked:
        if not any(cell.done for cell in pair.cells):
            continue
        cells = [entry.method_head(pair.method, pair.kind)]
        for kappa in place.budgets:
            cell = pair.at(kappa)
            known = cell is not None and cell.done
            cells += [_share(cell), *(_cost(place, cell, cost) for cost in costs)] if cell and known else []
            cells += [] if known else [entry.missing()] * (1 + len(costs))
        rows.append(entry.row(pair.method, cells))
    return entry.table(heads, rows, "exact")


def faults(board: Board) -> Html | None:
    """What crashed, diverged, ran out of time or does not apply, and why."""
    found = [(place, pair) for place in board.run for pair in place.pairs if pair.failed]
    if not found:
        return None
    heads = [
        entry.Head("Method", ascending=True),
        entry.Head("Environment", ascending=True),
        entry.Head("What became of it", ascending=True),
    ]
    rows = []
    for place, pair in found:
        told = f"{status(pair)}: {pair.failed.why}" if pair.failed and pair.failed.why else status(pair)
        cells = [
            entry.method_head(pair.method, pair.kind),
            entry.text(place.name),
            el("td", entry.link(pair.first, told), data_sort=told),
        ]
        rows.append(entry.row(pair.method, cells))
    return entry.table(heads, rows, "faults")


def unseen(board: Board, methods: Sequence[str]) -> Html:
    """What becomes of budgets that nobody trained for: by environment and method, for every κ."""
    heads = [entry.Head("Method", ascending=True), entry.Head("Environment", ascending=True)]
    heads += [entry.Head(f"κ = {kappa:g}", "met; return") for kappa in board.unseen["kappa"]]
    rows = []
    for place in board.run:
        for method in methods:
            if (told := board.unseen[method].get(place.name)) is None:
                continue
            pair = place.pair(method)
            cells = [entry.method_head(method, pair.kind if pair else "learner"), entry.text(place.name)]
            cells += [_asked(pair, *both) for both in zip(told["satisfaction_strict"], told["share"], strict=True)]
            rows.append(entry.row(method, cells))
    return entry.table(heads, rows, "unseen")


def _asked(pair: Pair | None, met: Mapping[str, Any] | None, share: Mapping[str, Any] | None) -> Html:
    if met is None:
        return entry.missing()
    seeds = numbers.of_seeds(tuple(met["per_seed"])) or numbers.share(met["mean"])
    cell = pair.first if pair else None
    below = el("small", entry.link(cell, numbers.share(share["mean"]))) if share else None
    told = f"{entry.mark(met['mean'] == 1)} {seeds}"
    return el("td", entry.link(cell, told), below, data_sort=entry.key(met["mean"]))


def _pair(place: Place, pair: Pair, kappas: Sequence[float]) -> list[Html]:
    cells = [cell for cell in pair.cells if cell.done]
    told = "best that meets the rest" if place.unmet else "best that meets all"
    best = [el("small", part, class_="better") for part in (told, level_count(place.keeping)) if part]
    return [
        entry.method_head(pair.method, pair.kind, status(pair)),
        entry.score(pair, "hypervolume", *(best if pair in place.reachable else ())),
        entry.score(pair, "kept"),
        entry.met(pair.cells if cells else (), pair.first),
        *(_return(pair.at(kappa)) for kappa in kappas),
        _over(pair, cells, "prerequisite_violation_rate"),
        _over(pair, cells, "dK"),
        entry.number(pair.first.seconds, numbers.number, pair.first),
    ]


def _return(cell: Cell | None) -> Html:
    """The return, and below it how many seeds meet the budgets."""
    if cell is None or not cell.done:
        return entry.missing()
    found = cell.values["return"]
    below = f"{entry.mark(cell.met)} {cell.seeds_met}/{cell.seeds}"
    return el(
        "td",
        entry.link(cell, numbers.number(found.mean)),
        el("small", entry.link(cell, below)),
        data_sort=entry.key(found.mean),
    )


def _cell(place: Place, cell: Cell, costs: Iterable[str]) -> list[Html]:
    return [
        el("th", method_label(cell.method), scope="row", data_sort=method_label(cell.method)),
        el("td", f"{cell.kappa:g}", data_sort=entry.key(cell.kappa)),
        entry.metric(cell, "return"),
        _share(cell) if place.finite else entry.mean(cell, "share", numbers.share),
        *(_cost(place, cell, cost) for cost in costs),
        *(entry.seeds(cell, metric) for metric in ("satisfaction_strict", "satisfaction")),
        entry.mean(cell, "prerequisite_violation_rate", numbers.share),
        *(entry.mean(cell, metric) for metric in ("dK", "rhsi")),
    ]


def _share(cell: Cell) -> Html:
    """The share of the optimum where every seed meets the budgets: beyond them there is more to be had."""
    if "optimum_share" not in cell.values:
        return entry.missing()
    if cell.met:
        return entry.mean(cell, "optimum_share", numbers.share)
    told = el("small", entry.link(cell, f"met {cell.seeds_met}/{cell.seeds}"), class_="differs")
    return el("td", entry.NONE, told, data_sort="")


def _cost(place: Place, cell: Cell, cost: str) -> Html:
    """A cost by its mean and its worst seed, which is marked where it exceeds the budget."""
    found, budget = cell.values.get(f"J_{cost}"), place.budgets.get(cell.kappa, {}).get(cost)
    if found is None:
        return entry.missing()
    worst = cell.worst.get(f"J_{cost}", max(found.per_seed))
    over = budget is not None and worst > budget and not cell.met  # what is over by rounding is met
    told = entry.link(cell, f"{'✗ ' if over else ''}{numbers.number(worst)}")
    small = el("small", told, class_="differs" if over else None)
    return el("td", entry.link(cell, numbers.number(found.mean)), small, data_sort=entry.key(found.mean))


def _levels(place: Place) -> Html:
    """The budgets at each κ, and what the linear program gives within them where there is one."""
    told = []
    for kappa, budgets in place.budgets.items():
        limits = ", ".join(f"{metric_label(f'J_{cost}')} ≤ {numbers.short(limit)}" for cost, limit in budgets.items())
        best = place.optimum.get(kappa, {})
        spent = ", ".join(f"J({cost}) {numbers.short(best[f'J_{cost}'])}" for cost in budgets if f"J_{cost}" in best)
        exact = f"; exact optimum {numbers.short(best['return'])} at {spent}" if "return" in best else ""
        told.append(el("li", f"κ = {kappa:g}: {limits}{exact}{best.get('infeasible', '')}"))
    return el("ul", *told, class_="notes")


def _unranked(place: Place) -> list[Pair]:
    return [pair for pair in place.pairs if pair.hypervolume is None]


def _over(pair: Pair, cells: Sequence[Cell], metric: str) -> Html:
    """The mean of a metric over κ."""
    found = [cell.values[metric].mean for cell in cells if metric in cell.values]
    show = numbers.share if metric == "prerequisite_violation_rate" else numbers.number
    return entry.number(sum(found) / len(found) if found else None, show, pair.first)
