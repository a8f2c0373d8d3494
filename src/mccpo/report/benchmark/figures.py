"""The figures of a benchmark's report: fronts over κ, performance profiles, budgets that nobody trained for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes

from mccpo.report.benchmark.views import EnvironmentView, Pair
from mccpo.report.benchmark.whole_view import BenchmarkView
from mccpo.report.figures.drawing import BUDGET, INK, OPTIMUM, STROKES, Stroke, draw, exact_line, plain_ticks, swatch
from mccpo.report.figures.panels import Group, Legend, Panel
from mccpo.report.markup import Html
from mccpo.report.tables.finding import OUR_METHOD
from mccpo.report.vocabulary import method_label
from mccpo.runs.benchmark import ByKappa

OTHERS = Stroke("#b4bcc4", (), "o", 0.8)
_SPARE = (
    Stroke("#D55E00", (5, 1.5), "s"),
    Stroke("#009E73", (4, 1.2, 1, 1.2), "v"),
    Stroke("#CC79A7", (1.5, 1.2), "^"),
    Stroke("#E69F00", (3, 1), "o"),
    Stroke("#56B4E9", (6, 1, 1, 1, 1, 1), "s"),
    Stroke("#882255", (2, 2), "v"),
    Stroke("#7F7F7F", (3, 2), "^"),
)
SIZE = (4.9, 3.2)
_FURTHEST = 1.3  # the cost up to which a front is drawn whole: one spendthrift would press all others together
_NEAR = 0.9  # of the best: from there on profiles are drawn once more, larger
_LEADERS = 4  # methods beside ours with a colour of their own, by what they dominate over all environments

Strokes = Mapping[str, Stroke]


def strokes(view: BenchmarkView) -> dict[str, Stroke]:
    """The methods drawn in colour, the same in every figure: ours, the leading ones, the best of each environment.

    Twenty lines in colour would tell nothing apart: the others are grey.
    """
    leading = [method for method in view.complete if method != OUR_METHOD][:_LEADERS]
    best = [pair.method for environment in view.run for pair in environment.reachable[:1]]
    asked = [method for method in view.asked if view.sees_budgets(method)]
    chosen = [method for method in dict.fromkeys([*leading, *best, *asked]) if method != OUR_METHOD]
    colours = (stroke for stroke in _SPARE)
    chosen_strokes = {OUR_METHOD: STROKES[OUR_METHOD]} if OUR_METHOD in view.methods else {}
    for method in chosen:
        if (spare := next(colours, None)) is not None:
            chosen_strokes[method] = spare
    return chosen_strokes


def front(environment: EnvironmentView, coloured: Strokes, names: Iterator[str]) -> Group | None:
    """Return against cost on one environment, both as shares of the unconstrained policy's, as the budgets tighten."""
    drawn = [pair for pair in environment.pairs if any("share" in cell.metrics for cell in pair.cells)]
    if not drawn:
        return None
    exact = _optima(environment)

    def plot(axes: Axes) -> None:
        for kappa in environment.budgets:
            axes.axvline(kappa, color=BUDGET.colour, linestyle=BUDGET.linestyle, linewidth=0.7)
        # Ours last, so that it lies on top.
        for pair in sorted(drawn, key=lambda pair: (pair.method in coloured, pair.method == OUR_METHOD)):
            _line(axes, pair, coloured.get(pair.method, OTHERS))
        exact_line(axes, exact)
        axes.set(xlabel="Cost, share of unconstrained", ylabel="Return, share of unconstrained")

    def whole(axes: Axes) -> None:
        plot(axes)
        axes.set_xlim(-0.02, min(_FURTHEST, 1.03 * max([1.0, *(x for _, x in _spent(drawn))])))
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
        plain_ticks(axes, x=True, y=True)

    near = _near(environment, [pair for pair in drawn if pair.method in coloured], exact)

    def part(axes: Axes) -> None:
        plot(axes)
        axes.set(**near)
        plain_ticks(axes, x=True, y=True)

    panels = [
        Panel(title, caption, draw(how, name=next(names), describe=f"{title} on {environment.name}", size=SIZE))
        for title, caption, how in (
            ("Everything", "one point for each κ, mean over seeds" + _beyond(drawn), whole),
            ("Near the budgets", "the same, larger", part),
        )[: 2 if near else 1]
    ]
    note = "Up and to the left is better. A policy meets its budgets where it is left of its κ."
    return Group("Front over κ", note, tuple(panels), _front_legend(drawn, coloured, bool(exact)))


def profiles(view: BenchmarkView, coloured: Strokes, names: Iterator[str]) -> Group | None:
    """How often a seed of a method dominates more than τ of what the best on its environment does, over all of them.

    Of methods that have run on every one.
    """
    profiles = {method: view.profiles[method] for method in view.complete if method in view.profiles}
    drawn = {method: profile for method, profile in profiles.items() if profile.tau}
    if not drawn:
        return None
    ends = [tau for profile in drawn.values() for tau, share in zip(profile.tau, profile.share, strict=True) if share]

    def plot(axes: Axes) -> None:
        for method in sorted(drawn, key=lambda method: (method in coloured, method == OUR_METHOD)):
            profile, style = drawn[method], coloured.get(method, OTHERS)
            axes.step(
                profile.tau,
                profile.share,
                where="post",
                color=style.colour,
                linestyle=style.linestyle,
                linewidth=style.width,
            )
            if method in coloured:
                axes.fill_between(
                    profile.tau, profile.low, profile.high, step="post", color=style.colour, alpha=0.12, linewidth=0
                )
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
    note = "A curve further up and to the right is better. Bands are percentiles of a stratified bootstrap (95 %)."
    return Group("Performance profiles", note, tuple(panels), legend(list(drawn), coloured))


