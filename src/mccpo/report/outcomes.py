"""Figures of what the methods reached: final returns, sweeps over settings, fronts over budgets."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes

from mccpo.report import drawing, numbers
from mccpo.report.drawing import OPTIMUM, PAPER, Stroke, draw, stroke, swatch
from mccpo.report.finding import OUR_METHOD
from mccpo.report.panels import Group, Legend, Panel, legend_of
from mccpo.report.results import Measured, Results, Setting
from mccpo.report.vocabulary import method_label, metric_label

_SWEPT = ("return", "pi_hack", "rhsi")
_SMALLEST_SHOWN = 1e-4
_DECADES_FOR_LOG = 2.0
_SEVERITIES = ("rhsi_ratio", "rhsi_ratio_discounted", "rhsi")


def final(results: Results, names: Iterator[str]) -> Group | None:
    """The return of every seed, its mean and interval, beside the paper's and the exact optimum."""
    if len(results.settings) != 1:
        return None
    setting = results.settings[0]
    methods = [method for method in setting.rows if "return" in setting.rows[method]]
    if not methods:
        return None

    def plot(axes: Axes) -> None:
        for place, method in enumerate(methods):
            _final_row(axes, place, setting, method, stroke(method, list(setting.rows)))
        if "return" in setting.optimum:
            axes.axvline(setting.optimum["return"], color=OPTIMUM.colour, linestyle=OPTIMUM.linestyle, linewidth=1.1)
        axes.set(xlabel="Return", ylim=(len(methods) - 0.45, -0.55))
        axes.set_yticks(range(len(methods)), [method_label(method) for method in methods])
        axes.tick_params(axis="y", length=0, labelcolor=drawing.INK)
        axes.grid(visible=False, axis="y")
        axes.margins(x=0.06)
        drawing.plain_ticks(axes, x=True)

    size = (4.9, 0.6 + 0.46 * len(methods))
    svg = draw(plot, name=next(names), describe="Final return of each method and seed", size=size)
    return Group("Final return", "", (Panel("Return of the reported policy", "", svg),), _final_legend(setting))


def _final_legend(setting: Setting) -> Legend:
    returns = [row["return"] for row in setting.rows.values() if "return" in row]
    entries = [(swatch(Stroke(drawing.MUTED), line=False, marker=True, hollow=True), "one seed")]
    if any(len(measured.per_seed) > 1 for measured in returns):
        entries.append((swatch(Stroke(drawing.MUTED, width=2.4), marker=True), "mean with 95 % interval"))
    if any("return" in cells for cells in setting.paper.values()):
        entries.append((swatch(PAPER, marker=True, hollow=True), "paper, mean ± std"))
    if "return" in setting.optimum:
        best = numbers.short(setting.optimum["return"])
        entries.append((swatch(OPTIMUM), f"exact optimum under the budgets, {best}"))
    return tuple(entries)


def _final_row(axes: Axes, place: int, setting: Setting, method: str, style: Stroke) -> None:
    measured = setting.rows[method]["return"]
    seeds = len(measured.per_seed)
    # Spread over the height in the order of the seeds, so that equal values do not hide one another.
    heights = place + (np.linspace(-0.2, 0.2, seeds) if seeds > 1 else np.zeros(1))
    axes.plot(
        measured.per_seed,
        heights,
        linestyle="",
        marker="o",
        markersize=3.6,
        markerfacecolor="none",
        markeredgecolor=style.colour,
        markeredgewidth=0.8,
        alpha=0.75,
    )
    if seeds > 1:
        if measured.ci is not None:
            axes.plot(measured.ci, [place, place], color=style.colour, linewidth=2.6, solid_capstyle="butt")
        axes.plot([measured.mean], [place], marker="o", markersize=5.5, color=style.colour)
    paper = setting.paper.get(method, {}).get("return")
    if paper is not None:
        axes.errorbar(
            [paper.mean],
            [place + 0.34],
            xerr=None if paper.std is None else [paper.std],
            fmt="d",
            color=PAPER.colour,
            markerfacecolor="white",
            markersize=5,
            linewidth=1.0,
            capsize=2,
        )


