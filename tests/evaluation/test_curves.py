"""What training curves must look like."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mccpo.errors import InputError
from mccpo.evaluation import Curves


@pytest.mark.parametrize("points", [[], [1, 1], [2, 1], [0.0, math.nan]])
def test_curves_want_increasing_points(points: list[float]) -> None:
    with pytest.raises(InputError, match="increasing"):
        Curves(np.array(points), {})


def test_curves_want_a_row_per_seed_and_a_column_per_point() -> None:
    with pytest.raises(InputError, match=r"return of mc-cpo has shape \(3,\)"):
        Curves(np.arange(3), {"mc-cpo": {"return": np.zeros(3)}})
