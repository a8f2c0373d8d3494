"""The hypervolume against a count of the cells of a fine grid, and against cases worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mccpo.errors import InputError
from mccpo.evaluation.hypervolume import hypervolume

GRID = 400
COORDINATES = st.integers(-40, GRID + 40).map(lambda number: number / GRID)  # on the grid, so that the count is exact


def counted(points: list[tuple[float, float]], least: float = 0.0) -> float:
    """The share of the cells of a grid, from `least` on, whose middle some point dominates."""
    middle = (np.arange(GRID) + 0.5) / GRID
    dominated = np.zeros((GRID, GRID), bool)
    for x, y in points:
        dominated |= (middle[:, None] > x) & (middle[None, :] < y)
    return float(dominated[middle > least].mean())


@given(st.lists(st.tuples(COORDINATES, COORDINATES), max_size=6), st.sampled_from([0.0, 0.25, 0.5]))
def test_it_is_the_count_of_dominated_cells(points, least):
    found = hypervolume([x for x, _ in points], [y for _, y in points], least=least)
    assert found == pytest.approx(counted(points, least), abs=1e-12)


@pytest.mark.parametrize(
    ("points", "area"),
    [
        ([], 0.0),
        ([(0.0, 1.0)], 1.0),
        ([(1.0, 1.0)], 0.0),  # the unconstrained policy itself dominates nothing
        ([(0.5, 0.8)], 0.4),
        ([(0.5, 0.8), (0.6, 0.7)], 0.4),  # the second is dominated
        ([(0.5, 0.8), (0.9, 1.0)], 0.42),
    ],
)
def test_cases_by_hand(points, area):
    assert hypervolume([x for x, _ in points], [y for _, y in points]) == pytest.approx(area)


@pytest.mark.parametrize(("costs", "returns"), [([0.1], []), ([float("nan")], [0.5])])
def test_what_is_no_point_is_refused(costs, returns):
    with pytest.raises(InputError):
        hypervolume(costs, returns)


def test_a_plane_of_no_width_is_refused():
    with pytest.raises(InputError, match="begins at 1"):
        hypervolume([0.5], [0.5], least=1.0)
