"""The plane of engagement and learning: where each method stands, and what mixing two simple tutors would give.

A tutor that draws, at the start of an episode, between two policies reaches every point of the line between them. So a
method is worth its training where it lies beyond the lines from the unconstrained tutor to each rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from matplotlib.axes import Axes

from mccpo.report.figures import drawing
from mccpo.report.figures.drawing import Stroke, draw, stroke
from mccpo.report.figures.labels import Named, write_names
from mccpo.report.figures.panels import Group, Panel, legend_of
from mccpo.report.tables.finding import ANCHOR
from mccpo.report.vocabulary import is_rule, method_label
from mccpo.runs.results import Results

_X, _Y = "dK", "return"
_MIXED = Stroke(drawing.MUTED, (2, 2), "", 0.9)

_Points = dict[str, list[tuple[float, float]]]


def plane(results: Results, names: Iterator[str]) -> Group | None:
    """Return against the mastery gained, of every method at every level; None where nothing was gained."""
    points = _points(results)
    if not _shows_something(points):
        return None
    methods = list(dict.fromkeys([*results.settings[0].rows, *points]))
    free = points.get(ANCHOR, [])
    rules = {method: line[0] for method, line in points.items() if is_rule(method)}

    def plot(axes: Axes) -> None:
        for at in rules.values() if free else ():
            axes.plot(*zip(free[0], at, strict=True), **_line(_MIXED), zorder=1)
        for method, line in points.items():
            style = stroke(method, methods)
            axes.plot(*zip(*sorted(line), strict=True), **_line(style), marker=style.marker or "o", zorder=2)
        axes.set(xlabel="Mastery gained (ΔK)", ylabel="Engagement (return)")
        axes.margins(0.14)
        drawing.plain_ticks(axes, x=True, y=True)
        names = [Named(*max(line), method_label(method), drawing.INK) for method, line in points.items()]
        write_names(axes, names, [at for line in points.values() for at in line])

    title = "Engagement against learning"
    svg = draw(plot, name=next(names), describe=f"{title} of every method", size=(4.9, 3.3))
    mixed = [(_MIXED, "what drawing between the unconstrained tutor and a rule gives")] if free and rules else []
    panel = Panel(title, "up and to the right is better", svg)
    return Group("Engagement and learning", "", (panel,), legend_of([], mixed))


def has_plane(results: Results) -> bool:
    """Whether there is something to draw."""
    return _shows_something(_points(results))


def _shows_something(points: _Points) -> bool:
    return len(points) > 1 and any(x > 0 for line in points.values() for x, _ in line)


def _points(results: Results) -> _Points:
    """Where each method stands, one point for each level of budgets or floors that it was trained for."""
    fronts = {} if results.tradeoff is None else results.tradeoff.fronts
    found: _Points = {}
    for method, row in results.settings[0].rows.items():
        levels: list[Mapping[str, float]] = [point.metrics for point in fronts.get(method, ())]
        levels = levels or [{metric: summary.mean for metric, summary in row.items()}]
        if known := [(level[_X], level[_Y]) for level in levels if _X in level and _Y in level]:
            found[method] = known
    return found


def _line(style: Stroke) -> dict[str, Any]:
    return {"color": style.colour, "linewidth": style.width, "linestyle": style.linestyle}
