"""The figures of an audit: the rate against the definition, and against time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter

from mccpo.logs.audit import SIGNAL, Audit, Breakdown, Curve, Level, Population, Rate
from mccpo.report.audit.sentences import POPULATIONS, PaperPrevalence, percent
from mccpo.report.figures.drawing import INK, MUTED, RULE, Stroke, draw, plain_ticks, swatch
from mccpo.report.figures.panels import Group, Legend, Panel
from mccpo.report.markup import Html, el

_STROKES = {
    SIGNAL: Stroke("#D55E00", (), "D", 1.8),
    "ema": Stroke("#0072B2", (), "o"),
    "bkt": Stroke("#009E73", (5, 1.5), "s"),
    "bkt-forget": Stroke("#CC79A7", (1.5, 1.2), "^"),
}
_SPARE = (Stroke("#E69F00", (4, 1.2, 1, 1.2), "v"), Stroke("#56B4E9", (3, 2), "o"))
_PAPER = Stroke(MUTED, (1.2, 1.8), "", 1.4)
_CHOSEN = Stroke(INK, (4, 3), "", 0.9)
_LEAST = 1e-5  # the smallest threshold above 0 on the axis
_MOST_TICKS = 8
_FEWEST = 20  # learners behind a point that is drawn in full


def by_definition(audit: Audit, paper: PaperPrevalence | None, names: Iterator[str]) -> Group | None:
    """The rate of each model over thresholds, with the platform's as a line: one panel for each population."""
    populations = [name for name in POPULATIONS if any(curve.population == name for curve in audit.curves)]
    if not populations:
        return None
    panels = tuple(_curves(audit, population, paper, next(names)) for population in populations)
    legend = list(_legend(audit))
    chosen = {measure.threshold for measure in audit.measures if measure.threshold is not None}
    legend.append((swatch(_CHOSEN), f"threshold used here, {', '.join(f'{at:g}' for at in sorted(chosen))}"))
    if paper is not None:
        legend.append((swatch(_PAPER), f"reported by the paper, {percent(paper.rate)}"))
    note = (
        "A right answer is counted where its gain of mastery is at most the threshold; at 0, only where it gains "
        "nothing at all. Bands are 95 % intervals, clustered by learner."
    )
    return Group("", note, panels, tuple(legend))


def over_levels(audit: Audit, names: Iterator[str]) -> Group | None:
    """The rates by place in the learner's history, by the learner's accuracy, by month and by hour."""
    wanted = {
        "place": "Early and late events of a learner",
        "accuracy": "Learners by their right answers",
        "month": "Months",
        "hour": "Hours of the day",
    }
    drawn = [(title, breakdown) for name, title in wanted.items() if (breakdown := audit.breakdown(name)) is not None]
    drawn = [(title, breakdown) for title, breakdown in drawn if len(breakdown.levels) > 1]
    if not drawn:
        return None
    panels = tuple(_series(audit, title, breakdown, next(names)) for title, breakdown in drawn)
    note = "Bars are 95 % intervals, clustered by learner. Hollow points have fewer than 20 learners behind them."
    return Group(
        f"The rate by {', '.join(breakdown.name for _, breakdown in drawn)}", note, panels, _legend(audit, marker=True)
    )


def whisker(rate: Rate, overall: float | None, top: float, *, few: bool = False) -> Html:
    """A rate with its interval on a scale from 0 to `top`, small enough for a row of a table; a line is all of it."""
    width, middle = 220.0, "8"

    def at(value: float) -> str:
        return f"{4 + (width - 8) * min(value / top, 1.0):.1f}"

    def across(start: float, end: float, colour: str, thick: str) -> Html:
        return el("line", x1=at(start), x2=at(end), y1=middle, y2=middle, stroke=colour, stroke_width=thick)

    colour = MUTED if few else _STROKES["ema"].colour
    parts = [across(0.0, top, RULE, "1")]
    if overall is not None:
        parts.append(el("line", x1=at(overall), x2=at(overall), y1="0", y2="16", stroke=MUTED, stroke_width="1"))
    if rate.low is not None and rate.high is not None:
        parts.append(across(rate.low, rate.high, colour, "2.4"))
    if rate.rate is not None:
        dot = {"cx": at(rate.rate), "cy": middle, "r": "3.6", "fill": "#fff" if few else colour, "stroke": colour}
        parts.append(el("circle", **dot))
    return el("svg", *parts, viewBox=f"0 0 {width:g} 16", width=f"{width:g}", height="16", aria_hidden="true")


def _stroke(audit: Audit, measure: str) -> Stroke:
    unknown = [known.name for known in audit.measures if known.name not in _STROKES]
    return _STROKES[measure] if measure in _STROKES else _SPARE[unknown.index(measure) % len(_SPARE)]


def _legend(audit: Audit, *, marker: bool = False) -> Legend:
    return tuple((swatch(_stroke(audit, measure.name), marker=marker), measure.title) for measure in audit.measures)


