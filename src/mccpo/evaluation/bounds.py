"""What episodes prove: an upper confidence bound on a mean that holds for any number of episodes and any distribution.

Values lie in [0, 1] (after division by the most that they can be), and nothing else is known of them. To doubt that
their mean is m or more, bet against it: with a share f of what may be lost, a bet multiplies the capital at each value
X by 1 + f·(m − X)/(1 − m) ≥ 0. Where the mean is m or more, no such capital grows on average, so by Ville's inequality
the chance that it *ever* reaches 1/α is at most α. The bound is the least m at which it has (betting confidence
sequences, Waudby-Smith and Ramdas 2024).

The capital is spread over bets f = 1, 1/2, 1/4, …, so that one of them is near the best whatever the spread of the
values, and the data choose which without spoiling the bound. Because the chance is over all times at once, whoever
falls short may go on and look again. A bound from the normal distribution promises neither: it is too low for skewed
values, and for several looks.
"""

from __future__ import annotations

import math

import numpy as np
import scipy  # whose parts load when they are used: training need not wait for them
from jaxtyping import Float

from mccpo.errors import InputError

# The j-th bet has the weight 1/((j + 1)(j + 2)): these sum to less than 1, and bold bets, which suit values of little
# spread, pay almost nothing for the company of timid ones.
_PLACES = np.arange(26)
BETS: Float[np.ndarray, " bets"] = 0.5**_PLACES
_LOG_WEIGHTS: Float[np.ndarray, " bets"] = -np.log((_PLACES + 1.0) * (_PLACES + 2.0))
_NEAR_1 = 1 - 1e-12


def upper_bound(values: Float[np.ndarray, " episodes"], most: float, alpha: float) -> float:
    """A number that the mean exceeds with a chance of at most `alpha`; `values` are independent draws from [0, most].

    It holds for all numbers of episodes together: the chance that it ever fails, as episodes are added, is `alpha`.

    >>> round(upper_bound(np.zeros(1000), most=1.0, alpha=0.05), 4)
    0.0036
    """
    shares = _shares(values, most, alpha)
    if most == 0 or shares.min() == 1:
        return most

    def short_of(m: float) -> float:
        return float(_log_capital(shares, m)) + math.log(alpha)

    if short_of(_NEAR_1) < 0:  # too few values to exclude any mean
        return most
    return most * float(scipy.optimize.brentq(short_of, shares.mean(), _NEAR_1, xtol=1e-12, rtol=1e-12))


def episodes_needed(values: Float[np.ndarray, " episodes"], most: float, limit: float, alpha: float) -> int | None:
    """About how many episodes like these bring the bound down to `limit`; None where their mean is not below it.

    >>> episodes_needed(np.full(100, 0.1), most=1.0, limit=0.2, alpha=0.05)
    32
    """
    shares = _shares(values, most, alpha)
    if limit >= most:
        return 1
    growth = _growth(shares, limit / most)
    if growth.max() <= 0 or values.mean() >= limit:
        return None
    grows = growth > 0
    return math.ceil(((-math.log(alpha) - _LOG_WEIGHTS[grows]) / growth[grows]).min())


def normal_bound(values: Float[np.ndarray, " episodes"], alpha: float) -> float:
    """What the normal distribution would give: no guarantee, for comparison.

    >>> round(normal_bound(np.array([0.0, 1.0, 1.0, 0.0]), 0.05), 2)
    0.97
    """
    error = float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return float(values.mean()) + float(scipy.stats.norm.ppf(1 - alpha)) * error


def _log_capital(shares: Float[np.ndarray, " episodes"], m: float) -> float:
    return float(scipy.special.logsumexp(_LOG_WEIGHTS + len(shares) * _growth(shares, m)))


def _growth(shares: Float[np.ndarray, " episodes"], m: float) -> Float[np.ndarray, " bets"]:
    """The logarithm by which an episode multiplies each bet's capital, on average, when the mean is said to be m."""
    with np.errstate(divide="ignore"):  # a bet of everything may lose it all
        return np.log1p(np.multiply.outer(BETS, (m - shares) / (1 - m))).mean(axis=1)


def _shares(values: Float[np.ndarray, " episodes"], most: float, alpha: float) -> Float[np.ndarray, " episodes"]:
    if not 0 < alpha < 1:
        raise InputError(f"alpha is {alpha}", fix="give a chance of error strictly between 0 and 1")
    if values.ndim != 1 or not len(values):
        raise InputError(f"values have the shape {values.shape}", fix="give one number per episode, at least one")
    if not (np.isfinite(values).all() and values.min() >= 0 and values.max() <= most):
        raise InputError(
            f"the values range from {values.min()} to {values.max()}", fix=f"the bound is for values from 0 to {most}"
        )
    return values / most if most > 0 else np.zeros(len(values))
