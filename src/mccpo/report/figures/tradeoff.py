"""The figure of what return costs: fronts over budgets, beside the exact front and the paper's points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from mccpo.report.figures import drawing
from mccpo.report.figures.drawing import (
    OPTIMUM,
    PAPER,
    SMALLEST_SHOWN,
    Stroke,
    draw,
    exact_line,
    spans_decades,
    stroke,
    swatch,
)
from mccpo.report.figures.labels import Named, write_names
from mccpo.report.figures.panels import Group, Legend, Panel, legend_of
from mccpo.report.tables.finding import OUR_METHOD
from mccpo.report.vocabulary import cost_words, method_label, metric_label, metric_words, split_weight, weight_name
from mccpo.runs.results import FrontPoint, PaperPoint, Results, TradeOff

_SEVERITIES = ("rhsi_ratio", "rhsi_ratio_discounted", "rhsi")
_APART = 14.0  # least distance of two marks, in dots
_EVERY_SEED = 1.0 - 1e-9


@dataclass(frozen=True)
class _Point:
    x: float
    y: float
    mark: str  # what tells it from its neighbours: a κ or a λ
    met: bool  # whether the budgets hold in every seed; true where nothing is said of it


_Lines = dict[str, list[_Point]]


def front(results: Results, names: Iterator[str]) -> Group | None:
    """Return against severity (or against the one budgeted cost) as the budgets tighten."""
    tradeoff = results.tradeoff or TradeOff({})
    metric = _axis(results, tradeoff)
    one_budget = metric in [f"J_{cost}" for cost in results.settings[0].budgets]
    lines = _lines(tradeoff, metric)
    exact = _exact_points(tradeoff.optimum or (), metric, one_budget=one_budget)
    if not lines and not exact:
        return None
    methods = list(dict.fromkeys([*results.settings[0].rows, *lines]))
    paper = _paper(results, tradeoff, metric)
    named = _named_line(lines)
    # Against a cost the exact front is straight between its corners, which only plain axes show.
    x = [point.x for points in lines.values() for point in points] + [at for at, _ in exact]
    log = not one_budget and spans_decades(x)

    def plot(axes: Axes) -> None:
        if log:
            axes.set_xscale("symlog", linthresh=max(min(value for value in x if value > 0.0), SMALLEST_SHOWN))
        exact_line(axes, exact)
        for method, points in lines.items():
            _line(axes, points, stroke(method, methods))
        words, symbol = metric_words(metric, cost_words(results.environment))
        axes.set(xlabel=f"{words} ({symbol})" if symbol else words, ylabel="Engagement (return)")
        axes.margins(0.1)
        drawing.plain_ticks(axes, x=True, y=True)
        _paper_points(axes, paper, metric, [(point.x, point.y) for points in lines.values() for point in points])
        for method, points in lines.items():
            if method == named:
                # Nothing lies above and to the left of a front; where the exact one is drawn, that is where it passes.
                _marks(axes, points, stroke(method, methods).colour, above=not exact)
            elif split_weight(method)[1]:
                _marks(axes, points, drawing.INK, above=False)

    title = f"Return against {metric_label(metric)}"
    svg = draw(plot, name=next(names), describe=f"{title} for several budgets", size=(4.9, 3.3))
    caption = ", ".join(_said(lines, named, log=log))
    note = " ".join(["Up and to the left is better.", *_dominated(lines, paper, metric)])
    return Group("Trade-off", note, (Panel(title, caption, svg),), _legend(lines, methods, exact, paper, one_budget))


def _axis(results: Results, tradeoff: TradeOff) -> str:
    """What return is traded against: the budgeted cost when there is one, else how severe the hacking is."""
    points = [point.metrics for line in tradeoff.fronts.values() for point in line if "return" in point.metrics]
    costs = [f"J_{cost}" for cost in results.settings[0].budgets]
    if len(costs) == 1 and (tradeoff.optimum or all(costs[0] in point for point in points)):
        return costs[0]
    known = [metric for metric in (*_SEVERITIES, *costs) if all(metric in point for point in points)]
    return known[0] if known else "rhsi"


def _lines(tradeoff: TradeOff, metric: str) -> _Lines:
    """The points of each method from left to right; a sweep over λ, whose every λ is a method, is one line."""
    lines: _Lines = {}
    for method, points in tradeoff.fronts.items():
        base, weight = split_weight(method)
        for point in points:
            if metric in point.metrics and "return" in point.metrics:  # where nothing could be met there is neither
                level = point.floor if point.kappa is None else point.kappa
                mark = weight or ("" if level is None else f"{level:g}")
                met = point.metrics.get("satisfaction_strict", 1.0) >= _EVERY_SEED
                line = lines.setdefault(f"{base}@" + weight_name(base) if weight else method, [])
                line.append(_Point(point.metrics[metric], point.metrics["return"], mark, met))
    return {method: sorted(points, key=lambda point: point.x) for method, points in lines.items()}


def _exact_points(points: Sequence[FrontPoint], metric: str, *, one_budget: bool) -> list[tuple[float, float]]:
    """The corners of the exact front: by cost, or else in the order in which the budgets grow."""
    known = [point for point in points if "return" in point.metrics]
    if one_budget:  # an exact optimum that does not state its cost spends its budget
        at = [(point.metrics.get(metric, point.budget), point.metrics["return"]) for point in known]
        return sorted((x, y) for x, y in at if x is not None)
    known.sort(key=lambda point: point.budget or 0.0)
    return [(point.metrics[metric], point.metrics["return"]) for point in known if metric in point.metrics]


def _paper(results: Results, tradeoff: TradeOff, metric: str) -> list[PaperPoint]:
    """The paper's points: those the results name, else those of its table."""
    rows = results.settings[0].paper.values()
    points = tradeoff.paper or tuple(
        PaperPoint("", {name: cell.mean for name, cell in cells.items()}) for cells in rows
    )
    return [point for point in points if metric in point.metrics and "return" in point.metrics]


