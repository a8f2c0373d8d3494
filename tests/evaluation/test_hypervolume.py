"""The hypervolume against a linear program over mixtures, and against cases worked out by hand."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from mccpo.errors import InputError
from mccpo.evaluation import envelope, hypervolume

GRID = 20
NUMBERS = st.integers(-4, GRID + 4).map(lambda number: number / GRID)
SHARES = st.integers(0, GRID).map(lambda number: number / GRID)


def best_within(points: list[tuple[float, float]], cost: float) -> float:
    """The most that a mixture of points returns whose mean cost is at most so much; 0 where there is none."""
    x, y = zip(*points, strict=True)
    found = linprog(-np.array(y), A_ub=[x], b_ub=[cost], A_eq=[np.ones(len(x))], b_eq=[1.0], bounds=(0, 1))
    return -found.fun if found.success else 0.0


def area_under_mixtures(points: list[tuple[float, float]], least: float) -> float:
    """The mean over costs from `least` to 1 of what mixtures of the points and the unconstrained policy return.

    Points lie on the grid, between whose lines the best return is a straight line, and left of all of them is none. A
    return below 0 counts as none.
    """
    mixed = [(min(x, 1.0), min(y, 1.0)) for x, y in points] + [(1.0, 1.0)]
    left = max(least, min(x for x, _ in mixed))
    costs = np.array([number / GRID for number in range(GRID + 1) if number / GRID >= left])
    heights = [best_within(mixed, cost) for cost in costs]
    area = 0.0
    for low, high in itertools.pairwise(heights):
        rising = max(high, 0.0) - max(low, 0.0)
        above = rising / (high - low) if high > low else float(high > 0)  # the share of the strip that lies above 0
        area += above * (max(high, 0.0) + max(low, 0.0)) / 2 / GRID
    return area / (1 - least)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=6), st.sampled_from([0.0, 0.25, 0.5]))
def test_it_is_the_area_under_what_mixtures_return(points, least):
    found = hypervolume([x for x, _ in points], [y for _, y in points], least=least)
    assert found == pytest.approx(area_under_mixtures(points, least), abs=1e-7)


def test_between_grid_lines_too():
    """Where points lie anywhere, against a fine grid."""
    points, least = [(0.33, 0.41), (0.58, 0.83), (0.77, 0.85), (0.91, 0.97)], 0.4
    costs = least + (np.arange(400) + 0.5) / 400 * (1 - least)
    expected = np.mean([best_within([*points, (1.0, 1.0)], cost) for cost in costs])
    assert hypervolume(*zip(*points, strict=True), least=least) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("points", "least", "area"),
    [
        ([], 0.0, 0.0),
        ([(0.0, 1.0)], 0.0, 1.0),
        ([(1.0, 1.0)], 0.0, 0.0),  # the unconstrained policy itself dominates nothing
        ([(1.2, 1.0)], 0.0, 0.0),
        ([(0.0, 0.0)], 0.0, 0.5),  # who does nothing may be mixed with who does all
        ([(0.5, 0.8)], 0.0, 0.45),  # half of the plane, at a mean height of 0.9
        ([(0.5, 0.8)], 0.5, 0.9),
        ([(0.5, 0.8), (0.6, 0.7)], 0.5, 0.9),  # the second is dominated
        ([(0.5, 0.8), (0.6, 0.83)], 0.5, 0.9),  # so it is by a mixture of the first and the unconstrained: 0.84
        ([(0.5, 0.8), (0.9, 1.0)], 0.5, 0.92),  # 0.8 × 0.9 + 0.2 × 1
        ([(0.5, 0.8), (0.9, 1.3)], 0.5, 0.92),  # more than all of the return counts as all
        ([(0.5, -0.5)], 0.5, 1 / 3),  # mixtures return anything from 2/3 on, at a mean height of a half
        ([(0.0, 0.6)], 0.5, 0.9),  # left of the plane: at its border a mixture has 0.8
        ([(0.75, 0.8)], 0.5, 0.45),  # nothing left of it
    ],
)
def test_cases_by_hand(points, least, area):
    assert hypervolume([x for x, _ in points], [y for _, y in points], least=least) == pytest.approx(area)


@pytest.mark.parametrize("costs", [(0.5, 0.7, 0.9), (0.5, 0.6, 0.7), (0.5, 0.5, 0.5), (0.0, 0.7, 0.9), (0.2, 0.2, 0.2)])
def test_hypervolume_of_a_straight_front_ignores_spending(costs):
    """Return 0.6 + 0.4 × cost, as on the gate: whoever spends half of the cost or less reaches all of the line."""
    assert hypervolume(costs, [0.6 + 0.4 * x for x in costs], least=0.5) == pytest.approx(0.9)


@given(st.lists(st.tuples(SHARES, SHARES), min_size=2, max_size=6), st.floats(0, 1), st.data())
def test_mixing_in_a_cheaper_policy_never_raises_the_hypervolume(points, part, data):
    """A policy that is replaced by its own mixture with a cheaper one leaves no more than before."""
    points = sorted(points)
    place = data.draw(st.integers(1, len(points) - 1))
    cheaper, moved = np.array(points[place - 1]), np.array(points[place])
    less = [*points[:place], tuple(moved + part * (cheaper - moved)), *points[place + 1 :]]
    before, after = (hypervolume(*zip(*some, strict=True), least=0.25) for some in (points, less))
    assert after <= before + 1e-12


@given(st.lists(st.tuples(SHARES, SHARES), max_size=6), st.tuples(SHARES, SHARES))
def test_another_policy_never_takes_anything_away(points, another):
    before, after = (
        hypervolume([x for x, _ in some], [y for _, y in some], least=0.25) for some in (points, [*points, another])
    )
    assert after >= before - 1e-12


# ---- the envelope


def test_corners_by_hand():
    x, y = envelope(np.array([1.0, 0.0, 0.5, 0.5, 0.25, 0.75]), np.array([0.2, 0.0, 1.0, 0.3, 0.5, 0.4]))
    assert x.tolist() == [0.0, 0.5, 1.0]  # (0.25, 0.5) is on a line, (0.5, 0.3) and (0.75, 0.4) are below
    assert y.tolist() == [0.0, 1.0, 0.2]


def test_a_point_alone_is_its_own_envelope():
    assert [axis.tolist() for axis in envelope(np.array([0.3, 0.3]), np.array([0.1, 0.7]))] == [[0.3], [0.7]]


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=8))
def test_the_envelope_is_concave_and_above_all(points):
    given_x, given_y = (np.array(axis) for axis in zip(*points, strict=True))
    x, y = envelope(given_x, given_y)
    assert set(zip(x, y, strict=True)) <= set(points)
    assert (np.interp(given_x, x, y) >= given_y - 1e-12).all()
    assert (np.diff(x) > 0).all()
    assert (np.diff(np.diff(y) / np.diff(x)) < 1e-12).all()
    assert (x[0], x[-1]) == (given_x.min(), given_x.max())


# ---- what is no front


@pytest.mark.parametrize(("costs", "returns"), [([0.1], []), ([float("nan")], [0.5])])
def test_invalid_points_are_refused(costs, returns):
    with pytest.raises(InputError):
        hypervolume(costs, returns)


def test_a_plane_of_no_width_is_refused():
    with pytest.raises(InputError, match="begins at 1"):
        hypervolume([0.5], [0.5], least=1.0)