def sweep(results: Results, names: Iterator[str]) -> Group | None:
    """Return and what is left of hacking as the setting changes."""
    if len(results.settings) < 2:
        return None
    methods = list(dict.fromkeys(method for setting in results.settings for method in setting.rows))
    panels = [_sweep_panel(results.settings, methods, metric, names) for metric in _SWEPT]
    drawn = any("return" in setting.optimum for setting in results.settings)
    entries = legend_of(methods, [(OPTIMUM, "exact optimum")] if drawn else [], marker=True)
    return Group("Across settings", "", tuple(panel for panel in panels if panel is not None), entries)


def _sweep_panel(settings: tuple[Setting, ...], methods: list[str], metric: str, names: Iterator[str]) -> Panel | None:
    if not any(metric in row for setting in settings for row in setting.rows.values()):
        return None
    places, axis_label = _places(settings)
    label = metric_label(metric)

    def plot(axes: Axes) -> None:
        placed = list(zip(places, settings, strict=True))
        for method in methods:
            cells = [(x, part.rows[method][metric]) for x, part in placed if metric in part.rows.get(method, {})]
            _sweep_line(axes, cells, stroke(method, methods))
        if metric == "return":
            _exact_line(axes, [(x, part.optimum[metric]) for x, part in placed if metric in part.optimum])
        axes.set(xlabel=axis_label, ylabel=label)
        if metric != "return":  # what is left of hacking is a few in ten thousand, or nothing at all
            axes.set_yscale("symlog", linthresh=_SMALLEST_SHOWN)
            axes.set_ylim(bottom=-_SMALLEST_SHOWN / 5)
        axes.set_xticks(places, [setting.name.rpartition("=")[2] for setting in settings])
        axes.margins(x=0.08)
        drawing.plain_ticks(axes, y=True)

    seeds = max(len(row[metric].per_seed) for s in settings for row in s.rows.values() if metric in row)
    caption = f"mean ± std over {seeds} seeds" if seeds > 1 else "one seed"
    return Panel(label, caption, draw(plot, name=next(names), describe=f"{label} across settings, {caption}"))


def _sweep_line(axes: Axes, cells: list[tuple[float, Measured]], style: Stroke) -> None:
    axes.errorbar(
        [x for x, _ in cells],
        [measured.mean for _, measured in cells],
        yerr=[measured.std for _, measured in cells],
        color=style.colour,
        linestyle=style.linestyle,
        linewidth=style.width,
        marker=style.marker,
        markersize=5,
        capsize=2,
    )


def _exact_line(axes: Axes, points: list[tuple[float, float]]) -> None:
    x, y = [point[0] for point in points], [point[1] for point in points]
    # In front of the methods' lines: a learner that reaches the optimum would hide it.
    axes.plot(x, y, color=OPTIMUM.colour, linestyle=OPTIMUM.linestyle, linewidth=OPTIMUM.width, zorder=4)


def _places(settings: tuple[Setting, ...]) -> tuple[list[float], str]:
    """Where each setting stands on the axis: at its value when all are named as `R=0.5`, else one after the other."""
    parsed = [re.fullmatch(r"\s*(\w+)\s*=\s*([-+]?\d*\.?\d+)\s*", setting.name) for setting in settings]
    matches = [match for match in parsed if match is not None]
    if len(matches) == len(settings) and len({match[1] for match in matches}) == 1:
        return [float(match[2]) for match in matches], matches[0][1]
    return [float(place) for place in range(len(settings))], "Setting"


