"""Intervals with learners resampled, and the warnings that come with a model."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mccpo.mastery import BKT, EMA
from mccpo.mastery.fitting import FitSettings, Stop, auc, diagnose, fit, warnings_of
from mccpo.mastery.fitting.fit import Fitted
from mccpo.mastery.fitting.intervals import Resamples, interval
from mccpo.mastery.fitting.reports import AverageReport


@settings(max_examples=20)
@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.sampled_from([0.1, 0.25, 0.5, 0.9]), st.booleans()), min_size=1, max_size=25
    )
)
def test_a_resample_measures_what_its_events_written_out_measure(events):
    learner, said, correct = (np.array(column) for column in zip(*events, strict=True))
    resamples = Resamples.draw(learner)
    resamples = resamples._replace(counts=resamples.counts[:5])
    aucs, means = resamples.auc(said, correct), resamples.mean(said)
    for count, found, mean in zip(resamples.counts, aucs, means, strict=True):
        rows = np.repeat(np.arange(len(said)), count[resamples.learner].astype(int))
        np.testing.assert_allclose(found, auc(said[rows], correct[rows]))
        assert mean == pytest.approx(said[rows].mean())


def test_repeated_answers_of_a_learner_do_not_narrow_the_interval(draw):
    """The interval of a mean over 60 learners is that of 60 numbers, however often each is there."""
    value = draw.normal(size=60)
    narrow, wide = (
        np.diff(interval(Resamples.draw(np.repeat(np.arange(60), times)).mean(np.repeat(value, times))))[0]
        for times in (1, 50)
    )
    assert wide == pytest.approx(narrow)
    assert wide == pytest.approx(2 * 1.96 * value.std() / np.sqrt(60), rel=0.15)


def test_one_learner_has_no_interval(make):
    model = BKT(*(np.array([one, one]) for one in (0.8, 0.1, 0.2, 0.1)), concepts=("a",))
    result = diagnose(model, make([("u", "a", 1), ("u", "a", 0)]), intervals=True)
    assert result.intervals == {}
    assert all(one_bin.interval is None for one_bin in result.reliability)
    assert result.constant_log_loss == pytest.approx(np.log(2))


def test_intervals_hold_what_they_are_of(make, draw):
    rows = [(f"l{who:02d}", "a", draw.uniform() < 0.3 + 0.05 * at) for who in range(40) for at in range(10)]
    responses = make(rows)
    result = diagnose(fit("pfa", responses).model, responses, intervals=True)
    for name in ("auc", "log_loss", "rmse"):
        low, high = result.intervals[name]
        assert low < getattr(result, name) < high
    for one_bin in result.reliability:
        low, high = one_bin.interval
        assert low <= one_bin.correct <= high
    told = result.as_json()
    assert told["constant"]["gain"] == pytest.approx(result.constant_log_loss - result.log_loss)
    assert told["intervals"]["gain"][0] > 0


def warned(name, responses, held=None, **settings):
    fitted = fit(name, responses, FitSettings(**settings))
    return " | ".join(warnings_of(fitted, responses, diagnose(fitted.model, held or responses, intervals=True)))


def test_a_model_that_does_not_beat_a_constant(make, draw):
    rows = [(f"l{who:02d}", "a", draw.uniform() < 0.5) for who in range(40) for _ in range(10)]
    responses = make(rows)
    wrong = Fitted(EMA(np.array([0.95, 0.95]), concepts=("a",)), AverageReport())
    assert "no better than a constant" in " ".join(warnings_of(wrong, responses, diagnose(wrong.model, responses)))
    halves = responses.where(responses.learner < 20), responses.where(responses.learner >= 20)
    assert "no better than a constant" in warned("pfa", *halves)


def test_a_good_model_of_enough_learners_is_not_warned_of(make, generate, draw):
    rows = generate(draw, 60, 12, prior=0.3, learn=0.2, guess=0.15, slip=0.1)
    assert warned("bkt", make(rows), restarts=2) == ""


def test_bounds_steps_and_few_learners_are_told(make, generate, draw):
    rows = generate(draw, 9, 8, prior=0.5, learn=0.1, guess=0.9, slip=0.05)
    told = warned("bkt", make(rows), restarts=1, stop=Stop(tolerance=1e-12, steps=2), bound=0.2)
    assert "guess is at its bound of 0.2 for 1 concept ('c')" in told
    assert "did not converge for 1 concept" in told
    assert "judged on 9 learners" in told
    assert "fewer than 10 learners are there to fit 1 concept" in told


def test_logs_without_items_and_answers_that_are_all_alike(make):
    told = warned("best-lr", make([(f"l{who}", "a", True) for who in range(12)]))
    assert "no items" in told
    assert "there is no AUC" in told
