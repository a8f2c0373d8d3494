"""The figures of a benchmark's report: fronts over κ, performance profiles, budgets that nobody trained for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from mccpo.report.benchmark.data import Board, Pair, Place
from mccpo.report.figures.drawing import BUDGET, INK, OPTIMUM, STROKES, Stroke, draw, exact_line, plain_ticks, swatch
from mccpo.report.figures.panels import Group, Legend, Panel
from mccpo.report.markup import Html
from mccpo.report.tables.finding import OUR_METHOD
from mccpo.report.vocabulary import method_label

_OTHERS = Stroke("#b4bcc4", (), "o", 0.8)
_SPARE = (
    Stroke("#D55E00", (5, 1.5), "s"),
    Stroke("#009E73", (4, 1.2, 1, 1.2), "v"),
    Stroke("#CC79A7", (1.5, 1.2), "^"),
    Stroke("#E69F00", (3, 1), "o"),
    Stroke("#56B4E9", (6, 1, 1, 1, 1, 1), "s"),
    Stroke("#882255", (2, 2), "v"),
    Stroke("#7F7F7F", (3, 2), "^"),
)
_SIZE = (4.9, 3.2)
_FURTHEST = 1.3  # the cost up to which a front is drawn whole: one spendthrift would press all others together
_NEAR = 0.9  # of the best: from there on profiles are drawn once more, larger
_LEADERS = 4  # methods beside ours with a colour of their own, by what they dominate over all environments

Strokes = Mapping[str, Stroke]


def strokes(board: Board) -> dict[str, Stroke]:
    """Who is drawn in colour, the same in every figure: ours, those that lead overall, the best of each environment.

    Twenty lines in colour would tell nothing apart: the others are grey.
    """
    leading = [method for method in board.complete if method != OUR_METHOD][:_LEADERS]
    best = [pair.method for place in board.run for pair in place.reachable[:1]]
    asked = [method for method in board.asked if board.told_budgets(method)]
    chosen = [method for method in dict.fromkeys([*leading, *best, *asked]) if method != OUR_METHOD]
    colours = (one for one in _SPARE)
    found = {OUR_METHOD: STROKES[OUR_METHOD]} if OUR_METHOD in board.methods else {}
    for method in chosen:
        if (spare := next(colours, None)) is not None:
            found[method] = spare
    return found


def front(place: Place, coloured: Strokes, names: Iterator[str]) -> Group | None:
    """Return against cost on one environment, both as shares of the unconstrained policy's, as the budgets tighten."""
    drawn = [pair for pair in place.pairs if any("share" in cell.values for cell in pair.cells)]
    if not drawn:
        return None
    exact = [(place.share_of_cost(best), best["return"] / place.ret) for best in _optima(place)]

    def plot(axes: Axes) -> None:
        for kappa in place.budgets:
            axes.axvline(kappa, color=BUDGET.colour, linestyle=BUDGET.linestyle, linewidth=0.7)
        # Ours last, so that it lies on top.
        for pair in sorted(drawn, key=lambda pair: (pair.method in coloured, pair.method == OUR_METHOD)):
            _line(axes, pair, coloured.get(pair.method, _OTHERS))
        exact_line(axes, exact)
        axes.set(xlabel="Cost, share of unconstrained", ylabel="Return, share of unconstrained")

    def whole(axes: Axes) -> None:
        plot(axes)
        axes.set_xlim(-0.02, min(_FURTHEST, 1.03 * max([1.0, *(x for _, x in _spent(drawn))])))
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
        plain_ticks(axes, x=True, y=True)

    near = _near(place, [pair for pair in drawn if pair.method in coloured], exact)

    def part(axes: Axes) -> None:
        plot(axes)
        axes.set(**near)
        plain_ticks(axes, x=True, y=True)

    panels = [
        Panel(title, caption, draw(how, name=next(names), describe=f"{title} on {place.name}", size=_SIZE))
        for title, caption, how in (
            ("Everything", "one point for each κ, mean over seeds" + _beyond(drawn), whole),
            ("Near the budgets", "the same, larger", part),
        )[: 2 if near else 1]
    ]
    note = "Up and to the left is better. A policy meets its budgets where it is left of its κ."
    return Group("Front over κ", note, tuple(panels), _front_legend(drawn, coloured, bool(exact)))


