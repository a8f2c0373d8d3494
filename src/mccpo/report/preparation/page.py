"""The page of a prepared folder: whether held-out learners bear out the gate, and how far the judges can be trusted."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from mccpo.experiments.prepare import ConceptCalibration, PreparedDocument
from mccpo.report.figures.drawing import INK, MUTED, STROKES, Stroke, draw, swatch
from mccpo.report.figures.panels import Group, Panel
from mccpo.report.markup import Html, el, join
from mccpo.report.page.html import figures, page
from mccpo.report.preparation.table import plain_table

PAGE = "prepared.html"
_BORNE_OUT, _CONTRADICTED = STROKES["mc-cpo"], Stroke("#D55E00", (), "s")
_EQUAL = Stroke(INK, (4, 3), "", 0.9)
_WIDTH = 1.645  # standard errors, by which the gate is judged, too


def render_preparation(name: str, document: PreparedDocument) -> str:
    """The text of the page: one file, which needs no network and no script."""
    title = f"Prepared from logs: {name}"
    parts = [
        el("h1", title),
        el("h2", "Does the gate keep its word?"),
        *_calibration(document),
        el("h2", "Who judges"),
        _judges(document),
        *_agreement(document),
        *_warnings(document),
    ]
    return page(title, el("main", el("section", join(*parts, between="\n")), class_="audit"))


def _calibration(document: PreparedDocument) -> list[Html]:
    gate = document.calibration
    if gate is None or not gate.concepts:
        return [el("p", "No concept is called mastered of enough held-out learners to tell, or θ opens the gate.")]
    said = (
        f"Where the gate calls a concept mastered, {gate.right:.1%} of {gate.answers:,} answers of held-out learners "
        f"are right; the model said {gate.said:.1%}. For {gate.stricter} of {len(gate.concepts)} concepts the gate was "
        "made stricter, as these very answers asked for; so this is no independent check of it."
    )
    return [el("p", said, class_="finding"), figures(_diagram(gate.concepts)), _concepts(gate.concepts)]


def _diagram(rows: Sequence[ConceptCalibration]) -> Group:
    def plot(axes: Axes) -> None:
        least = min(min(row.said, row.right - _WIDTH * row.error) for row in rows)
        axes.plot([0, 1], [0, 1], color=_EQUAL.colour, linestyle=_EQUAL.linestyle, linewidth=_EQUAL.width)
        for style, kind in ((_BORNE_OUT, True), (_CONTRADICTED, False)):
            own = [row for row in rows if row.borne_out is kind]
            x, y = [row.said for row in own], [row.right for row in own]
            low, high = ([row.right + side * _WIDTH * row.error for row in own] for side in (-1, 1))
            axes.vlines(x, low, high, color=MUTED, linewidth=0.8)
            axes.scatter(x, y, s=16, color=style.colour, marker=style.marker, zorder=3)
        floor = max(0.0, least - 0.02)
        axes.set(xlim=(floor, 1.01), ylim=(floor, 1.01), xlabel="The model said", ylabel="Answered right")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f} %"))

    svg = draw(plot, name="c1", describe="Share of right answers against what the model said", size=(4.8, 4.2))
    legend = (
        (swatch(_BORNE_OUT, marker=True), "a concept that held-out learners bear out"),
        (swatch(_CONTRADICTED, marker=True), "one that they contradict, however strict the gate"),
        (swatch(_EQUAL), "as many right as said"),
    )
    note = (
        "One point for each concept that the gate calls mastered of 20 held-out learners or more. Bars are 90 % "
        "intervals, learners counted and not answers."
    )
    return Group("Right answers where the gate says mastered", note, (Panel("", "", svg),), legend)


def _concepts(rows: Sequence[ConceptCalibration]) -> Html:
    names = ("Concept", "learners", "answers", "said", "right", "gate halved", "borne out")
    cells = [
        (
            row.concept,
            f"{row.learners:,}",
            f"{row.answers:,}",
            f"{row.said:.1%}",
            f"{row.right:.1%}",
            f"{row.halvings}×" if row.halvings else "",
            "yes" if row.borne_out else "no",
        )
        for row in sorted(rows, key=lambda row: row.right - row.said)
    ]
    return plain_table(names, cells)


def _judges(document: PreparedDocument) -> Html:
    names = ("File", "learners", "AUC", "log-loss", "a constant's", "judges")
    cells = []
    for judge in document.judges:
        loss = judge.held_out
        numbers = ("–",) * 3 if loss is None else tuple(f"{value:.3f}" for value in (loss.auc, loss[0], loss[1]))
        cells.append((judge.file, judge.kind, *numbers, "yes" if judge.refused is None else "no"))
    text = "Each model was fitted to other people than the tutor's, and predicts the tutor's."
    refused = [judge for judge in document.judges if judge.refused is not None]
    reasons = [el("p", f"{judge.file} does not judge: {judge.refused}.") for judge in refused]
    return join(el("p", text), plain_table(names, cells), *reasons)


def _agreement(document: PreparedDocument) -> list[Html]:
    gains = document.agreement.gains
    if not gains:
        return []
    text = (
        "Simple rules teach every kind of learners for an episode. Before and after, each learner takes a test of one "
        "question on every concept: how many answers are right before, and how many more after."
    )
    cells = [(gain.rule, gain.file, f"{gain.before:.1%}", f"{gain.gain:+.1%}") for gain in gains]
    said = [el("p", line) for line in document.agreement.disagreements]
    return [
        el("h2", "Where the kinds disagree"),
        el("p", text),
        plain_table(("Rule", "learners", "right before", "more after"), cells),
        *(said or [el("p", "On no rule does one kind gain three times as much as another.")]),
    ]


def _warnings(document: PreparedDocument) -> list[Html]:
    if not document.warnings:
        return []
    return [el("h2", "Warnings"), el("ul", *(el("li", line) for line in document.warnings))]
