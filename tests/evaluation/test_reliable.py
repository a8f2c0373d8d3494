"""Reliable statistics against scipy, against plain loops, and their intervals against all resamples there are."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import mannwhitneyu, t, trim_mean

from mccpo.errors import InputError
from mccpo.evaluation.reliable import (
    interquartile_mean,
    iqm,
    probability_of_improvement,
    profile,
    relative_to_best,
)

SCORES = arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=st.integers(-5, 5).map(float))
MANY = 20_000


def every_resample(scores):
    """All equally likely stratified resamples of a small array."""
    runs, environments = scores.shape
    columns = [[scores[list(drawn), at] for drawn in product(range(runs), repeat=runs)] for at in range(environments)]
    return [np.stack(chosen, axis=1) for chosen in product(*columns)]


def quantiles(values):
    return np.quantile(values, [0.025, 0.975], axis=0)


@given(SCORES)
def test_the_interquartile_mean_is_the_trimmed_mean_of_all_scores(scores):
    assert interquartile_mean(scores) == pytest.approx(trim_mean(scores.ravel(), 0.25))


def test_intervals_match_all_stratified_resamples():
    scores = np.array([[0.1, 0.7], [0.4, 0.9], [0.2, 0.3]])  # 27 × 27 resamples
    spread = np.std([trim_mean(drawn.ravel(), 0.25) for drawn in every_resample(scores)])
    found = iqm(scores, resamples=MANY)
    half = t.ppf(0.975, 2 * (3 - 1)) * spread * np.sqrt(3 / 2)
    assert (found.low, found.high) == pytest.approx((found.value - half, found.value + half), abs=0.01)
    assert found.value == pytest.approx(trim_mean(scores.ravel(), 0.25))
    at = profile(scores, [0.25], resamples=MANY)
    low, high = quantiles([(drawn > 0.25).mean() for drawn in every_resample(scores)])
    assert (at.low[0], at.high[0]) == pytest.approx((low, high), abs=0.01)


def test_scores_are_relative_to_the_best_of_every_resample():
    methods = {"a": {"here": [0.2, 0.6], "there": [0.0]}, "b": {"here": [0.1, 0.1], "there": [0.0]}}
    found = relative_to_best(methods, {"beside": {"here": [0.8, 0.8]}}, resamples=200)
    assert found["a"].scores == pytest.approx(np.array([[0.5, 0.0]]))  # as many runs as there are of all
    assert found["beside"].scores == pytest.approx(np.full((2, 1), 2.0))
    # The best is a's mean in every resample: 0.2, 0.4 or 0.6.
    assert set(np.round(found["b"].drawn[:, 0, 0], 6)) == {0.5, 0.25, round(1 / 6, 6)}
    assert set(np.round(found["beside"].drawn[:, 0, 0], 6)) == {4.0, 2.0, round(4 / 3, 6)}
    assert (found["a"].drawn[:, :, 1] == 0).all()  # where nobody has anything


def test_a_normaliser_that_varies_widens_the_interval():
    methods = {"best": {"here": [0.5, 1.0, 1.5]}, "steady": {"here": [0.5, 0.5, 0.5]}}
    found = iqm(relative_to_best(methods)["steady"])
    assert found.value == pytest.approx(0.5)
    assert found.low < found.value < found.high


def test_a_method_is_as_good_as_itself_however_it_is_drawn():
    """The best relative to itself is 1 on average in every resample, and so is nothing left to chance by its mean."""
    found = relative_to_best({"best": {"here": [0.5, 1.0, 1.5]}, "other": {"here": [0.1, 0.1, 0.1]}})["best"]
    assert found.drawn.mean(axis=(1, 2)) == pytest.approx(np.ones(len(found.drawn)))


def test_a_single_run_has_no_interval():
    assert np.isnan(iqm(np.array([[0.5, 0.7]])).low)


def test_the_bootstrap_is_stratified():
    """Runs that agree within each environment leave nothing to chance, however far apart the environments are."""
    scores = np.tile([0.0, 1.0, 5.0], (4, 1))
    found = iqm(scores)
    assert found.low == found.value == found.high


@given(SCORES)
def test_profiles_are_shares_of_runs(scores):
    taus = [-6.0, -0.5, 0.0, 2.0, 5.0]
    found = profile(scores, taus, resamples=10)
    assert found.share == pytest.approx([sum(score > tau for score in scores.ravel()) / scores.size for tau in taus])
    assert found.share[0] == 1
    assert found.share[-1] == 0


@given(SCORES, SCORES)
def test_the_probability_of_improvement_matches_mann_and_whitney(ours, theirs):
    environments = min(ours.shape[1], theirs.shape[1])
    ours, theirs = ours[:, :environments], theirs[:, :environments]
    wins = [
        mannwhitneyu(ours[:, at], theirs[:, at]).statistic / (len(ours) * len(theirs)) for at in range(environments)
    ]
    assert probability_of_improvement(ours, theirs, resamples=5).value == pytest.approx(np.mean(wins))


def test_the_interval_of_the_probability_matches_all_resamples_of_both():
    ours, theirs = np.array([[0.1], [0.5], [0.6]]), np.array([[0.2], [0.4], [0.7]])
    pairs = product(every_resample(ours), every_resample(theirs))
    low, high = quantiles([float((one > other.T).mean()) for one, other in pairs])
    found = probability_of_improvement(ours, theirs, resamples=MANY)
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.02)


@pytest.mark.parametrize("scores", [np.zeros((0, 2)), np.zeros(3), np.array([[np.nan]])])
def test_what_cannot_be_averaged_is_refused(scores):
    with pytest.raises(InputError):
        iqm(scores)


def test_other_environments_are_refused():
    with pytest.raises(InputError, match="environments"):
        probability_of_improvement(np.ones((2, 2)), np.ones((2, 3)))
