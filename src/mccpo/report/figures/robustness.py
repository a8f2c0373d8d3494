"""Figures of what errors in the estimated mastery do: noise, bias and delay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from matplotlib.axes import Axes

from mccpo.report.figures import drawing
from mccpo.report.figures.drawing import draw, stroke
from mccpo.report.figures.panels import Group, Panel, legend_of
from mccpo.report.vocabulary import metric_label
from mccpo.runs.results import Noise, NoiseLevel

_KINDS = {
    "sigma": ("Noise", "standard deviation σ of the estimate"),
    "bias": ("Bias", "bias of the estimate; below 0 it underrates"),
    "delay": ("Delay", "delay of the estimate, in steps"),
    "caution": ("Caution", "caution of the gate, under the largest noise"),
}
_VIOLATIONS = ("true_violation_rate", "prerequisite_violation_rate")
_LEAST_CHANGE = 1.0  # per cent that the axis of returns spans, so that what does not matter looks like nothing
_Lines = dict[str, list[tuple[float, float]]]


@dataclass(frozen=True)
class _View:
    """What one panel shows: points by method, and the bounds of its vertical axis."""

    title: str
    label: str
    lines: _Lines
    low: float
    high: float


def noise(by_part: Noise, names: Iterator[str]) -> list[Group]:
    """What is left of the return, and what violations the error lets through, as it grows: one row per kind."""
    note = "The error is in the mastery that the policies see; what is counted is the truth."
    groups = []
    for part, kinds in by_part.items():
        methods = list(dict.fromkeys(method for levels in kinds.values() for level in levels for method in level.rows))
        panels = [
            _panel(view, kind, methods, next(names))
            for kind, levels in kinds.items()
            for view in _views(levels)
            if any(view.lines.values())
        ]
        heading = f"When the estimated mastery is wrong{f': {part}' if part else ''}"
        groups.append(Group(heading, note, tuple(panels), legend_of(methods, [], marker=True)))
    return groups


def _views(levels: tuple[NoiseLevel, ...]) -> list[_View]:
    change = _change(levels)
    changes = [y for points in change.values() for _, y in points]
    violations = next((metric for metric in _VIOLATIONS if _lines(levels, metric)), _VIOLATIONS[0])
    unsafe = _lines(levels, violations)
    worst = max((y for points in unsafe.values() for _, y in points), default=0.0)
    return [
        _View("return", "Change of return, %", change, min([*changes, -_LEAST_CHANGE]), max([*changes, 0.0])),
        _View(metric_label(violations).lower(), "Share of steps", unsafe, 0.0, max(worst, 0.05)),
        _View("budgets met (τ = 0)", "Share of seeds", _lines(levels, "satisfaction_strict"), 0.0, 1.0),
    ]


def _lines(levels: tuple[NoiseLevel, ...], metric: str) -> _Lines:
    """The values of a metric by method, from the lowest level to the highest."""
    lines: _Lines = {}
    for level in levels:
        for method, row in level.rows.items():
            if metric in row:
                lines.setdefault(method, []).append((level.level, row[metric]))
    return lines


def _change(levels: tuple[NoiseLevel, ...]) -> _Lines:
    """The change of the return against that without error, in per cent, of the methods that were run without."""
    returns = _lines(levels, "return")
    exact = {method: y for method, points in returns.items() for level, y in points if level == 0.0 and y}
    return {method: [(x, 100.0 * (y / exact[method] - 1.0)) for x, y in returns[method]] for method in exact}


def _panel(view: _View, kind: str, methods: list[str], name: str) -> Panel:
    what, axis = _KINDS.get(kind, (kind, kind))

    def plot(axes: Axes) -> None:
        for method, points in view.lines.items():
            style = stroke(method, methods)
            axes.plot(
                [x for x, _ in points],
                [y for _, y in points],
                color=style.colour,
                linestyle=style.linestyle,
                linewidth=style.width,
                marker=style.marker,
                markersize=5,
            )
        margin = 0.06 * (view.high - view.low)
        axes.set(xlabel=axis.capitalize(), ylabel=view.label, ylim=(view.low - margin, view.high + margin))
        axes.margins(x=0.06)
        drawing.plain_ticks(axes, x=True, y=True)

    title = f"{what}: {view.title}"
    return Panel(title, "", draw(plot, name=name, describe=f"{title} by {axis}"))
