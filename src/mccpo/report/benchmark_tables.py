"""The tables of a benchmark's report: they sort by their heads, and numbers of runs lead to the runs behind them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mccpo.report import benchmark_cells as entry
from mccpo.report import numbers
from mccpo.report.benchmark_data import Board, Cell, Pair, Place
from mccpo.report.benchmark_words import duration, status
from mccpo.report.drawing import INK, STROKES
from mccpo.report.finding import OUR_METHOD
from mccpo.report.markup import Html, el, join
from mccpo.report.vocabulary import method_label, metric_label


@dataclass(frozen=True)
class Head:
    """The head of a column: what it says, and whether its first sorting has the small ones first."""

    text: str
    below: str = ""
    ascending: bool = False
    sorted: bool = False


def overall(board: Board) -> Html:
    """Every method over all environments that it applies to, the largest interquartile mean first."""
    heads = [
        Head("Method", ascending=True),
        Head("IQM of hypervolume", "95 % interval", sorted=True),
        Head("MC-CPO better", "95 % interval", ascending=True),
        Head("Best on", "of so many environments"),
        Head("Met, τ = 0", "seeds at all κ"),
        Head("Unready steps", "mean", ascending=True),
        Head("A run on each", "and the search", ascending=True),
    ]
    ranked = sorted(board.methods, key=lambda method: -board.aggregate.get(method, {}).get("iqm", -1.0))
    top = max((one["ci"][1] for one in board.aggregate.values()), default=1.0) or 1.0
    kinds = {method: about["kind"] for method, about in board.methods.items()}
    rows = [_row(method, [entry.method_head(method, kinds[method]), *_totals(board, method, top)]) for method in ranked]
    return _table(heads, rows, "overall")


def environment(place: Place, kappas: Sequence[float]) -> Html:
    """Everyone on one environment, the largest hypervolume first, what came to nothing last."""
    heads = [
        Head("Method", ascending=True),
        Head("Hypervolume", sorted=True),
        Head("Met, τ = 0", "all κ"),
        *(Head(f"Return, κ = {kappa:g}", "met; of optimum" if place.finite else "met") for kappa in kappas),
        Head("Unready steps", ascending=True),
        Head("ΔK"),
        Head("Seconds", ascending=True),
    ]
    rows = [_row(pair.method, _pair(place, pair, kappas)) for pair in [*place.ranked, *_unranked(place)]]
    return _table(heads, rows, "place")


def constraints(place: Place) -> Html:
    """Every cost of everyone at every κ, beside its budget, by mean and by worst seed."""
    costs = list(place.constrained)
    heads = [
        Head("Method", ascending=True),
        Head("κ", ascending=True),
        Head("Return"),
        Head("Share of optimum" if place.finite else "Share of unconstrained"),
        *(Head(metric_label(f"J_{cost}"), "mean, worst seed", ascending=True) for cost in costs),
        Head("Met", "τ = 0"),
        Head("Met", "τ = 0.1"),
        Head("Unready steps", ascending=True),
        Head("ΔK"),
        Head("RHSI", ascending=True),
    ]
    done = [cell for pair in place.ranked for cell in pair.cells if cell.done]
    rows = [_row(cell.method, _cell(place, cell, costs)) for cell in done]
    return join(_levels(place), _table(heads, rows, "cells"))


def faults(board: Board) -> Html | None:
    """What crashed, diverged, ran out of time or does not apply, and why."""
    found = [(place, pair) for place in board.run for pair in place.pairs if pair.failed]
    if not found:
        return None
    heads = [
        Head("Method", ascending=True),
        Head("Environment", ascending=True),
        Head("What became of it", ascending=True),
    ]
    rows = []
    for place, pair in found:
        told = f"{status(pair)}: {pair.failed.why}" if pair.failed and pair.failed.why else status(pair)
        cells = [
            entry.method_head(pair.method, pair.kind),
            entry.text(place.name),
            el("td", entry.link(pair.first, told), data_sort=told),
        ]
        rows.append(_row(pair.method, cells))
    return _table(heads, rows, "faults")


def unseen(board: Board, methods: Sequence[str]) -> Html:
    """What becomes of budgets that nobody trained for: by environment and method, for every κ."""
    heads = [Head("Method", ascending=True), Head("Environment", ascending=True)]
    heads += [Head(f"κ = {kappa:g}", "met; return") for kappa in board.unseen["kappa"]]
    rows = []
    for place in board.run:
        for method in methods:
            if (told := board.unseen[method].get(place.name)) is None:
                continue
            pair = place.pair(method)
            cells = [entry.method_head(method, pair.kind if pair else "learner"), entry.text(place.name)]
            cells += [_asked(pair, *both) for both in zip(told["satisfaction_strict"], told["share"], strict=True)]
            rows.append(_row(method, cells))
    return _table(heads, rows, "unseen")


def _asked(pair: Pair | None, met: Mapping[str, Any] | None, share: Mapping[str, Any] | None) -> Html:
    if met is None:
        return entry.missing()
    seeds = numbers.of_seeds(tuple(met["per_seed"])) or numbers.share(met["mean"])
    cell = pair.first if pair else None
    below = el("small", entry.link(cell, numbers.share(share["mean"]))) if share else None
    told = f"{entry.mark(met['mean'] == 1)} {seeds}"
    return el("td", entry.link(cell, told), below, data_sort=entry.key(met["mean"]))


def _totals(board: Board, method: str, top: float) -> list[Html]:
    applies = [(place, pair) for place in board.run if (pair := place.pair(method)) and pair.applies]
    best = [place.name for place, pair in applies if pair in place.best]
    cells = [cell for _, pair in applies for cell in pair.cells]
    unready = [cell.values["prerequisite_violation_rate"].mean for cell in cells if cell.done]
    better = el("td", el("small", "itself"), data_sort="")
    if method != OUR_METHOD:
        better = entry.estimate(board.improvement.get(method), "p", _colour(method), middle=0.5)
    return [
        entry.estimate(board.aggregate.get(method), "iqm", _colour(method), top=top),
        better,
        el("td", f"{len(best)}/{len(applies)}", el("small", ", ".join(best)), data_sort=entry.key(len(best))),
        entry.met(cells),
        entry.number(sum(unready) / len(unready) if unready else None, numbers.share),
        _spent(board, method),
    ]


def _spent(board: Board, method: str) -> Html:
    """How long one run takes on every environment together, and the search."""
    spent = board.methods[method].get("seconds", {}).values()
    run, search = (_sum(one.get(kind) for one in spent) for kind in ("run", "search"))
    below = None if search is None else el("small", f"search {duration(search)}")
    return el("td", entry.NONE if run is None else duration(run), below, data_sort=entry.key(run))


def _pair(place: Place, pair: Pair, kappas: Sequence[float]) -> list[Html]:
    cells = [cell for cell in pair.cells if cell.done]
    volume = pair.hypervolume if cells else None
    best = el("small", "best that meets all", class_="better") if pair in place.best else None
    shown = (
        entry.NONE
        if volume is None
        else f"{volume.mean:.3f}" + ("" if volume.shown_std is None else f" ± {volume.std:.3f}")
    )
    return [
        entry.method_head(pair.method, pair.kind, status(pair)),
        el("td", entry.link(pair.first, shown), best, data_sort=entry.key(volume.mean if volume else None)),
        entry.met(pair.cells if cells else (), pair.first),
        *(_return(pair.at(kappa)) for kappa in kappas),
        _over(pair, cells, "prerequisite_violation_rate"),
        _over(pair, cells, "dK"),
        entry.number(pair.first.seconds, numbers.number, pair.first),
    ]


def _return(cell: Cell | None) -> Html:
    """The return, and below it how many seeds meet the budgets, and the share of the optimum where that is known."""
    if cell is None or not cell.done:
        return entry.missing()
    found, share = cell.values["return"], cell.values.get("optimum_share")
    below = f"{entry.mark(cell.met)} {cell.seeds_met}/{cell.seeds}"
    if share is not None:
        below += f"; {numbers.share(share.mean)}"
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
        entry.mean(cell, "optimum_share" if place.finite else "share", numbers.share),
        *(_cost(place, cell, cost) for cost in costs),
        *(entry.seeds(cell, metric) for metric in ("satisfaction_strict", "satisfaction")),
        entry.mean(cell, "prerequisite_violation_rate", numbers.share),
        *(entry.mean(cell, metric) for metric in ("dK", "rhsi")),
    ]


def _cost(place: Place, cell: Cell, cost: str) -> Html:
    """A cost by its mean and its worst seed, which is marked where it exceeds the budget."""
    found, budget = cell.values.get(f"J_{cost}"), place.budgets.get(cell.kappa, {}).get(cost)
    if found is None:
        return entry.missing()
    worst = cell.worst.get(f"J_{cost}", max(found.per_seed))
    over = budget is not None and worst > budget
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


def _row(method: str, cells: Sequence[Html]) -> Html:
    return el("tr", *cells, class_="our" if method == OUR_METHOD else None)


def _over(pair: Pair, cells: Sequence[Cell], metric: str) -> Html:
    """The mean of a metric over κ."""
    found = [cell.values[metric].mean for cell in cells if metric in cell.values]
    show = numbers.share if metric == "prerequisite_violation_rate" else numbers.number
    return entry.number(sum(found) / len(found) if found else None, show, pair.first)


def _colour(method: str) -> str:
    return STROKES[OUR_METHOD].colour if method == OUR_METHOD else INK


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _table(heads: Sequence[Head], rows: Sequence[Html], kind: str) -> Html:
    cells = [
        el(
            "th",
            head.text,
            el("small", head.below) if head.below else None,
            scope="col",
            data_first="ascending" if head.ascending else "descending",
            aria_sort="descending" if head.sorted else None,
        )
        for head in heads
    ]
    table = el(
        "table", el("thead", el("tr", *cells)), el("tbody", join(*rows, between="\n")), class_=f"sortable {kind}"
    )
    # A wide table scrolls in a box of its own, which can be reached by keyboard.
    return el("div", table, class_="scroll", tabindex="0", role="region", aria_label="Table")