def profiles(board: Board, coloured: Strokes, names: Iterator[str]) -> Group | None:
    """How often a seed of a method dominates more than τ of what the best on its environment does, over all of them.

    Of methods that have run on every one.
    """
    profiles = {method: board.profiles[method] for method in board.complete if method in board.profiles}
    found = {method: one for method, one in profiles.items() if one["tau"]}
    if not found:
        return None
    ends = [tau for one in found.values() for tau, share in zip(one["tau"], one["share"], strict=True) if share]

    def plot(axes: Axes) -> None:
        for method in sorted(found, key=lambda method: (method in coloured, method == OUR_METHOD)):
            one, style = found[method], coloured.get(method, _OTHERS)
            look: dict[str, Any] = {"color": style.colour, "linestyle": style.linestyle, "linewidth": style.width}
            axes.step(one["tau"], one["share"], where="post", **look)
            if method in coloured:
                low, high = one["ci"]
                axes.fill_between(one["tau"], low, high, step="post", color=style.colour, alpha=0.12, linewidth=0)
        axes.set(xlabel="Hypervolume τ, relative to the best on the environment", ylabel="Share of runs above τ")
        axes.set_ylim(-0.02, 1.02)
        axes.set_xlim(left=0.0, right=1.01 * max(ends, default=1.0))
        plain_ticks(axes, x=True, y=True)

    def near(axes: Axes) -> None:
        plot(axes)
        axes.set_xlim(left=_NEAR)

    panels = [Panel("All environments", "over seeds and environments", _profiled(plot, names))]
    if max(ends, default=0.0) > _NEAR:
        panels.append(Panel("Near the best", "the same, larger", _profiled(near, names)))
    note = "A curve further up and to the right is better. Bands are 95 % intervals of a stratified bootstrap."
    return Group("Performance profiles", note, tuple(panels), _legend(list(found), coloured))


def unseen(board: Board, methods: Sequence[str], coloured: Strokes, names: Iterator[str]) -> Group | None:
    """What is spent at κ that nobody trained for, against what may be."""
    kappas = board.unseen["kappa"]
    by_method = {method: board.unseen[method] for method in methods}
    places = [place.name for place in board.run if any(place.name in found for found in by_method.values())]
    if not places:
        return None
    panels = []
    for place in places:

        def plot(axes: Axes, place: str = place) -> None:
            ends = [min(kappas) - 0.03, max(kappas) + 0.03]
            axes.plot(ends, ends, color=BUDGET.colour, linestyle=BUDGET.linestyle, linewidth=BUDGET.width)
            for method, found in by_method.items():
                if place in found:
                    _asked(axes, kappas, found[place], coloured.get(method, _OTHERS))
            axes.set(xlabel="κ asked for", ylabel="Cost, share of unconstrained")
            plain_ticks(axes, x=True, y=True)

        svg = draw(plot, name=next(names), describe=f"Cost at κ not trained for on {place}", size=_SIZE)
        panels.append(Panel(place, "", svg))
    legend = (*_legend(list(by_method), coloured, marker=True), (swatch(BUDGET), "what may be spent"), _hollow())
    note = "Below the line the budgets are met on average. Bars reach from the thriftiest seed to the worst."
    return Group("What is spent at κ that nobody trained for", note, tuple(panels), legend)


def _profiled(plot: Callable[[Axes], None], names: Iterator[str]) -> Html:
    return draw(plot, name=next(names), describe="Performance profiles", size=_SIZE)


