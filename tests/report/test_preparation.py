"""The page of a prepared folder: the calibration as a diagram and a table, the judges, and where they disagree."""

from dataclasses import replace

import pytest

from mccpo.experiments.prepare.agreement import Agreement, KindGain
from mccpo.experiments.prepare.calibration import ConceptCalibration, GateCalibration
from mccpo.experiments.prepare.document import (
    DemandSummary,
    EpisodeSummary,
    EventCounts,
    GraphSummary,
    LogOrigin,
    PreparedDocument,
)
from mccpo.experiments.prepare.engagement import Engagement
from mccpo.experiments.prepare.held_out import HeldOut, HeldOutLosses
from mccpo.experiments.prepare.judges import reported
from mccpo.experiments.prepare.options import PrepareOptions
from mccpo.experiments.prepare.training_learners import ModelChoice
from mccpo.report.preparation import render_preparation

GOOD, BAD = HeldOut(0.55, 0.64, 0.72), HeldOut(0.66, 0.64, 0.5)
FIT = Engagement(0.8, 1.0, 0.1, 0.1, 0.6)
ROWS = (
    ConceptCalibration("adding & <more>", 40, 300, 0.80, 0.81, 0, True, 0.02),
    ConceptCalibration("fractions", 25, 120, 0.85, 0.70, 10, False, 0.04),
)


class _Fits:
    def as_json(self):
        return {}


@pytest.fixture
def document():
    return PreparedDocument(
        origin=LogOrigin("logs"),
        options=PrepareOptions(ready=0.95),
        graph=GraphSummary(2, 1, {}, None),
        groups=(),
        events=EventCounts(1, 1, 1),
        episodes=EpisodeSummary(10, 5.0, 5, "0"),
        tutor_learners=5,
        judge_learners=5,
        tutor_engagement=FIT,
        judge_engagement=FIT,
        demand=DemandSummary([], 0.1, 0.9),
        models=_Fits(),
        held_out=HeldOutLosses(GOOD, GOOD),
        choice=ModelChoice("bkt", {}),
        judges=(
            reported("judge.json", GOOD),
            reported("judge-best-lr.json", BAD),
            reported("judge-recurrent.json", None, "few"),
        ),
        agreement=Agreement((KindGain("random-ready", "judge.json", 0.5, 0.04),), ("with random-ready, x and y",)),
        calibration=GateCalibration(ROWS),
        warnings=("something is doubtful; look at it",),
    )


def test_the_page_shows_calibration_judges_and_disagreements(document):
    page = render_preparation("mine", document)
    assert page.count("<svg") >= 1 + 3  # the diagram, and the legend's swatches
    assert "adding &amp; &lt;more&gt;" in page
    assert page.index("fractions") < page.index("adding &amp;")  # what falls short most comes first
    assert "10×" in page
    assert "0.720" in page
    assert "does not judge: it predicts held-out learners no better than a constant" in page
    assert "does not judge: few" in page
    assert "+4.0%" in page
    assert "with random-ready, x and y" in page
    assert "something is doubtful; look at it" in page
    assert render_preparation("mine", document) == page


def test_without_answers_there_is_no_diagram(document):
    bare = replace(document, calibration=None, agreement=Agreement(), warnings=())
    page = render_preparation("mine", bare)
    assert "of enough held-out learners to tell" in page
    assert "<svg" not in page
    assert "Where the kinds disagree" not in page
    assert "Warnings" not in page
