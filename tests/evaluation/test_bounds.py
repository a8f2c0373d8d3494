"""The upper bound: that it covers, whatever the distribution and whenever one stops, and is tight where it matters."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from mccpo.errors import InputError
from mccpo.evaluation.bounds import episodes_needed, normal_bound, upper_bound

ALPHA = 0.05

# Each with its mean. The rare ones are the hardest for a bound from above: most samples do not show what is costly.
DISTRIBUTIONS = {
    "rare": (lambda rng, n: (rng.random(n) < 0.02).astype(float), 0.02),
    "very rare": (lambda rng, n: (rng.random(n) < 0.005).astype(float), 0.005),
    "usual": (lambda rng, n: (rng.random(n) < 0.95).astype(float), 0.95),
    "rare and small": (lambda rng, n: 0.1 + 0.9 * (rng.random(n) < 0.01), 0.109),
    "skewed": (lambda rng, n: rng.beta(0.05, 2.0, n), 0.05 / 2.05),
    "even": (lambda rng, n: rng.random(n), 0.5),
    "narrow": (lambda rng, n: np.clip(rng.normal(0.6, 0.01, n), 0, 1), 0.6),
}


@pytest.mark.parametrize("n", [20, 100])
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_bound_covers_the_mean_as_often_as_it_says(name, n):
    draw, mean = DISTRIBUTIONS[name]
    rng = np.random.default_rng(7)
    covered = np.mean([upper_bound(draw(rng, n), 1.0, ALPHA) >= mean for _ in range(300)])
    assert covered >= 1 - ALPHA, covered


def test_a_normal_bound_does_not():
    """The test above can fail: the bound that most would take does not pass it."""
    draw, mean = DISTRIBUTIONS["rare and small"]
    rng = np.random.default_rng(7)
    assert np.mean([normal_bound(draw(rng, 100), ALPHA) >= mean for _ in range(300)]) < 0.8


@pytest.mark.parametrize("name", ["rare", "skewed", "even"])
def test_looking_again_and_again_until_it_suits_does_not_spoil_the_bound(name):
    draw, mean = DISTRIBUTIONS[name]
    rng = np.random.default_rng(11)
    looks = [5, 20, 80, 240]
    runs = [draw(rng, looks[-1]) for _ in range(200)]
    fooled = np.mean([any(upper_bound(run[:n], 1.0, ALPHA) < mean for n in looks) for run in runs])
    assert fooled <= ALPHA, fooled


def test_no_violations_give_nearly_the_exact_binomial_bound():
    exact = 1 - ALPHA ** (1 / 1000)
    found = upper_bound(np.zeros(1000), 1.0, ALPHA)
    assert exact < found < 1.3 * exact


def test_the_bound_is_the_one_of_a_plain_computation():
    values = np.random.default_rng(3).beta(2, 5, 50)

    def capital(m):
        total = 0.0
        for j in range(26):
            product = 1.0 / ((j + 1) * (j + 2))
            for value in values:
                product *= 1 + 2.0**-j * (m - value) / (1 - m)
            total += product
        return total

    expected = brentq(lambda m: math.log(capital(m)) - math.log(1 / ALPHA), values.mean(), 0.999)
    assert upper_bound(values, 1.0, ALPHA) == pytest.approx(expected, rel=1e-9)


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=40),
    st.floats(0.001, 0.5),
    st.floats(0.1, 1000.0),
)
def test_the_bound_lies_between_the_mean_and_the_most_and_scales(shares, alpha, most):
    shares = np.array(shares)
    bound = upper_bound(shares, 1.0, alpha)
    assert shares.mean() - 1e-9 <= bound <= 1.0
    assert bound <= upper_bound(shares, 1.0, alpha / 2) + 1e-9
    assert upper_bound(np.minimum(shares * most, most), most, alpha) == pytest.approx(bound * most, rel=1e-6, abs=1e-9)


def test_the_bound_is_close_to_the_normal_one_for_many_episodes_of_little_spread():
    values = np.clip(np.random.default_rng(0).normal(0.9, 0.01, 2000), 0, 1)
    width, normal = upper_bound(values, 1.0, ALPHA) - values.mean(), normal_bound(values, ALPHA) - values.mean()
    assert normal < width < 2 * normal


@pytest.mark.parametrize("limit", [0.55, 0.6, 0.7])
def test_about_as_many_episodes_as_were_said_give_the_verdict(limit):
    rng = np.random.default_rng(5)
    needed = episodes_needed(rng.random(4000), 1.0, limit, ALPHA)

    def verdicts(n):
        return np.mean([upper_bound(rng.random(n), 1.0, ALPHA) <= limit for _ in range(40)])

    assert verdicts(needed // 4) < 0.2
    assert 0.3 < verdicts(needed) < 0.9
    assert verdicts(3 * needed) > 0.9


def test_no_number_of_episodes_brings_a_bound_below_the_mean():
    values = np.array([0.2, 0.4])
    assert episodes_needed(values, 1.0, 0.29, ALPHA) is None
    assert episodes_needed(values, 1.0, float(values.mean()), ALPHA) is None
    assert episodes_needed(values, 1.0, 1.0, ALPHA) == 1


@pytest.mark.parametrize("most", [0.0, 2.0])
def test_values_that_are_all_at_the_most_are_bounded_by_it(most):
    assert upper_bound(np.full(10, most), most, ALPHA) == most


@pytest.mark.parametrize("alpha", [0.0, 1.0, math.nan])
def test_invalid_confidence_is_refused(alpha):
    with pytest.raises(InputError, match="alpha"):
        upper_bound(np.zeros(3), 1.0, alpha)


@pytest.mark.parametrize("values", [[], [1.1], [-0.1], [math.nan], [[0.5]]])
def test_values_outside_their_range_are_refused(values):
    with pytest.raises(InputError, match="values"):
        upper_bound(np.array(values, float), 1.0, ALPHA)
