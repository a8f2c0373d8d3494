"""The gate against held-out learners: kept where they bear it out, stricter where they do not."""

import numpy as np
import pytest

from mccpo.curriculum import Curriculum
from mccpo.experiments.prepare import calibration
from mccpo.experiments.prepare.calibration import HeldOutAnswers, calibrate, folds, held_out_answers
from mccpo.experiments.prepare.checks import environment_warnings
from mccpo.experiments.prepare.gate_reach import GateReach
from mccpo.experiments.prepare.held_out import HeldOut, HeldOutLosses
from mccpo.mastery import Responses
from mccpo.mastery.fitting import FitSettings

CONFIDENCE = 0.9
LEARNERS, ANSWERS = 300, 12
SETTINGS = FitSettings(restarts=2, workers=1)
OPEN = GateReach(locked=5, concepts=10, fewest_lessons=2, expected_lessons=6, flag="ready", asked=0.9, horizon=40)
GOOD = HeldOutLosses(HeldOut(0.5, 0.6), HeldOut(0.5, 0.6))
GRAPH = Curriculum.from_edges([("a", "b")])


def logs(seed=0):
    """Learners of knowledge tracing on a and b."""
    rng = np.random.default_rng(seed)
    rows = []
    for who in range(LEARNERS):
        for at in range(2):
            known = rng.random() < 0.4
            for _ in range(ANSWERS):
                rows.append((who, at, rng.random() < (0.95 if known else 0.1)))
                known = known or rng.random() < 0.15
    learner, concept, correct = (np.array(column) for column in zip(*rows, strict=True))
    return Responses(
        learner.astype(np.int32), concept.astype(np.int32), correct.astype(bool), np.arange(len(rows)),
        np.zeros(len(rows)), tuple(map(str, range(LEARNERS))), GRAPH.concepts,
    )  # fmt: skip


def test_where_the_model_is_right_the_gate_stays_as_it_was():
    doubt, found = calibrate(logs(), GRAPH, np.array([0.2, 0.1]), CONFIDENCE, SETTINGS)
    assert doubt.tolist() == pytest.approx([0.2, 0.1])
    assert [row.concept for row in found.concepts] == ["a", "b"]
    assert found.stricter == 0
    assert found.contradicted == ()
    assert found.right == pytest.approx(found.said, abs=0.02)
    assert found.answers == sum(row.answers for row in found.concepts) > LEARNERS


def test_where_answers_contradict_the_model_the_gate_asks_for_more(monkeypatch):
    """On a, the model said 0.95 and was right from a mastery of 0.99 on alone; on b it was always right."""
    rng = np.random.default_rng(0)
    learner, concept = np.repeat(np.arange(200), 20), np.tile([0, 1], 2000)
    mastery = np.tile(np.repeat([0.92, 0.95, 0.97, 0.992, 0.999], 2), 400)
    chance = np.where((concept == 0) & (mastery < 0.99), 0.6, 0.95)
    told = HeldOutAnswers(learner, concept, rng.random(4000) < chance, mastery, np.full(4000, 0.95))
    monkeypatch.setattr(calibration, "held_out_answers", lambda *_: told)
    doubt, found = calibrate(logs(), GRAPH, np.zeros(2), CONFIDENCE, SETTINGS)
    a, b = found.concepts
    assert (b.halvings, doubt[1]) == (0, 0.0)
    assert 0.97 < GRAPH.enough(CONFIDENCE, doubt)[0] <= 0.992  # the first halving that leaves out what was wrong
    assert a.borne_out
    assert doubt[0] == 1 - 0.5**a.halvings
    assert a.answers == 800


def test_what_no_strictness_mends_is_named(monkeypatch):
    told = HeldOutAnswers(np.arange(400) // 4, np.zeros(400, int), np.zeros(400, bool), np.ones(400), np.full(400, 0.9))
    monkeypatch.setattr(calibration, "held_out_answers", lambda *_: told)
    _, found = calibrate(logs(), GRAPH, np.zeros(2), CONFIDENCE, SETTINGS)
    assert found.contradicted == ("a",)
    assert "gate calls mastered, such as 'a'" in "".join(environment_warnings(100, OPEN, GOOD, 0.99, found))
    assert found.as_json()["stricter"] == 1


def test_nobody_is_judged_by_a_model_that_was_fitted_to_them():
    """The word on the first answers of a fold stays the same whatever its learners answer."""
    responses = logs()
    before = held_out_answers(responses, SETTINGS)
    own = folds(responses, SETTINGS.seed) == 0
    fold = np.unique(responses.learner[own])
    after = held_out_answers(responses._replace(correct=responses.correct ^ own), SETTINGS)
    for name in ("learner", "concept"):
        assert np.array_equal(getattr(before, name), getattr(after, name))
    _, first = np.unique(before.learner.astype(int) * 2 + before.concept, return_index=True)
    held = first[np.isin(before.learner[first], fold)]
    np.testing.assert_allclose(before.said[held], after.said[held])
    others = first[~np.isin(before.learner[first], fold)]
    assert not np.allclose(before.said[others], after.said[others])


def test_few_learners_contradict_nothing():
    few = logs()
    few = few.where(few.learner < 12)
    doubt, found = calibrate(few, GRAPH, np.zeros(2), CONFIDENCE, SETTINGS)
    assert found.concepts == ()
    assert doubt.tolist() == [0.0, 0.0]
    assert np.isnan(found.said)
