"""The page of a fitted model of learners: of the answers that it gave about the same chance, how many were right."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from mccpo.mastery.fitting import Diagnostics
from mccpo.report.figures.drawing import INK, MUTED, STROKES, Stroke, draw, swatch
from mccpo.report.figures.panels import Group, Panel
from mccpo.report.markup import el, join
from mccpo.report.page.html import figures, page
from mccpo.report.preparation.table import plain_table

RELIABILITY_PAGE = "reliability.html"
_SHARE, _EQUAL = STROKES["mc-cpo"], Stroke(INK, (4, 3), "", 0.9)


def render_reliability(model: str, result: Diagnostics) -> str:
    """The text of the page: one file, which needs no network and no script."""
    title = f"How far {model} can be believed"
    said = (
        f"Judged on {result.events:,} answers of {result.learners:,} learners who were held out: AUC {result.auc:.3f}, "
        f"log-loss {result.log_loss:.3f}, where a constant has {result.constant_log_loss:.3f}. The mean distance from "
        f"the diagonal, by answers, is {result.ece:.3f}."
    )
    rows = [
        (
            f"{one.predicted:.3f}",
            f"{one.correct:.3f}",
            "–" if one.interval is None else f"{one.interval.low:.3f} to {one.interval.high:.3f}",
            f"{one.events:,}",
        )
        for one in result.reliability
    ]
    table = plain_table(("Predicted", "right", "95 %", "answers"), rows)
    parts = [el("h1", title), el("p", said, class_="finding"), figures(_diagram(result)), table]
    return page(title, el("main", el("section", join(*parts, between="\n")), class_="audit"))


def _diagram(result: Diagnostics) -> Group:
    bins = result.reliability

    def plot(axes: Axes) -> None:
        axes.plot([0, 1], [0, 1], color=_EQUAL.colour, linestyle=_EQUAL.linestyle, linewidth=_EQUAL.width)
        sure = [(one.predicted, one.interval) for one in bins if one.interval is not None]
        axes.vlines(
            [at for at, _ in sure], [ends.low for _, ends in sure], [ends.high for _, ends in sure], color=MUTED
        )
        x, y = [one.predicted for one in bins], [one.correct for one in bins]
        axes.plot(x, y, color=_SHARE.colour, marker=_SHARE.marker, markersize=4, linewidth=_SHARE.width)
        axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="Chance that the model gave", ylabel="Answered right")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f} %"))

    svg = draw(plot, name="r1", describe="Share of right answers against the chance given", size=(4.8, 4.2))
    legend = ((swatch(_SHARE, marker=True), "held-out learners"), (swatch(_EQUAL), "as many right as said"))
    note = "One point for each tenth of the chances. Bars are 95 % intervals, with learners resampled."
    return Group("Reliability", note, (Panel("", "", svg),), legend)
