"""Intervals of shares against textbook formulas, the bootstrap over learners, and what they should cover."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mccpo.logs.audit.cluster_robust import Rate, compare, intervals, rate_of, rates, sums, sums_by


def drawn(rng: np.random.Generator, learners: int, rate: float, *, alike: float = 4.0) -> tuple[np.ndarray, np.ndarray]:
    """Learners of very different lengths, each with a rate of its own around `rate`."""
    n = rng.integers(1, 80, learners)
    own = rng.beta(alike * rate, alike * (1 - rate), learners)
    return rng.binomial(n, own), n


def test_one_event_a_learner_is_the_interval_of_wilson() -> None:
    d, n = np.repeat([1, 0], [30, 170]), np.ones(200)
    found = rate_of(d, n)
    # The linearised variance has L − 1 where that of a share has L, and Student's quantile stands for the normal one.
    t, size = stats.t.ppf(0.975, 199), 199
    centre, half = (0.15 + t * t / size / 2), t * np.sqrt(0.15 * 0.85 / size + (t / size / 2) ** 2)
    assert (found.events, found.analysed, found.learners) == (30, 200, 200)
    assert found.low == pytest.approx((centre - half) / (1 + t * t / size))
    assert found.high == pytest.approx((centre + half) / (1 + t * t / size))


def test_the_interval_matches_a_bootstrap_over_learners() -> None:
    rng = np.random.default_rng(1)
    d, n = drawn(rng, 400, 0.3)
    found = rate_of(d, n)
    picks = rng.integers(0, 400, (4000, 400))
    low, high = np.quantile(d[picks].sum(1) / n[picks].sum(1), [0.025, 0.975])
    assert found.low == pytest.approx(low, abs=0.006)
    assert found.high == pytest.approx(high, abs=0.006)
    alone = stats.binomtest(int(d.sum()), int(n.sum())).proportion_ci()
    assert high - low > 2 * (alone.high - alone.low)  # events of one learner are alike


@pytest.mark.parametrize(("learners", "rate", "least"), [(25, 0.3, 0.93), (60, 0.05, 0.92), (200, 0.5, 0.94)])
def test_intervals_cover_the_truth_nearly_as_often_as_they_say(learners: int, rate: float, least: float) -> None:
    rng = np.random.default_rng(learners)
    samples = [drawn(rng, learners, rate) for _ in range(1500)]
    d, n = (np.array([sample[part] for sample in samples]).T for part in (0, 1))
    share, low, high = intervals(sums(d, n))
    covered = ((low <= rate) & (rate <= high)).mean()
    half = stats.t.ppf(0.975, learners - 1) * np.sqrt(((d - share * n) ** 2).sum(0) * learners / (learners - 1))
    plain = (np.abs(share - rate) <= half / n.sum(0)).mean()
    assert least < covered < 0.98
    assert covered > plain - 0.01  # where few learners have most of the events, the plain interval misses more often


def test_differences_cover_the_truth_as_often_as_they_say() -> None:
    rng = np.random.default_rng(5)
    inside = 0
    for _ in range(800):
        one, other = (rate_of(*drawn(rng, 60, rate)) for rate in (0.3, 0.2))
        found = compare(one, other)
        assert found is not None
        inside += found.low <= 0.1 <= found.high
    assert 0.93 < inside / 800 < 0.98


def test_rates_that_go_together_differ_by_less() -> None:
    one, other = Rate(30, 100, 50, 0.3, 0.2, 0.4), Rate(20, 100, 50, 0.2, 0.1, 0.3)
    apart, together = compare(one, other), compare(one, other, 0.9)
    assert apart is not None
    assert together is not None
    assert apart.difference == together.difference == pytest.approx(0.1)
    assert apart.low == pytest.approx(0.1 - np.hypot(0.1, 0.1))
    assert apart.low < together.low < together.high < apart.high


@pytest.mark.parametrize("everything", [False, True])
def test_intervals_of_0_and_1_widen_with_fewer_learners(everything: bool) -> None:
    n = np.full(10, 1000)
    found = rate_of(n if everything else 0 * n, n)
    bound = stats.t.ppf(0.975, 9) ** 2 / (10 + stats.t.ppf(0.975, 9) ** 2)
    assert (found.low, found.high) == pytest.approx((1 - bound, 1) if everything else (0, bound))


def test_one_learner_gives_no_interval_and_no_learner_gives_no_rate() -> None:
    assert rate_of(np.array([3]), np.array([4])) == Rate(3, 4, 1, 0.75, None, None)
    assert rate_of(np.array([0, 0]), np.array([0, 0])) == Rate(0, 0, 0, None, None, None)
    assert compare(Rate(3, 4, 1, 0.75, None, None), Rate(3, 9, 3, 0.3, 0.1, 0.9)) is None


def test_learners_without_events_to_judge_change_nothing() -> None:
    d, n = np.array([1, 2, 0]), np.array([4, 4, 5])
    assert rate_of(d, n) == rate_of(np.append(d, [0, 0]), np.append(n, [0, 0]))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=30))
def test_sums_by_level_are_the_sums_of_each_level(counts: list[tuple[int, int, int]]) -> None:
    level, d, extra = (np.array(column) for column in zip(*counts, strict=True))
    n = d + extra
    found = rates(sums_by(level, 4, d, n))
    assert found == [rate_of(d[level == at], n[level == at]) for at in range(4)]
    for one in found:
        if one.rate is not None and one.low is not None:
            assert one.high is not None
            assert 0 <= one.low <= one.rate <= one.high <= 1
