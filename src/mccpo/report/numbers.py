"""Numbers as people read them: as many digits as they deserve, powers of ten where plain digits would mislead."""

from __future__ import annotations

import math

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_LARGE, _SMALL = 1e5, 1e-4
_NOISE = 1e-12  # what an exact solver leaves of a zero
_MOST_DECIMALS = 6


def number(value: float) -> str:
    """One number with about four digits: `3.676`, `12,300`, `0.0004`, `2.45×10⁶`."""
    size = abs(value)
    if size < _NOISE:
        return "0"
    if size >= _LARGE or size < _SMALL:
        return _scientific(value, 2)
    return _fixed(value, _decimals(size))


def with_spread(mean: float, std: float | None, *, tight: bool = False) -> str:
    """A mean and its standard deviation to the same digit: `3.671 ± 0.002`, `(2.45 ± 2.58)×10⁶`.

    Without a deviation it is the mean alone. `tight` leaves out the blanks around ±, for narrow columns.
    """
    if std is None:
        return number(mean)
    sign = "±" if tight else " ± "
    size = max(abs(mean), std)
    if std < _NOISE * max(1.0, abs(mean)):
        return f"{number(mean)}{sign}0"
    if size >= _LARGE or size < _SMALL:
        exponent = _exponent(size)
        scale = 10.0**exponent
        return f"({_fixed(mean / scale, 2)}{sign}{_fixed(std / scale, 2)})×{_ten(exponent)}"
    decimals = max(_decimals(size), math.ceil(-math.log10(2 * std)))  # enough for the deviation not to round to nothing
    if decimals > _MOST_DECIMALS:
        return f"{number(mean)}{sign}{_scientific(std, 0)}"
    return f"{_fixed(mean, decimals)}{sign}{_fixed(std, decimals)}"


def exact(value: float) -> str:
    """One number with six digits, for lists of raw values: the same rules as `number` otherwise."""
    size = abs(value)
    if size < _NOISE:
        return "0"
    if size >= 1e7 or size < _SMALL:
        return _scientific(value, 4)
    return _fixed(value, min(_MOST_DECIMALS, max(0, 5 - math.floor(math.log10(size)))))


def short(value: float) -> str:
    """A number that is exact, such as a budget or an optimum: up to five digits, no zeros at the end."""
    if abs(value) < _SMALL or abs(value) >= _LARGE:
        return number(value)
    return f"{value:,.5g}".replace("-", "−")


def p_value(value: float) -> str:
    """A probability of a test: `0.013`, `3×10⁻⁹`; one below what floats can hold says so."""
    if value <= 0.0:
        return f"< {_ten(-300)}"
    if value >= 0.001:
        return f"{value:.3f}"
    return f"< {_ten(-300)}" if value < 1e-300 else _scientific(value, 0)


def share(value: float) -> str:
    """A share in per cent, rounded down where rounding up would say 100 % of something that is less: `99.9 %`."""
    tenths = 1000.0 * value
    if abs(tenths - round(tenths)) < 1e-6:
        tenths = round(tenths)
    rounded = math.floor(tenths) if 990 < tenths < 1000 else round(tenths)
    return f"{rounded / 10:g} %".replace("-", "−")


def of_seeds(per_seed: tuple[float, ...]) -> str | None:
    """How many seeds, as `9/10`, when every value is yes (1) or no (0); else nothing."""
    if all(value in (0.0, 1.0) for value in per_seed):
        return f"{round(sum(per_seed))}/{len(per_seed)}"
    return None


def _decimals(size: float) -> int:
    for least, decimals in ((1000.0, 0), (100.0, 1), (10.0, 2), (0.1, 3)):
        if size >= least:
            return decimals
    return 4


def _fixed(value: float, decimals: int) -> str:
    text = f"{value:,.{decimals}f}"
    return text.removeprefix("-") if not float(text.replace(",", "")) else text.replace("-", "−")


def _exponent(value: float) -> int:
    return math.floor(math.log10(abs(value)))


def _scientific(value: float, decimals: int) -> str:
    digits, _, exponent = f"{value:.{decimals}e}".partition("e")
    return f"{digits.replace('-', '−')}×{_ten(int(exponent))}"


def _ten(exponent: int) -> str:
    return "10" + str(exponent).translate(_SUPERSCRIPT)