def _near(place: Place, pairs: list[Pair], exact: list[tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """The part of the plane where those drawn in colour keep to the budgets, or try to; nothing where hardly any do."""
    left, right = min(place.budgets) - 0.1, max(place.budgets) + 0.06
    cells = [cell.values for pair in pairs for cell in pair.cells if cell.done]
    points = [(values["cost_share"].mean, values["share"].mean) for values in cells if "share" in values]
    heights = [y for x, y in [*points, *exact] if left <= x <= right]
    if len(heights) < 2:
        return {}
    low, high = min(heights), max(heights)
    room = 0.06 * max(high - low, 0.05)
    return {"xlim": (left, right), "ylim": (low - room, high + room)}


def _spent(pairs: Sequence[Pair]) -> list[tuple[str, float]]:
    """Every point of a front: whose it is, and what it spends."""
    cells = [cell for pair in pairs for cell in pair.cells if "cost_share" in cell.values]
    return [(cell.method, cell.values["cost_share"].mean) for cell in cells]


def _beyond(pairs: Sequence[Pair]) -> str:
    """Who spends so much that points lie outside the figure, and how much at most; empty where nobody does."""
    most: dict[str, float] = {}
    for method, spent in _spent(pairs):
        if spent > _FURTHEST:
            most[method] = max(spent, most.get(method, 0.0))
    told = ", ".join(f"{method_label(method)} (up to {spent:.3g})" for method, spent in most.items())
    return f"; beyond the right edge: {told}" if told else ""


def _asked(axes: Axes, kappas: list[float], found: Mapping[str, Any], style: Stroke) -> None:
    for kappa, spent, met in zip(kappas, found["cost_share"], found["satisfaction_strict"], strict=True):
        if spent is None or met is None:
            continue
        seeds: list[float] = spent["per_seed"]
        axes.vlines(kappa, min(seeds), max(seeds), color=style.colour, linewidth=1.2)
        _dot(axes, kappa, float(np.mean(seeds)), style, filled=min(met["per_seed"]) == 1.0)


def _line(axes: Axes, pair: Pair, style: Stroke) -> None:
    cells = [cell for cell in pair.cells if "share" in cell.values and "cost_share" in cell.values]
    points = [(cell.values["cost_share"].mean, cell.values["share"].mean) for cell in cells]
    x, y = zip(*sorted(points), strict=True)
    axes.plot(x, y, color=style.colour, linestyle=style.linestyle, linewidth=style.width)
    for cell, at in zip(cells, points, strict=True):
        _dot(axes, *at, style, filled=cell.met)


def _dot(axes: Axes, x: float, y: float, style: Stroke, *, filled: bool) -> None:
    small = style is _OTHERS
    axes.plot(
        [x],
        [y],
        linestyle="",
        marker=style.marker,
        markersize=3.2 if small else 5.5,
        color=style.colour,
        markerfacecolor=style.colour if filled else "white",
        zorder=2 if small else 3,
    )


def _front_legend(drawn: list[Pair], coloured: Strokes, exact: bool) -> Legend:
    entries = list(_legend([pair.method for pair in drawn], coloured, marker=True))
    if any(not cell.met for pair in drawn for cell in pair.cells):
        entries.append(_hollow())
    entries.append((swatch(replace(BUDGET, width=0.8)), "the budgets"))
    return (*entries, *([(swatch(OPTIMUM), "exact optimum")] if exact else []))


def _legend(methods: list[str], coloured: Strokes, *, marker: bool = False) -> Legend:
    entries = [
        (swatch(style, marker=marker), method_label(name)) for name, style in coloured.items() if name in methods
    ]
    others = any(method not in coloured for method in methods)
    return (*entries, *([(swatch(_OTHERS, marker=marker), "other methods")] if others else []))


def _hollow() -> tuple[Html, str]:
    return swatch(Stroke(INK), line=False, marker=True, hollow=True), "hollow: some seed misses a budget (τ = 0)"


def _optima(place: Place) -> list[Mapping[str, float]]:
    return [best for best in place.optimum.values() if "return" in best and place.ret]
