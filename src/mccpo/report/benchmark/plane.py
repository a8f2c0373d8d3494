"""The plane of engagement and learning on one environment: every method's front, the rules, and mixtures of these."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes

from mccpo.evaluation import envelope
from mccpo.report.benchmark.figures import OTHERS, SIZE, Strokes, dot, hollow, legend
from mccpo.report.benchmark.views import EnvironmentView, Pair
from mccpo.report.benchmark.whole_view import BenchmarkView
from mccpo.report.figures.drawing import INK, MUTED, Stroke, draw, plain_ticks, swatch
from mccpo.report.figures.labels import Named, write_names
from mccpo.report.figures.panels import Group, Panel
from mccpo.report.markup import Html
from mccpo.report.tables.finding import OUR_METHOD
from mccpo.report.vocabulary import method_label

_RULE = Stroke(INK, (), "D", 0.0)
_MIXED = Stroke(MUTED, (2, 2), "", 1.0)
_FREE = Stroke(INK, (), "s", 0.0)
_RULES = "tutor"
_MOST_SHOWN = 3  # environments at the top of the page


def plane(environment: EnvironmentView, coloured: Strokes, names: Iterator[str]) -> Group | None:
    """Return against ΔK on one environment; None where there is nothing to be seen."""
    if not has_plane(environment):
        return None
    drawn = [pair for pair in environment.pairs if _points(pair)]
    rules = [pair for pair in drawn if pair.kind == _RULES]
    simple = [(environment.gain, environment.ret), *(_points(pair)[0][0] for pair in rules)]

    def plot(axes: Axes) -> None:
        axes.plot(*_mixtures(simple), color=_MIXED.colour, linestyle=_MIXED.linestyle, linewidth=_MIXED.width)
        for pair in sorted(drawn, key=lambda pair: (pair.method in coloured, pair.method == OUR_METHOD)):
            if pair.kind != _RULES:
                _front(axes, pair, coloured.get(pair.method, OTHERS))
        for x, y in simple[1:]:
            dot(axes, x, y, _RULE, filled=True)
        dot(axes, *simple[0], _FREE, filled=True)
        axes.set(xlabel="Mastery gained in an episode (ΔK)", ylabel="Engagement (return)")
        axes.margins(0.12)
        plain_ticks(axes, x=True, y=True)
        _names(axes, drawn, coloured)

    title = "Engagement against learning"
    svg = draw(plot, name=next(names), describe=f"{title} on {environment.name}", size=SIZE)
    entries: list[tuple[Html, str]] = list(
        legend([pair.method for pair in drawn if pair not in rules], coloured, marker=True)
    )
    entries.append((swatch(_FREE, line=False, marker=True), "best known without budgets"))
    if rules:
        entries.append((swatch(_RULE, line=False, marker=True), "a rule"))
        entries.append((swatch(_MIXED), "what mixtures of rules and the unconstrained tutor reach"))
    note = "Up and to the right is better."
    if rules:
        note += " Beyond the dashed line, a method returns more than any mixture of simple tutors that teaches as much."
    return Group("Engagement and learning", note, (Panel(title, "one point for each κ", svg),), (*entries, hollow()))


def has_plane(environment: EnvironmentView) -> bool:
    """Whether there is something to be seen on an environment."""
    return bool(environment.ret) and any(_points(pair) for pair in environment.pairs)


def opening(view: BenchmarkView, coloured: Strokes, names: Iterator[str]) -> Group | None:
    """The planes of the first environments side by side, for the top of the page."""
    known = [environment for environment in view.run if has_plane(environment)]
    shown = [(each, group) for each in known[:_MOST_SHOWN] if (group := plane(each, coloured, names)) is not None]
    if not shown:
        return None
    panels = tuple(replace(group.panels[0], title=environment.name) for environment, group in shown)
    legend = {text: mark for _, group in shown for mark, text in group.legend}
    note = "Engagement against learning: up and to the right is better, one point for each κ."
    left = f" {len(known) - len(shown)} more environments have their own below." if len(known) > len(shown) else ""
    return Group("", note + left, panels, tuple((mark, text) for text, mark in legend.items()))


def _names(axes: Axes, drawn: list[Pair], coloured: Strokes) -> None:
    """Names the rules and the methods in colour, at the point of each that teaches most."""
    named = [
        Named(*max(at for at, _ in _points(pair)), method_label(pair.method), INK)
        for pair in sorted(drawn, key=lambda pair: pair.method != OUR_METHOD)  # the first of several names is written
        if pair.kind == _RULES or pair.method in coloured
    ]
    write_names(axes, named, [at for pair in drawn for at, _ in _points(pair)])


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
