"""Summaries against closed forms and scipy's own functions, and how often an interval holds."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mccpo.errors import InputError
from mccpo.evaluation import summarise, summarise_metric


def test_summary_of_known_values() -> None:
    summary = summarise([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 100.0])
    assert summary.mean == 16.0
    assert summary.std == pytest.approx(np.std([1, 2, 3, 4, 5, 6, 7, 100], ddof=1))
    assert summary.iqm == 4.5  # the mean of 3, 4, 5, 6
    assert summary.per_seed == (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 100.0)


@pytest.mark.parametrize("n", [2, 3, 4, 10, 30])
def test_interval_is_students(n: int) -> None:
    sample = np.random.default_rng(n).normal(10.0, 2.0, size=n)
    expected = stats.t.interval(0.95, n - 1, loc=sample.mean(), scale=stats.sem(sample))
    assert summarise(sample).ci == pytest.approx(expected)
    assert summarise(sample).as_json()["n"] == n


@pytest.mark.parametrize("n", [3, 4, 10])
def test_the_interval_covers_what_it_says_for_a_handful_of_seeds(n: int) -> None:
    # The bias-corrected bootstrap covers 74, 77 and 91 % here; 2,000 samples leave 95 % within 1.5 points.
    samples = np.random.default_rng(7).normal(size=(2000, n))
    covered = np.mean([low <= 0 <= high for low, high in (summarise(sample).ci or (1, 0) for sample in samples)])
    assert covered == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize("values", [[2.941] * 10, [0.1 + 0.2, 0.3, 0.3], [0.0, 0.0]])
def test_values_that_do_not_vary_have_no_spread(values: list[float]) -> None:
    summary = summarise(values)
    assert summary.std == 0.0
    assert summary.ci == (summary.mean, summary.mean)


def test_one_seed_has_no_interval() -> None:
    assert summarise([2.0]).ci is None
    assert summarise([1.0], yes_or_no=True).ci is None


@pytest.mark.parametrize(("count", "n"), [(0, 10), (10, 10), (7, 10), (1, 2)])
def test_a_share_of_seeds_has_the_exact_interval(count: int, n: int) -> None:
    expected = stats.binomtest(count, n).proportion_ci(0.95, method="exact")
    summary = summarise_metric("satisfaction_strict", [1.0] * count + [0.0] * (n - count))
    assert summary.ci == pytest.approx((expected.low, expected.high))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([0.0, 1e-9, 0.5, 1.0, 4.9e6]), min_size=2, max_size=12))
def test_every_summary_is_finite_json_with_the_mean_in_its_interval(values: list[float]) -> None:
    summary = summarise(values)
    json.dumps(summary.as_json(), allow_nan=False)
    assert summary.ci is not None
    low, high = summary.ci
    assert low <= summary.mean <= high
    assert min(values) <= summary.mean + 1e-9 * max(values)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_is_named(bad: float) -> None:
    with pytest.raises(InputError, match=r"per_seed\[1\]"):
        summarise([1.0, bad, 2.0])


@pytest.mark.parametrize("bad", [[], [[1.0, 2.0]]])
def test_something_other_than_one_number_per_seed_is_refused(bad: list[float]) -> None:
    with pytest.raises(InputError, match="shape"):
        summarise(bad)
