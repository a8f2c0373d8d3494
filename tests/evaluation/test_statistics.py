"""Summaries and tests against closed forms and against scipy's own functions on data where those apply."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mccpo.errors import InputError
from mccpo.evaluation import summarise, welch

VALUES = [3.1, 2.9, 3.4, 3.0, 2.8, 3.3, 3.2, 2.7]


def test_summary_of_known_values() -> None:
    summary = summarise([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 100.0])
    assert summary.mean == 16.0
    assert summary.std == pytest.approx(np.std([1, 2, 3, 4, 5, 6, 7, 100], ddof=1))
    assert summary.iqm == 4.5  # the mean of 3, 4, 5, 6
    assert summary.per_seed == (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 100.0)


def test_interval_is_near_the_normal_one_for_a_large_normal_sample() -> None:
    sample = np.random.default_rng(5).normal(10.0, 2.0, size=400)
    low, high = summarise(sample).ci
    half = 1.96 * sample.std(ddof=1) / math.sqrt(400)
    assert low == pytest.approx(sample.mean() - half, abs=0.03)
    assert high == pytest.approx(sample.mean() + half, abs=0.03)


def test_interval_is_a_function_of_values_and_key() -> None:
    assert summarise(VALUES, key=3) == summarise(np.array(VALUES), key=3)
    irregular = np.random.default_rng(1).lognormal(size=30)
    assert summarise(irregular, key=3).ci != summarise(irregular, key=4).ci


@pytest.mark.parametrize("values", [[2.0], [2.941] * 10, [0.1 + 0.2, 0.3, 0.3], [0.0, 0.0]])
def test_values_that_do_not_vary_have_no_spread(values: list[float]) -> None:
    summary = summarise(values)
    assert summary.std == 0.0
    assert summary.ci == (summary.mean, summary.mean)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([0.0, 1e-9, 0.5, 1.0, 4.9e6]), min_size=1, max_size=12))
def test_every_summary_is_finite_json_with_the_mean_among_the_values(values: list[float]) -> None:
    summary = summarise(values)
    json.dumps(summary.as_json(), allow_nan=False)
    low, high = summary.ci
    slack = 1e-9 * max(values)
    assert min(values) - slack <= low <= high <= max(values) + slack


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_is_named(bad: float) -> None:
    with pytest.raises(InputError, match=r"per_seed\[1\]"):
        summarise([1.0, bad, 2.0])
    with pytest.raises(InputError, match=r"b\[0\]"):
        welch([1.0, 2.0], [bad, 1.0])


@pytest.mark.parametrize("bad", [[], [[1.0, 2.0]]])
def test_something_other_than_one_number_per_seed_is_refused(bad: list[float]) -> None:
    with pytest.raises(InputError, match="shape"):
        summarise(bad)


def test_welch_is_scipys() -> None:
    other = [2.1, 2.6, 2.2, 2.4, 2.3]
    outcome = welch(VALUES, other)
    expected = stats.ttest_ind(VALUES, other, equal_var=False)
    assert outcome.t == pytest.approx(expected.statistic)
    assert outcome.p == pytest.approx(expected.pvalue)
    assert outcome.means == (pytest.approx(3.05), pytest.approx(2.32))


def test_cohens_d_is_the_difference_in_pooled_deviations() -> None:
    # Both samples have variance 1, so d is the difference of the means.
    assert welch([4.0, 5.0, 6.0], [1.0, 2.0, 3.0]).cohens_d == pytest.approx(3.0)


def test_welch_changes_sign_when_the_samples_change_places() -> None:
    there, back = welch(VALUES, [1.0, 2.0, 4.0]), welch([1.0, 2.0, 4.0], VALUES)
    assert there.t is not None
    assert back.t == pytest.approx(-there.t)
    assert back.p == pytest.approx(there.p)


def test_welch_works_when_one_sample_is_constant() -> None:
    outcome = welch([3.0, 3.1, 3.2], [2.941] * 10)
    deviation = 0.1
    assert outcome.t == pytest.approx((3.1 - 2.941) / (deviation / math.sqrt(3)))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([1.0, 1.0], [1.0, 1.0]),
        ([1.0, 1.0], [2.0, 2.0]),
        ([1.0], [2.0, 3.0]),
        ([0.1 + 0.2, 0.3], [5.0, 5.0]),
    ],
)
def test_what_no_test_can_say_is_none(a: list[float], b: list[float]) -> None:
    outcome = welch(a, b)
    assert (outcome.t, outcome.p, outcome.cohens_d) == (None, None, None)
    assert outcome.means == (np.mean(a), np.mean(b))
