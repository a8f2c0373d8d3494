"""The hypervolume against a count of the cells of a fine grid, and against cases worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mccpo.errors import InputError
from mccpo.evaluation.hypervolume import hypervolume, mixed_hypervolume

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


@given(st.lists(st.tuples(COORDINATES, COORDINATES), max_size=5), st.sampled_from([0.0, 0.25, 0.5]))
def test_the_mixed_one_is_the_area_under_all_mixtures(points, least):
    """Against a scan over x: the best return of any two policies, or of one, that cost x together."""
    x, y = np.array([*(x for x, _ in points), 1.0]), np.array([*(y for _, y in points), 1.0])
    x, y = np.minimum(x, 1.0), np.clip(y, 0.0, 1.0)

    def best(at):
        heights = [b for a, b in zip(x, y, strict=True) if a == at]
        for a, b in zip(x, y, strict=True):
            for c, d in zip(x, y, strict=True):
                if a < at < c:
                    heights.append(b + (d - b) * (at - a) / (c - a))
        return max(heights, default=0.0)

    grid = np.linspace(least, 1.0, 401)
    area = np.mean([best(at) for at in grid])
    assert mixed_hypervolume(x[:-1], y[:-1], least=least) == pytest.approx(area, abs=0.01)


def test_to_spend_less_than_is_allowed_does_not_pay():
    assert mixed_hypervolume([0.5], [0.8], least=0.5) == mixed_hypervolume([0.0], [0.6], least=0.5)
