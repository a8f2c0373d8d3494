"""Figures of what the methods reached: final returns, and sweeps over settings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import fill

import numpy as np
from matplotlib.axes import Axes

from mccpo.evaluation import Summary
from mccpo.report import numbers
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
from mccpo.report.figures.panels import Group, Legend, Panel, legend_of
from mccpo.report.vocabulary import method_label, metric_label
from mccpo.runs.results import Results, Setting

_SWEPT = ("return", "pi_hack", "rhsi")
_MOST_NAMED = 6  # settings that stand side by side by name
_WIDEST = 12  # of a setting's name under its place on an axis


def final(setting: Setting, names: Iterator[str]) -> Group | None:
    """The return of every seed, its mean and interval, beside the paper's and the exact optimum."""
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
    if (seeds := max((summary.n for summary in returns), default=0)) > 1:
        words = f"mean with 95 % interval, {seeds} seeds"
        entries.append((swatch(Stroke(drawing.MUTED, width=2.4), marker=True), words))
    if any("return" in cells for cells in setting.paper.values()):
        entries.append((swatch(PAPER, marker=True, hollow=True), "paper, mean ± std"))
    if "return" in setting.optimum:
        best = numbers.short(setting.optimum["return"])
        entries.append((swatch(OPTIMUM), f"exact optimum under the budgets, {best}"))
    return tuple(entries)


def _final_row(axes: Axes, place: int, setting: Setting, method: str, style: Stroke) -> None:
    summary = setting.rows[method]["return"]
    seeds = len(summary.per_seed)
    # Spread over the height in the order of the seeds, so that equal values do not hide one another.
    heights = place + (np.linspace(-0.2, 0.2, seeds) if seeds > 1 else np.zeros(1))
    axes.plot(
        summary.per_seed,
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
        if summary.ci is not None:
            axes.plot(summary.ci, [place, place], color=style.colour, linewidth=2.6, solid_capstyle="butt")
        axes.plot([summary.mean], [place], marker="o", markersize=5.5, color=style.colour)
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
    if len(results.settings) < 2 or (len(results.settings) > _MOST_NAMED and not _Scale.of(results.settings).joined):
        return None
    methods = list(dict.fromkeys(method for setting in results.settings for method in setting.rows))
    panels = [_sweep_panel(results.settings, methods, metric, names) for metric in _SWEPT]
    drawn = any("return" in setting.optimum for setting in results.settings)
    entries = legend_of(methods, [(OPTIMUM, "exact optimum")] if drawn else [], marker=True)
    return Group("Across settings", "", tuple(panel for panel in panels if panel is not None), entries)


def _sweep_panel(settings: tuple[Setting, ...], methods: list[str], metric: str, names: Iterator[str]) -> Panel | None:
    means = [row[metric].mean for part in settings for row in part.rows.values() if metric in row]
    if not means:
        return None
    scale = _Scale.of(settings)
    label = metric_label(metric)
    log = metric != "return" and (not all(means) or spans_decades(means))

    def plot(axes: Axes) -> None:
        placed = list(zip(scale.places, settings, strict=True))
        for place, method in enumerate(methods):
            aside = 0.0 if scale.joined else 0.3 * (place + 0.5 - len(methods) / 2) / len(methods)
            cells = [(x, part.rows[method][metric]) for x, part in placed if metric in part.rows.get(method, {})]
            _sweep_line(axes, [(x + aside, cell) for x, cell in cells], stroke(method, methods), joined=scale.joined)
        if metric == "return":
            exact_line(axes, [(x, part.optimum[metric]) for x, part in placed if metric in part.optimum])
        axes.set(xlabel=scale.label, ylabel=label)
        if log:  # what is left of hacking can be a few in ten thousand, or nothing at all
            axes.set_yscale("symlog", linthresh=SMALLEST_SHOWN)
            axes.set_ylim(bottom=-SMALLEST_SHOWN / 5)
        axes.set_xticks(scale.places, scale.ticks)
        axes.margins(x=0.08)
        drawing.plain_ticks(axes, y=True)

    seeds = max(len(row[metric].per_seed) for s in settings for row in s.rows.values() if metric in row)
    caption = f"mean ± std over {seeds} seeds" if seeds > 1 else "one seed"
    return Panel(label, caption, draw(plot, name=next(names), describe=f"{label} across settings, {caption}"))


def _sweep_line(axes: Axes, cells: list[tuple[float, Summary]], style: Stroke, *, joined: bool) -> None:
    axes.errorbar(
        [x for x, _ in cells],
        [summary.mean for _, summary in cells],
        yerr=[summary.std for _, summary in cells],
        color=style.colour,
        linestyle=style.linestyle if joined else "",
        linewidth=style.width,
        marker=style.marker,
        markersize=5,
        capsize=2,
    )


@dataclass(frozen=True)
class _Scale:
    """Where each setting stands on the axis: at its value when all are named as `R=0.5`, else one after the other.

    Only settings that are values of one thing are joined by lines.
    """

    places: list[float]
    ticks: list[str]
    label: str
    joined: bool

    @classmethod
    def of(cls, settings: tuple[Setting, ...]) -> _Scale:
        parsed = [re.fullmatch(r"\s*(\w+)\s*=\s*([-+]?\d*\.?\d+)\s*", setting.name) for setting in settings]
        matches = [match for match in parsed if match is not None]
        if len(matches) == len(settings) and len({match[1] for match in matches}) == 1:
            return cls([float(match[2]) for match in matches], [match[2] for match in matches], matches[0][1], True)
        names = [fill(setting.name, _WIDEST) for setting in settings]
        return cls([float(place) for place in range(len(settings))], names, "", False)