def unseen(view: BenchmarkView, methods: Sequence[str], coloured: Strokes, names: Iterator[str]) -> Group | None:
    """What is spent at κ that nobody trained for, against what may be."""
    kappas = view.unseen.kappa
    by_method = {method: view.unseen.methods[method] for method in methods}
    environments = [
        environment.name
        for environment in view.run
        if any(environment.name in answers for answers in by_method.values())
    ]
    if not environments:
        return None
    panels = []
    for environment in environments:

        def plot(axes: Axes, environment: str = environment) -> None:
            ends = [min(kappas) - 0.03, max(kappas) + 0.03]
            axes.plot(ends, ends, color=BUDGET.colour, linestyle=BUDGET.linestyle, linewidth=BUDGET.width)
            for method, answers in by_method.items():
                if environment in answers:
                    _asked(axes, kappas, answers[environment], coloured.get(method, OTHERS))
            axes.set(xlabel="κ asked for", ylabel="Cost, share of unconstrained")
            plain_ticks(axes, x=True, y=True)

        svg = draw(plot, name=next(names), describe=f"Cost at κ not trained for on {environment}", size=SIZE)
        panels.append(Panel(environment, "", svg))
    entries = (*legend(list(by_method), coloured, marker=True), (swatch(BUDGET), "what may be spent"), hollow())
    note = "Below the line the budgets are met on average. Bars reach from the thriftiest seed to the worst."
    return Group("What is spent at κ that nobody trained for", note, tuple(panels), entries)


def _profiled(plot: Callable[[Axes], None], names: Iterator[str]) -> Html:
    return draw(plot, name=next(names), describe="Performance profiles", size=SIZE)


def _near(
    environment: EnvironmentView, pairs: list[Pair], exact: list[tuple[float, float]]
) -> dict[str, tuple[float, float]]:
    """The part of the plane where those drawn in colour keep to the budgets, or try to; nothing where hardly any do."""
    left, right = min(environment.budgets) - 0.1, max(environment.budgets) + 0.06
    cells = [cell.metrics for pair in pairs for cell in pair.cells if cell.seeds_done]
    points = [(values["cost_share"].mean, values["share"].mean) for values in cells if "share" in values]
    heights = [y for x, y in [*points, *exact] if left <= x <= right]
    if len(heights) < 2:
        return {}
    low, high = min(heights), max(heights)
    room = 0.06 * max(high - low, 0.05)
    return {"xlim": (left, right), "ylim": (low - room, high + room)}


def _spent(pairs: Sequence[Pair]) -> list[tuple[str, float]]:
    """Every point of a front: whose it is, and what it spends."""
    cells = [cell for pair in pairs for cell in pair.cells if "cost_share" in cell.metrics]
    return [(cell.method, cell.metrics["cost_share"].mean) for cell in cells]


def _beyond(pairs: Sequence[Pair]) -> str:
    """Who spends so much that points lie outside the figure, and how much at most; empty where nobody does."""
    most: dict[str, float] = {}
    for method, spent in _spent(pairs):
        if spent > _FURTHEST:
            most[method] = max(spent, most.get(method, 0.0))
    names = ", ".join(f"{method_label(method)} (up to {spent:.3g})" for method, spent in most.items())
    return f"; beyond the right edge: {names}" if names else ""


def _asked(axes: Axes, kappas: Sequence[float], metrics: ByKappa, style: Stroke) -> None:
    for kappa, spent, met in zip(kappas, metrics["cost_share"], metrics["satisfaction_strict"], strict=True):
        if spent is None or met is None:
            continue
        seeds = spent.per_seed
        axes.vlines(kappa, min(seeds), max(seeds), color=style.colour, linewidth=1.2)
        dot(axes, kappa, float(np.mean(seeds)), style, filled=min(met.per_seed) == 1.0)


def _line(axes: Axes, pair: Pair, style: Stroke) -> None:
    cells = [cell for cell in pair.cells if "share" in cell.metrics and "cost_share" in cell.metrics]
    points = [(cell.metrics["cost_share"].mean, cell.metrics["share"].mean) for cell in cells]
    x, y = zip(*sorted(points), strict=True)
    axes.plot(x, y, color=style.colour, linestyle=style.linestyle, linewidth=style.width)
    for cell, at in zip(cells, points, strict=True):
        dot(axes, *at, style, filled=cell.met)


def dot(axes: Axes, x: float, y: float, style: Stroke, *, filled: bool) -> None:
    small = style is OTHERS
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
    entries = list(legend([pair.method for pair in drawn], coloured, marker=True))
    if any(not cell.met for pair in drawn for cell in pair.cells):
        entries.append(hollow())
    entries.append((swatch(replace(BUDGET, width=0.8)), "the budgets"))
    return (*entries, *([(swatch(OPTIMUM), "exact optimum")] if exact else []))


def legend(methods: list[str], coloured: Strokes, *, marker: bool = False) -> Legend:
    entries = [
        (swatch(style, marker=marker), method_label(name)) for name, style in coloured.items() if name in methods
    ]
    others = any(method not in coloured for method in methods)
    return (*entries, *([(swatch(OTHERS, marker=marker), "other methods")] if others else []))


def hollow() -> tuple[Html, str]:
    return swatch(Stroke(INK), line=False, marker=True, hollow=True), "hollow: some seed misses a budget (τ = 0)"


def _optima(environment: EnvironmentView) -> list[tuple[float, float]]:
    """The exact optimum of every κ where there is one: its cost and its return, as shares of the unconstrained."""
    points = []
    for best in environment.optimum.values():
        costs = {cost: value for cost in environment.constrained if (value := best.cost(cost)) is not None}
        if best.ret is not None and environment.ret:
            points.append((environment.share_of_cost(costs), best.ret / environment.ret))
    return points
