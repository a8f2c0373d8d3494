"""The plane of engagement and learning on one environment: every method's front, the rules, and mixtures of these."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes

from mccpo.evaluation import envelope
from mccpo.report.benchmark.figures import OTHERS, SIZE, Strokes, dot, hollow, legend
from mccpo.report.benchmark.views import EnvironmentView, Pair
from mccpo.report.figures.drawing import INK, MUTED, Stroke, draw, plain_ticks, swatch
from mccpo.report.figures.panels import Group, Panel
from mccpo.report.markup import Html
from mccpo.report.tables.finding import OUR_METHOD
from mccpo.report.vocabulary import method_label

_RULE = Stroke(INK, (), "D", 0.0)
_MIXED = Stroke(MUTED, (2, 2), "", 1.0)
_FREE = Stroke(INK, (), "s", 0.0)
_RULES = "tutor"


def plane(environment: EnvironmentView, coloured: Strokes, names: Iterator[str]) -> Group | None:
    """Return against ΔK on one environment; None where there is nothing to be seen."""
    drawn = [pair for pair in environment.pairs if _points(pair)]
    rules = [pair for pair in drawn if pair.kind == _RULES]
    if not drawn or not environment.ret:
        return None
    simple = [(environment.gain, environment.ret), *(_points(pair)[0][0] for pair in rules)]

    def plot(axes: Axes) -> None:
        axes.plot(*_mixtures(simple), color=_MIXED.colour, linestyle=_MIXED.linestyle, linewidth=_MIXED.width)
        for pair in sorted(drawn, key=lambda pair: (pair.method in coloured, pair.method == OUR_METHOD)):
            if pair.kind != _RULES:
                _front(axes, pair, coloured.get(pair.method, OTHERS))
        for x, y in simple[1:]:
            dot(axes, x, y, _RULE, filled=True)
        dot(axes, *simple[0], _FREE, filled=True)
        axes.set(xlabel="ΔK, mastery gained in an episode", ylabel="Return, engagement")
        axes.margins(0.08)
        plain_ticks(axes, x=True, y=True)

    title = "Engagement against learning"
    svg = draw(plot, name=next(names), describe=f"{title} on {environment.name}", size=SIZE)
    entries: list[tuple[Html, str]] = list(
        legend([pair.method for pair in drawn if pair not in rules], coloured, marker=True)
    )
    entries.append((swatch(_FREE, line=False, marker=True), "best known without budgets"))
    if rules:
        named = ", ".join(method_label(pair.method) for pair in sorted(rules, key=_points))
        entries.append((swatch(_RULE, line=False, marker=True), f"rules, from left to right: {named}"))
        entries.append((swatch(_MIXED), "what mixtures of rules and the unconstrained tutor reach"))
    note = "Up and to the right is better."
    if rules:
        note += " Beyond the dashed line, a method returns more than any mixture of simple tutors that teaches as much."
    return Group("Engagement and learning", note, (Panel(title, "one point for each κ", svg),), (*entries, hollow()))


def _points(pair: Pair) -> list[tuple[tuple[float, float], bool]]:
    """ΔK and return at every κ, mean over seeds, and whether every seed meets the budgets."""
    cells = [cell for cell in pair.cells if {"dK", "return"} <= cell.metrics.keys()]
    return [((cell.metrics["dK"].mean, cell.metrics["return"].mean), cell.met) for cell in cells]


def _mixtures(simple: list[tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
    return envelope(*(np.array(axis) for axis in zip(*simple, strict=True)))


def _front(axes: Axes, pair: Pair, style: Stroke) -> None:
    points = sorted(_points(pair))
    x, y = zip(*(at for at, _ in points), strict=True)
    axes.plot(x, y, color=style.colour, linestyle=style.linestyle, linewidth=style.width)
    for at, met in points:
        dot(axes, *at, style, filled=met)
