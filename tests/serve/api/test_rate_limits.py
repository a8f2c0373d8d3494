"""A caller has as many requests as its bucket holds, and then as many as flow into it."""

import pytest

from mccpo.serve.api import rate_limits as limits
from mccpo.serve.api.rate_limits import RateLimit


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_a_burst_and_then_the_rate(clock):
    limit = RateLimit(rate=2.0, burst=3, clock=clock)
    assert [limit.wait("a") for _ in range(4)] == [0, 0, 0, 0.5]
    clock.now += 0.5
    assert [limit.wait("a") for _ in range(2)] == [0, 0.5]
    clock.now += 1000
    assert [limit.wait("a") for _ in range(4)] == [0, 0, 0, 0.5]


def test_over_a_long_time_no_more_than_the_rate_passes(clock):
    limit, passed = RateLimit(rate=5.0, burst=10, clock=clock), 0
    for _ in range(10_000):
        clock.now += 0.01
        passed += limit.wait("a") == 0
    assert passed == pytest.approx(100 * 5 + 10, abs=1)


def test_callers_do_not_take_from_each_other(clock):
    limit = RateLimit(rate=1.0, burst=1, clock=clock)
    assert [limit.wait(who) for who in "abab"] == [0, 0, 1, 1]


def test_a_clock_that_goes_back_gives_nothing(clock):
    limit = RateLimit(rate=1.0, burst=1, clock=clock)
    limit.wait("a")
    clock.now -= 50
    assert limit.wait("a") == 1


def test_memory_is_bounded_and_forgets_the_oldest(clock, monkeypatch):
    monkeypatch.setattr(limits, "MOST_CALLERS", 3)
    limit = RateLimit(rate=1.0, burst=1, clock=clock)
    for who in "abcd":
        limit.wait(who)
    assert len(limit._buckets) == 3
    assert limit.wait("d") == 1
    assert limit.wait("a") == 0


@pytest.mark.parametrize(("rate", "burst"), [(0, 1), (-1, 1), (float("nan"), 1), (float("inf"), 1), (1, 0)])
def test_a_limit_that_lets_nobody_through_is_refused(rate, burst):
    with pytest.raises(ValueError, match="let nobody through"):
        RateLimit(rate, burst)