def _named_line(lines: _Lines) -> str:
    """The method whose points are labelled with κ: the one that κ moves most, ours in case of doubt.

    Only one is: the labels of lines that lie close would cover one another.
    """

    def places(method: str) -> int:
        return len({(point.x, point.y) for point in lines[method] if point.mark})

    budgeted = [method for method in lines if not split_weight(method)[1]]
    return max(budgeted, key=lambda method: (places(method), method == OUR_METHOD), default="")


def _line(axes: Axes, points: list[_Point], style: Stroke) -> None:
    x, y = [point.x for point in points], [point.y for point in points]
    axes.plot(x, y, color=style.colour, linestyle=style.linestyle, linewidth=style.width)
    for point in points:
        axes.plot(
            [point.x],
            [point.y],
            marker=style.marker,
            markersize=5.5,
            color=style.colour,
            markerfacecolor=style.colour if point.met else "white",
            zorder=3,
        )


def _marks(axes: Axes, points: list[_Point], colour: str, *, above: bool) -> None:
    """Writes what tells points apart beside them, passing over those that would cover the one before."""
    offset, align = ((-5, 4), "right") if above else ((6, -11), "left")
    axes.get_xlim(), axes.get_ylim()  # has the limits worked out, on which distances on the page depend
    last = None
    for point in points:
        here = axes.transData.transform((point.x, point.y))
        if last is None or np.hypot(*(here - last)) > _APART:
            at = (point.x, point.y)
            axes.annotate(point.mark, at, offset, textcoords="offset points", ha=align, fontsize=7.5, color=colour)
            last = here


def _paper_points(
    axes: Axes, points: list[PaperPoint], metric: str, others: Sequence[tuple[float, float]] = ()
) -> None:
    """The paper's points, with their names where these cover nothing."""
    for point in points:
        at = (point.metrics[metric], point.metrics["return"])
        axes.plot(*at, linestyle="", marker="d", markersize=6, color=PAPER.colour, markerfacecolor="white", zorder=5)
    write_names(axes, [Named(p.metrics[metric], p.metrics["return"], p.label, PAPER.colour) for p in points], others)


def _legend(
    lines: _Lines, methods: list[str], exact: list[tuple[float, float]], paper: list[PaperPoint], one_budget: bool
) -> Legend:
    entries = [(swatch(stroke(method, methods), marker=True), _label(method)) for method in lines]
    if any(not point.met for points in lines.values() for point in points):
        hollow = swatch(Stroke(drawing.INK), line=False, marker=True, hollow=True)
        entries.append((hollow, "hollow: some seed misses a budget (τ = 0)"))
    meaning = "exact front: nothing is possible above it" if one_budget else "exact optimum as all budgets scale"
    entries += legend_of([], [(OPTIMUM, meaning)] if exact else [])
    if paper:
        entries.append((swatch(PAPER, line=False, marker=True, hollow=True), "paper"))
    return tuple(entries)


def _label(method: str) -> str:
    base, swept = split_weight(method)
    return f"{method_label(base)}, several {swept}" if swept else method_label(method)


def _said(lines: _Lines, named: str, *, log: bool) -> list[str]:
    weights = dict.fromkeys(split_weight(method)[1] for method in lines)
    symbols = ["κ" if any(point.mark for point in lines.get(named, ())) else "", *weights]
    numbers = " and ".join(symbol for symbol in symbols if symbol)
    return [*([f"the numbers are {numbers}"] if numbers else []), *(["log scale"] if log else [])]


def _dominated(lines: _Lines, paper: list[PaperPoint], metric: str) -> list[str]:
    """How many of the points that the results name one of ours is at least as good as in both respects."""
    named = [point.metrics for point in paper if point.label]
    if not named or OUR_METHOD not in lines:
        return []
    ours = [point for point in lines[OUR_METHOD] if point.met]
    beaten = sum(any(point.y >= theirs["return"] and point.x <= theirs[metric] for point in ours) for theirs in named)
    return [
        f"{method_label(OUR_METHOD)}, with its budgets met, is at least as good in both respects as "
        f"{beaten or 'none'} of the paper's {len(named)} points."
    ]
