"""Sorting by several keys packed into one number gives what sorting by all of them gives."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mccpo.logs.reading.ordering import MOST_BITS, argsort, pack

WHOLE = st.integers(-(2**62), 2**62)


@st.composite
def some_keys(draw: st.DrawFn) -> list[NDArray[np.int64]]:
    """One to four keys of few or many different values, far apart or near, with a common step or without."""
    rows = draw(st.integers(0, 40))
    keys = []
    for _ in range(draw(st.integers(1, 4))):
        values = draw(st.sampled_from([st.integers(0, 3), st.integers(-5, 10**6), WHOLE]))
        step = draw(st.sampled_from([1, 900_000]))
        column = draw(st.lists(values, min_size=rows, max_size=rows))
        keys.append(np.array(column, np.int64) // step * step if rows else np.zeros(0, np.int64))
    return keys


@given(some_keys())
def test_the_order_matches_the_keys_in_turn(keys: list[NDArray[np.int64]]) -> None:
    order, tied = argsort(keys)
    expected = np.lexsort(keys[::-1])
    np.testing.assert_array_equal(order, expected)
    rows = list(zip(*(key[expected] for key in keys), strict=True))
    assert tied.tolist() == [at > 0 and row == rows[at - 1] for at, row in enumerate(rows)]


@given(some_keys())
def test_packing_keeps_the_order_or_declines(keys: list[NDArray[np.int64]]) -> None:
    packed = pack(keys)
    if packed is None:
        spans = [int(key.max()) - int(key.min()) for key in keys]
        assert sum(span.bit_length() for span in spans) > MOST_BITS
        return
    rows = list(zip(*(key.tolist() for key in keys), strict=True))
    for one, other, a, b in zip(rows, rows[1:], packed, packed[1:], strict=False):
        assert (one < other) == (a < b)
        assert (one == other) == (a == b)


def test_keys_too_wide_for_one_number_are_sorted_all_the_same() -> None:
    wide = np.array([2**62, -(2**62), 0, 0], np.int64)
    assert pack([wide, wide]) is None
    order, tied = argsort([wide, wide])
    assert order.tolist() == [1, 2, 3, 0]
    assert tied.tolist() == [False, False, True, False]