def front(results: Results, names: Iterator[str]) -> Group | None:
    """Return against severity (or against the one budgeted cost) as the budgets tighten."""
    metric = _front_axis(results)
    one_budget = metric in [f"J_{cost}" for cost in results.settings[0].budgets]
    lines = {
        method: sorted(points, key=lambda point: point[metric])
        for method, points in results.fronts.items()
        if points and all(metric in point and "return" in point for point in points)
    }
    exact = _exact_points(results.front_optimum, metric, one_budget=one_budget)
    if not lines and not exact:
        return None
    methods = list(dict.fromkeys([*results.settings[0].rows, *lines]))
    named = _named_line(lines, metric)
    # Against a cost the exact front is straight between its corners, which only plain axes show.
    x = [point[metric] for points in lines.values() for point in points] + [at for at, _ in exact]
    log = not one_budget and _spans_decades(x)

    def plot(axes: Axes) -> None:
        if log:
            axes.set_xscale("symlog", linthresh=max(min(value for value in x if value > 0.0), _SMALLEST_SHOWN))
        _exact_line(axes, exact)
        for method, points in lines.items():
            _front_line(axes, points, metric, stroke(method, methods), named=method == named)
        _front_paper(axes, results.settings[0], metric)
        axes.set(xlabel=metric_label(metric), ylabel="Return")
        axes.margins(0.08)
        drawing.plain_ticks(axes, x=True, y=True)

    title = f"Return against {metric_label(metric)}"
    svg = draw(plot, name=next(names), describe=f"{title} for several budgets", size=(4.9, 3.0))
    meaning = "exact front: nothing is possible above it" if one_budget else "exact optimum as all budgets scale"
    references = [(OPTIMUM, meaning)] if exact else []
    entries = tuple(
        (swatch(stroke(method, methods), marker=True), method_label(method)) for method in lines
    ) + legend_of([], references)
    if any({metric, "return"} <= cells.keys() for cells in results.settings[0].paper.values()):
        entries = (*entries, (swatch(PAPER, line=False, marker=True, hollow=True), "paper"))
    said = [
        *(["the numbers are κ"] if any("kappa" in point for point in lines.get(named, ())) else []),
        *(["log scale"] if log else []),
    ]
    return Group("Trade-off", "Up and to the left is better.", (Panel(title, ", ".join(said), svg),), entries)


def _exact_points(points: list[dict[str, float]], metric: str, *, one_budget: bool) -> list[tuple[float, float]]:
    """The corners of the exact front: by cost, or else in the order in which the budgets grow."""
    known = [point for point in points if "return" in point]
    if one_budget:  # an exact optimum that does not state its cost spends its budget
        at = [(point.get(metric, point.get("budget")), point["return"]) for point in known]
        return sorted((x, y) for x, y in at if x is not None)
    known.sort(key=lambda point: point.get("budget", 0.0))
    return [(point[metric], point["return"]) for point in known if metric in point]


def _named_line(lines: dict[str, list[dict[str, float]]], metric: str) -> str:
    """The method whose points are labelled with κ: the one that κ moves most, ours in case of doubt."""

    def places(method: str) -> int:
        return len({(point[metric], point["return"]) for point in lines[method] if "kappa" in point})

    return max(lines, key=lambda method: (places(method), method == OUR_METHOD), default="")


def _spans_decades(values: list[float]) -> bool:
    positive = [value for value in values if value > 0.0]
    return bool(positive) and min(values) >= 0.0 and max(positive) / min(positive) > 10.0**_DECADES_FOR_LOG


def _front_axis(results: Results) -> str:
    """What return is traded against: the budgeted cost when there is one, else how severe the hacking is."""
    budgets = results.settings[0].budgets
    points = [point for front_points in results.fronts.values() for point in front_points]
    costs = [f"J_{cost}" for cost in budgets]
    if len(costs) == 1 and (results.front_optimum or all(costs[0] in point for point in points)):
        return costs[0]
    known = [metric for metric in (*_SEVERITIES, *costs) if all(metric in point for point in points)]
    return known[0] if known else "rhsi"


def _front_line(axes: Axes, points: list[dict[str, float]], metric: str, style: Stroke, *, named: bool) -> None:
    x, y = [point[metric] for point in points], [point["return"] for point in points]
    axes.plot(
        x, y, color=style.colour, linestyle=style.linestyle, linewidth=style.width, marker=style.marker, markersize=5
    )
    for point in points:
        if named and "kappa" in point:  # one line only: labels of lines that lie close would cover one another
            axes.annotate(
                f"{point['kappa']:g}",
                (point[metric], point["return"]),
                xytext=(6, -11),
                textcoords="offset points",
                fontsize=7.5,
                color=style.colour,
            )


def _front_paper(axes: Axes, setting: Setting, metric: str) -> None:
    for cells in setting.paper.values():
        if metric in cells and "return" in cells:
            axes.plot(
                [cells[metric].mean],
                [cells["return"].mean],
                linestyle="",
                marker="d",
                markersize=6,
                color=PAPER.colour,
                markerfacecolor="white",
            )
