"""Tests between methods against scipy's own, by hand, and Holm's correction against its definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mccpo.errors import InputError
from mccpo.evaluation import adjusted, holm, paired, paired_estimate, welch, welch_estimate

VALUES = [3.1, 2.9, 3.4, 3.0, 2.8, 3.3, 3.2, 2.7]
P_VALUES = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12)


def test_paired_is_scipys() -> None:
    other = [2.9, 2.8, 3.1, 3.1, 2.5, 3.2, 3.0, 2.4]
    outcome, expected = paired(VALUES, other), stats.ttest_rel(VALUES, other)
    assert (outcome.t, outcome.p) == pytest.approx((expected.statistic, expected.pvalue))
    assert outcome.ci == pytest.approx(tuple(expected.confidence_interval(0.95)))
    assert (outcome.kind, outcome.n) == ("paired", (8, 8))


def test_pairs_show_what_welch_hides() -> None:
    # Policies differ by 1, and each loses about 0.01: which the spread between policies hides.
    random = np.random.default_rng(3)
    exact = random.normal(30.0, 1.0, 10)
    noisy = exact - 0.01 + random.normal(0.0, 0.01, 10)
    hidden, shown = welch(noisy, exact).p, paired(noisy, exact).p
    assert hidden is not None
    assert hidden > 0.9
    assert shown is not None
    assert shown < 0.05


def test_pairs_need_as_many_of_each() -> None:
    with pytest.raises(InputError, match="8 values and 2"):
        paired(VALUES, [1.0, 2.0])


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
def test_statistics_that_do_not_exist_are_none(a: list[float], b: list[float]) -> None:
    outcome = welch(a, b)
    assert (outcome.t, outcome.p, outcome.cohens_d) == (None, None, None)
    assert outcome.means == (np.mean(a), np.mean(b))


def test_pairs_that_all_differ_alike_have_no_test() -> None:
    outcome = paired([0.1, 0.2, 0.3], [1.1, 1.2, 1.3])
    assert (outcome.t, outcome.p) == (None, None)
    assert outcome.ci == pytest.approx((-1.0, -1.0))


def test_a_value_that_is_not_finite_is_named() -> None:
    with pytest.raises(InputError, match=r"b\[0\]"):
        welch([1.0, 2.0], [math.nan, 1.0])


def test_intervals_match_the_tests() -> None:
    other = [2.1, 2.6, 2.2, 2.4, 2.3, 2.2, 2.9, 2.0]
    for estimate, test in ((paired_estimate, paired), (welch_estimate, welch)):
        apart = estimate(VALUES, other)
        assert apart is not None
        half = apart.bound(0.025)
        assert test(VALUES, other).ci == pytest.approx((apart.difference - half, apart.difference + half))


@given(P_VALUES)
def test_holm_rejects_what_its_definition_rejects(p: list[float]) -> None:
    alpha, corrected = 0.05, holm(p)
    rejected: set[int] = set()
    for rank, place in enumerate(sorted(range(len(p)), key=lambda at: p[at])):
        if p[place] > alpha / (len(p) - rank):
            break
        rejected.add(place)
    assert {at for at, value in enumerate(corrected) if value <= alpha * (1 + 1e-12)} == rejected


@given(P_VALUES)
def test_holm_lies_between_p_and_bonferroni_and_keeps_the_order(p: list[float]) -> None:
    corrected = holm(p)
    assert all(one <= both <= min(1.0, len(p) * one) or both >= one for one, both in zip(p, corrected, strict=True))
    assert all(one <= both <= 1.0 for one, both in zip(p, corrected, strict=True))
    order = sorted(range(len(p)), key=lambda at: p[at])
    assert [corrected[at] for at in order] == sorted(corrected)


def test_holm_of_a_family_leaves_out_tests_without_p() -> None:
    tests = {"a": welch(VALUES, [1.0, 2.0, 2.1]), "none": welch([1.0, 1.0], [1.0, 1.0]), "b": welch(VALUES, VALUES[:5])}
    found = adjusted(tests)
    assert list(found) == ["a", "b"]
    assert found["a"] == pytest.approx(2 * (tests["a"].p or 0))
