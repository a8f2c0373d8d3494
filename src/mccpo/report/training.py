"""Figures of what happened during training."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from mccpo.evaluation.curves import Curves
from mccpo.report import drawing, numbers
from mccpo.report.drawing import BUDGET, OPTIMUM, Stroke, draw, stroke
from mccpo.report.panels import Group, Panel, legend_of
from mccpo.report.results import Results
from mccpo.report.vocabulary import RATES, in_order, metric_label, split_variant

_MOST_POINTS = 250  # more would not show on a panel, and each costs bytes in every band
_DECADES_FOR_LOG = 2.0
_FIRST = ("return", "pi_hack", "violation_rate")


def progress(results: Results, curves: Curves, names: Iterator[str]) -> Group:
    """Return, hacking, violations and whatever else was measured, one panel each."""
    present = [metric for metric in curves.metrics() if not metric.startswith(("J_", "lambda_"))]
    first = [metric for metric in _FIRST if metric in present]
    rest = [metric for metric in in_order(present) if metric not in first]
    panels = [_curve_panel(results, curves, metric, names) for metric in [*first, *rest]]
    kept = tuple(panel for panel in panels if panel is not None)
    return Group(
        "During training",
        _thinning(curves),
        kept,
        legend_of(list(curves.values), _references(results, [*first, *rest])),
    )


def duals(results: Results, curves: Curves, names: Iterator[str]) -> Group:
    """Multipliers beside their exact values, and costs beside their budgets."""
    present = in_order(metric for metric in curves.metrics() if metric.startswith(("lambda_", "J_")))
    multipliers = [metric for metric in present if metric.startswith("lambda_")]
    costs = [metric for metric in present if metric.startswith("J_")]
    panels = [_curve_panel(results, curves, metric, names) for metric in [*multipliers, *costs]]
    kept = tuple(panel for panel in panels if panel is not None)
    note = "A multiplier rises while its cost is over budget and settles once the budget holds."
    return Group(
        "Multipliers and costs",
        note if multipliers else "",
        kept,
        legend_of(list(curves.values), _references(results, present)),
    )


def _curve_panel(results: Results, curves: Curves, metric: str, names: Iterator[str]) -> Panel | None:
    # A multiplier that never moves belongs to a method that has none: a line at zero would claim otherwise.
    lines = {
        method: np.asarray(metrics[metric], dtype=np.float64)
        for method, metrics in curves.values.items()
        if metric in metrics and not (metric.startswith("lambda_") and not np.any(metrics[metric]))
    }
    lines = {method: values for method, values in lines.items() if np.isfinite(values).all(axis=0).any()}
    if not lines:
        return None
    log = _wants_log(metric, lines)
    references = _reference_values(results, metric)
    label = metric_label(metric)

    def plot(axes: Axes) -> None:
        for method, values in lines.items():
            _band(axes, curves.episodes, values, stroke(method, list(curves.values)), log=log)
        for value, style in references:
            axes.axhline(value, color=style.colour, linestyle=style.linestyle, linewidth=style.width)
        axes.set(xlabel=f"Training {curves.unit}", ylabel=label)
        if log:
            axes.set_yscale("log")
        elif split_variant(metric)[0] in RATES:
            axes.set_ylim(-0.03, 1.03)
        axes.margins(x=0.01)
        drawing.plain_ticks(axes, x=True, y=True)

    seeds = max(len(values) for values in lines.values())
    what = "median and quartiles" if log else "mean ± std"
    caption = f"{what} over {seeds} seeds{', log scale' if log else ''}" if seeds > 1 else "one seed"
    caption += "".join(
        f"; {'budget' if style is BUDGET else 'exact optimum'} {numbers.short(value)}" for value, style in references
    )
    return Panel(label, caption, draw(plot, name=next(names), describe=f"{label} during training, {caption}"))


def _band(axes: Axes, episodes: NDArray[np.generic], values: NDArray[np.float64], style: Stroke, *, log: bool) -> None:
    at = _thinned(len(episodes))
    shown = np.where(np.isfinite(values).all(axis=0), values, np.nan)[:, at]
    if log:  # mean − std falls below zero there, so the band is that of the quartiles
        low, middle, high = np.quantile(shown, [0.25, 0.5, 0.75], axis=0)
    else:
        middle = shown.mean(axis=0)
        spread = shown.std(axis=0, ddof=1) if len(shown) > 1 else np.zeros_like(middle)
        low, high = middle - spread, middle + spread
    x = np.asarray(episodes, dtype=np.float64)[at]
    if len(shown) > 1:
        axes.fill_between(x, low, high, color=style.colour, alpha=0.16, linewidth=0)
    axes.plot(x, middle, color=style.colour, linestyle=style.linestyle, linewidth=style.width)


def _reference_values(results: Results, metric: str) -> list[tuple[float, Stroke]]:
    """The lines to measure a curve by: the budget of a cost, the exact optimum of the return and of a multiplier."""
    if len(results.settings) != 1:
        return []
    setting = results.settings[0]
    budget = setting.budget(metric)
    if budget is not None:
        return [(budget, BUDGET)]
    if metric in setting.optimum and metric.startswith(("return", "lambda_")):
        return [(setting.optimum[metric], OPTIMUM)]
    return []


def _references(results: Results, metrics: list[str]) -> list[tuple[Stroke, str]]:
    drawn = {style.dashes for metric in metrics for _, style in _reference_values(results, metric)}
    known = [(OPTIMUM, "exact optimum under the budgets"), (BUDGET, "budget")]
    return [(style, text) for style, text in known if style.dashes in drawn]


def _wants_log(metric: str, lines: dict[str, NDArray[np.float64]]) -> bool:
    if metric.startswith(("lambda_", "J_")) or split_variant(metric)[0] in RATES:
        return False
    values = np.concatenate([line[np.isfinite(line)] for line in lines.values()])
    return bool(values.min() > 0.0 and np.log10(values.max() / values.min()) > _DECADES_FOR_LOG)


def _thinned(points: int) -> NDArray[np.intp]:
    return np.unique(np.linspace(0, points - 1, min(points, _MOST_POINTS)).round().astype(np.intp))


def _thinning(curves: Curves) -> str:
    points = len(curves.episodes)
    return f"Shown at {_MOST_POINTS} of {points:,} points, evenly spaced." if points > _MOST_POINTS else ""