def _curves(audit: Audit, population: Population, paper: PaperPrevalence | None, name: str) -> Panel:
    curves = [curve for curve in audit.curves if curve.population == population]
    judged = audit.rate(population=population, of="judged")

    def plot(axes: Axes) -> None:
        for curve in curves:
            _band(axes, curve, _stroke(audit, curve.measure))
        if any(measure.name == SIGNAL for measure in audit.measures):
            _level(axes, audit.rate(SIGNAL, population), _stroke(audit, SIGNAL))
        for threshold in {measure.threshold for measure in audit.measures if measure.threshold is not None}:
            axes.axvline(threshold, color=_CHOSEN.colour, linestyle=_CHOSEN.linestyle, linewidth=_CHOSEN.width)
        if paper is not None and population == "episodes":
            axes.axhline(paper.rate, color=_PAPER.colour, linestyle=_PAPER.linestyle, linewidth=_PAPER.width)
        axes.set_xscale("symlog", linthresh=_LEAST, linscale=0.6)
        axes.set(
            xlim=(-2e-6, 1.1),
            ylim=(-0.02, 1.02),
            xlabel="Threshold of the gain of mastery",
            ylabel="Right answers without gain",
        )
        axes.xaxis.set_major_locator(FixedLocator([0, 1e-4, 1e-3, 1e-2, 1e-1, 1]))
        plain_ticks(axes, x=True)
        axes.xaxis.set_minor_locator(FixedLocator([]))
        _per_cent(axes)

    title = POPULATIONS[population].capitalize()
    caption = f"{judged.analysed:,} interactions of {judged.learners:,} learners"
    return Panel(title, caption, draw(plot, name=name, describe=f"Rate over the threshold, {title}", size=(4.6, 3.1)))


def _band(axes: Axes, curve: Curve, style: Stroke) -> None:
    rate, low, high = _ends(curve.rates)
    axes.plot(curve.thresholds, rate, color=style.colour, linestyle=style.linestyle, linewidth=style.width)
    axes.fill_between(curve.thresholds, low, high, color=style.colour, alpha=0.18, linewidth=0)


def _level(axes: Axes, rate: Rate, style: Stroke) -> None:
    if rate.rate is not None:
        axes.axhline(rate.rate, color=style.colour, linestyle=style.linestyle, linewidth=style.width)
    if rate.low is not None and rate.high is not None:
        axes.axhspan(rate.low, rate.high, color=style.colour, alpha=0.18, linewidth=0)


def _ends(rates: Sequence[Rate]) -> Float[np.ndarray, "3 rates"]:
    """Rates, lower and upper ends as numbers, NaN where there are none, which leaves a gap."""
    return np.array([(rate.rate, rate.low, rate.high) for rate in rates], float).T


def _series(audit: Audit, title: str, breakdown: Breakdown, name: str) -> Panel:
    levels = breakdown.levels

    def plot(axes: Axes) -> None:
        for at, measure in enumerate(audit.measures):
            shift = 0.12 * (at - (len(audit.measures) - 1) / 2)
            _points(axes, levels, measure.name, _stroke(audit, measure.name), shift)
        steps = max(1, -(-len(levels) // _MOST_TICKS))
        ticks = list(range(0, len(levels), steps))
        axes.set_xticks(ticks, [_short(levels[tick].label) for tick in ticks])
        axes.tick_params(axis="x", labelsize=7.5)
        axes.set(ylabel="Rate", xlabel=breakdown.title, xlim=(-0.6, len(levels) - 0.4))
        top = max((rate.high or rate.rate or 0.0) for level in levels for rate in level.rates.values())
        axes.set_ylim(-0.03 * max(top, 0.01), 1.05 * max(top, 0.01))
        _per_cent(axes)

    return Panel(title, "", draw(plot, name=name, describe=f"Rate by {breakdown.title.lower()}", size=(4.6, 2.7)))


def _points(axes: Axes, levels: Sequence[Level], measure: str, style: Stroke, shift: float) -> None:
    rates = [level.rates[measure] for level in levels]
    rate, low, high = _ends(rates)
    x = np.arange(len(levels)) + shift
    axes.plot(x, rate, color=style.colour, linestyle=style.linestyle, linewidth=0.9)
    axes.vlines(x, low, high, color=style.colour, linewidth=1.6)
    many = np.array([level_rate.learners >= _FEWEST for level_rate in rates])
    for which, fill in ((many, style.colour), (~many, "white")):
        axes.plot(
            x[which],
            rate[which],
            color=style.colour,
            linestyle="",
            marker=style.marker,
            markerfacecolor=fill,
            markersize=3.8,
        )


def _per_cent(axes: Axes) -> None:
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.3g} %"))


def _short(label: str) -> str:
    """The first number of a range is enough under a tick: the ranges follow each other."""
    return label.split("–")[0] + ("+" if "–" in label and "%" not in label else "")
