"""Figures of what happened during training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from mccpo.evaluation import Curves
from mccpo.report import numbers
from mccpo.report.figures import drawing
from mccpo.report.figures.drawing import BUDGET, OPTIMUM, Stroke, draw, stroke
from mccpo.report.figures.panels import Group, Panel, legend_of
from mccpo.report.vocabulary import RATES, in_order, method_label, metric_label, split_variant, split_weight
from mccpo.runs.results import Setting

_MOST_POINTS = 250  # more would not show on a panel, and each costs bytes in every band
_DECADES_FOR_LOG = 2.0
_FIRST = ("return", "rhsi", "rhsi_ratio", "rhsi_ratio_discounted", "pi_hack", "violation_rate")
_ABLATED = ("mc-cpo", "mc-cpo-no-frontier")
_ABLATION = ("return", "frontier_events")
_MOST_METHODS = 8  # that a panel can hold
_COUNTS = ("frontier_events", "dK")


def figures(setting: Setting, curves: Curves, names: Iterator[str]) -> list[Group]:
    """All that training tells: how far each method came, the part the frontier has in it, multipliers and costs."""
    curves, left_out = _without_sweeps(curves)
    distinct, twins = _distinct(curves)
    shown = replace(curves, values=distinct)
    ablated = {method: distinct[method] for method in _ABLATED if method in distinct}
    present = [metric for metric in curves.metrics() if not metric.startswith(("J_", "lambda_"))]
    first = [metric for metric in _FIRST if metric in present]
    progress = [*first, *(metric for metric in in_order(present) if metric not in first)]
    ablates = len(ablated) == len(_ABLATED)
    if ablates:  # it has a panel of its own there
        progress = [metric for metric in progress if metric != "frontier_events"]
    duals = in_order(metric for metric in curves.metrics() if metric.startswith(("lambda_", "J_")))
    duals.sort(key=lambda metric: not metric.startswith("lambda_"))
    groups = [
        _group("During training", " ".join([*_thinning(curves), *twins, *left_out]), setting, shown, progress, names)
    ]
    if ablates:
        groups.append(_ablation(setting, replace(curves, values=ablated), names))
    note = "A multiplier rises while its cost is over budget and settles once the budget holds."
    moves = any(metric.startswith("lambda_") for metric in duals)
    groups.append(_group("Multipliers and costs", note if moves else "", setting, shown, duals, names))
    return groups


def _ablation(setting: Setting, curves: Curves, names: Iterator[str]) -> Group:
    """MC-CPO beside itself without the frontier, and seed by seed what the frontier adds."""
    note = "Whether it pays to try concepts that have just become ready: MC-CPO with frontier mixing and without."
    group = _group("The frontier's part", note, setting, curves, list(_ABLATION), names)
    with_it, without = (curves.values[method].get("return") for method in _ABLATED)
    if with_it is None or without is None or np.shape(with_it) != np.shape(without):
        return group
    gained = np.asarray(with_it, dtype=np.float64) - np.asarray(without, dtype=np.float64)

    def plot(axes: Axes) -> None:
        axes.axhline(0.0, color=drawing.MUTED, linewidth=0.9)
        _band(axes, curves.trained, gained, stroke(_ABLATED[0], list(_ABLATED)), log=False)
        axes.set(xlabel=f"Training {curves.unit}", ylabel="Return, with − without")
        axes.margins(x=0.01)
        drawing.plain_ticks(axes, x=True, y=True)

    caption = f"seed by seed, mean ± std over {len(gained)} seeds" if len(gained) > 1 else "one seed"
    title = "Return that the frontier adds"
    panel = Panel(title, caption, draw(plot, name=next(names), describe=f"{title} during training, {caption}"))
    return replace(group, panels=(*group.panels, panel))


def _group(
    heading: str, note: str, setting: Setting, curves: Curves, metrics: list[str], names: Iterator[str]
) -> Group:
    panels = [_curve_panel(setting, curves, metric, names) for metric in metrics]
    drawn = tuple(panel for panel in panels if panel is not None)
    return Group(heading, note, drawn, legend_of(list(curves.values), _references(setting, metrics)))


def _without_sweeps(curves: Curves) -> tuple[Curves, list[str]]:
    """The curves without the methods of a sweep over weights, where all of them would be too many to tell apart."""
    single = {method: values for method, values in curves.values.items() if not split_weight(method)[1]}
    if len(curves.values) <= _MOST_METHODS or not single:
        return curves, []
    return replace(curves, values=single), [f"The {len(curves.values) - len(single)} methods of sweeps are left out."]


def _distinct(curves: Curves) -> tuple[dict[str, Mapping[str, NDArray[np.floating]]], list[str]]:
    """The methods whose curves are not the very same as another's, and a sentence for each that was left out."""
    distinct: dict[str, Mapping[str, NDArray[np.floating]]] = {}
    twins: dict[str, list[str]] = {}
    for method, values in curves.values.items():
        twin = next((other for other, theirs in distinct.items() if _same(values, theirs)), None)
        if twin is None:
            distinct[method] = values
        else:
            twins.setdefault(twin, []).append(method_label(method))
    return distinct, [
        f"{' and '.join(others)} trained exactly as {method_label(method)} did: their lines are one."
        for method, others in twins.items()
    ]


