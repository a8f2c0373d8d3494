"""Measures against their definitions, and regressions against scipy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from mccpo.mastery import BKT, PFA, Prediction
from mccpo.mastery.fitting import auc, by_event, calibration_error, diagnose, fit, practice, reliability
from mccpo.mastery.fitting.fit import PENALTY
from mccpo.mastery.fitting.logistic import fit_logistic


@given(st.lists(st.tuples(st.sampled_from([0.1, 0.25, 0.5, 0.9]), st.booleans()), min_size=1, max_size=30))
def test_auc_by_all_pairs(pairs):
    said, correct = np.array([one for one, _ in pairs]), np.array([one for _, one in pairs])
    contests = [
        1.0 if right > wrong else 0.5 if right == wrong else 0.0 for right in said[correct] for wrong in said[~correct]
    ]
    if contests:
        assert auc(said, correct) == pytest.approx(np.mean(contests))
    else:
        assert np.isnan(auc(said, correct))


def test_an_event_counts_once_with_the_mean_of_its_concepts(make):
    rows = [("u", "a", 1, 0), ("u", "b", 1, 0), ("u", "a", 0, 1), ("v", "a", 1, 2)]
    chances = np.array([0.2, 0.6, 0.5, 0.9])
    said, correct = by_event(Prediction(chances, chances), make(rows))
    assert said.correct == pytest.approx([0.4, 0.5, 0.9])
    assert correct.tolist() == [True, False, True]


def test_calibration_by_hand():
    said = np.array([0.05, 0.15, 0.15, 1.0])
    correct = np.array([False, True, False, True])
    bins = reliability(said, correct)
    assert [(one.low, one.events, one.correct) for one in bins] == [
        (0.0, 1, 0.0),
        (0.1, 2, 0.5),
        (0.9, 1, 1.0),
    ]
    assert calibration_error(bins) == pytest.approx((0.05 + 2 * 0.35 + 0.0) / 4)


def test_diagnosis_by_hand(make):
    model = BKT(*(np.array([one, one]) for one in (0.8, 0.1, 0.2, 0.1)), concepts=("a",))
    result = diagnose(model, make([("u", "a", 1), ("u", "a", 0), ("v", "a", 0)]), theta=0.85)
    first = 0.8 * 0.9 + 0.2 * 0.2
    known = 0.8 * 0.9 / first
    known += (1 - known) * 0.1
    second = known * 0.9 + (1 - known) * 0.2
    assert result.events == 3
    assert result.log_loss == pytest.approx(-np.mean(np.log([first, 1 - second, 1 - first])))
    assert result.rmse == pytest.approx(np.sqrt(np.mean([(1 - first) ** 2, second**2, first**2])))
    assert result.auc == pytest.approx((0.0 + 0.5) / 2)
    gate = result.at_theta
    assert (gate.events, gate.correct) == (1, 0.0)
    assert gate.predicted == pytest.approx(second)


def test_no_event_beyond_the_threshold(make):
    model = BKT(*(np.array([one, one]) for one in (0.1, 0.1, 0.2, 0.1)), concepts=("a",))
    assert diagnose(model, make([("u", "a", 0), ("u", "a", 1)]), theta=0.9).at_theta.predicted is None


def test_regressions_find_scipys_optimum(draw):
    group = draw.integers(0, 3, 400)
    features = np.stack([np.ones(400), draw.exponential(size=400), draw.normal(size=400) * 3])
    correct = draw.uniform(size=400) < 1 / (1 + np.exp(-(0.5 - features[1] + 0.2 * group * features[2])))
    correct[group == 2] = True  # separable but for the penalty
    found = fit_logistic(features, correct, group, penalty=0.3)
    assert found.converged.all()
    for at in range(3):
        x, sign = features[:, group == at], np.where(correct[group == at], 1, -1)
        loss = lambda b, x=x, s=sign: np.logaddexp(0, -s * (b @ x)).sum() + 0.15 * b @ b  # noqa: E731
        peak = minimize(loss, np.zeros(3), tol=1e-10)
        np.testing.assert_allclose(found.coefficients[at], peak.x, atol=1e-4)


def test_performance_factors_are_fitted_to_decayed_counts(make, draw):
    rows = [(f"l{who:03d}", "ab"[who % 2], draw.uniform() < 0.5 + 0.05 * at) for who in range(200) for at in range(8)]
    responses = make(rows)
    model = fit("pfa", responses).model
    assert isinstance(model, PFA)
    before = practice(responses, model.decay)
    on_a = responses.concept == 0
    x = np.stack([np.ones(on_a.sum()), before.successes[on_a], before.failures[on_a]])
    sign = np.where(responses.correct[on_a], 1, -1)
    peak = minimize(lambda b: np.logaddexp(0, -sign * (b @ x)).sum() + PENALTY / 2 * b @ b, np.zeros(3), tol=1e-10)
    np.testing.assert_allclose([model.ease[0], model.success[0], model.failure[0]], peak.x, atol=1e-4)


def test_the_moving_average_starts_at_the_share_of_right_first_answers(make):
    rows = [("u", "a", 1), ("u", "a", 0), ("v", "a", 0), ("w", "a", 1), ("w", "b", 1)]
    model = fit("ema", make(rows)).model
    np.testing.assert_allclose(model.start, [2 / 3, 1.0, 3 / 4])