def _same(one: Mapping[str, NDArray[np.floating]], other: Mapping[str, NDArray[np.floating]]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name], equal_nan=True) for name in one)


def _curve_panel(setting: Setting, curves: Curves, metric: str, names: Iterator[str]) -> Panel | None:
    lines = {
        method: np.asarray(metrics[metric], dtype=np.float64)
        for method, metrics in curves.values.items()
        if metric in metrics and (not metric.startswith("lambda_") or _has_multipliers(setting, method, metrics))
    }
    lines = {method: values for method, values in lines.items() if np.isfinite(values).all(axis=0).any()}
    if not lines:
        return None
    log = _wants_log(metric, lines)
    references = _reference_values(setting, metric)
    label = metric_label(metric)

    def plot(axes: Axes) -> None:
        for method, values in lines.items():
            _band(axes, curves.trained, values, stroke(method, list(curves.values)), log=log)
        for value, style in references:
            axes.axhline(value, color=style.colour, linestyle=style.linestyle, linewidth=style.width)
        axes.set(xlabel=f"Training {curves.unit}", ylabel=label)
        if log:
            axes.set_yscale("log")
        elif split_variant(metric)[0] in (*RATES, *_COUNTS) or metric.startswith("lambda_"):
            top = max(float(line[np.isfinite(line)].max()) for line in lines.values())
            drawing.from_zero(axes, top, most=1.0 if split_variant(metric)[0] in RATES else np.inf)
        axes.margins(x=0.01)
        drawing.plain_ticks(axes, x=True, y=True)

    seeds = max(len(values) for values in lines.values())
    what = "median and quartiles" if log else "mean ± std"
    caption = f"{what} over {seeds} seeds{', log scale' if log else ''}" if seeds > 1 else "one seed"
    caption += "".join(
        f"; {'budget' if style is BUDGET else 'exact optimum'} {numbers.short(value)}" for value, style in references
    )
    return Panel(label, caption, draw(plot, name=next(names), describe=f"{label} during training, {caption}"))


def _has_multipliers(setting: Setting, method: str, metrics: Mapping[str, NDArray[np.floating]]) -> bool:
    """Whether a method has multipliers: a line at zero would claim it of one that has none."""
    moved = any(np.any(values) for metric, values in metrics.items() if metric.startswith("lambda_"))
    return moved or any(metric.startswith("lambda_") for metric in setting.rows.get(method, {}))


def _band(axes: Axes, trained: NDArray[np.generic], values: NDArray[np.float64], style: Stroke, *, log: bool) -> None:
    at = _thinned(len(trained))
    shown = np.where(np.isfinite(values).all(axis=0), values, np.nan)[:, at]
    if log:  # mean − std falls below zero there, so the band is that of the quartiles
        low, middle, high = np.quantile(shown, [0.25, 0.5, 0.75], axis=0)
    else:
        middle = shown.mean(axis=0)
        spread = shown.std(axis=0, ddof=1) if len(shown) > 1 else np.zeros_like(middle)
        low, high = middle - spread, middle + spread
    x = np.asarray(trained, dtype=np.float64)[at]
    if len(shown) > 1:
        axes.fill_between(x, low, high, color=style.colour, alpha=0.16, linewidth=0)
    axes.plot(x, middle, color=style.colour, linestyle=style.linestyle, linewidth=style.width)


def _reference_values(setting: Setting, metric: str) -> list[tuple[float, Stroke]]:
    """The lines to measure a curve by: the budget of a cost, the exact optimum of the return and of a multiplier."""
    budget = setting.budget(metric)
    if budget is not None:
        return [(budget, BUDGET)]
    if metric in setting.optimum and metric.startswith(("return", "lambda_")):
        return [(setting.optimum[metric], OPTIMUM)]
    return []


def _references(setting: Setting, metrics: list[str]) -> list[tuple[Stroke, str]]:
    drawn = {style.dashes for metric in metrics for _, style in _reference_values(setting, metric)}
    known = [(OPTIMUM, "exact optimum under the budgets"), (BUDGET, "budget")]
    return [(style, text) for style, text in known if style.dashes in drawn]


def _wants_log(metric: str, lines: dict[str, NDArray[np.float64]]) -> bool:
    if metric.startswith(("lambda_", "J_")) or split_variant(metric)[0] in RATES:
        return False
    values = np.concatenate([line[np.isfinite(line)] for line in lines.values()])
    return bool(values.min() > 0.0 and np.log10(values.max() / values.min()) > _DECADES_FOR_LOG)


def _thinned(points: int) -> NDArray[np.intp]:
    return np.unique(np.linspace(0, points - 1, min(points, _MOST_POINTS)).round().astype(np.intp))


def _thinning(curves: Curves) -> list[str]:
    points = len(curves.trained)
    return [f"Shown at {_MOST_POINTS} of {points:,} points, evenly spaced."] if points > _MOST_POINTS else []
