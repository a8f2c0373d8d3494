"""What the paper's raw RHSI is: not what its definition says, but engagement over the mastery gained."""

import math

import pytest

from mccpo.experiments.paper import reported

GAMMA, HORIZON = 0.99, 100


def test_raw_rhsi_is_not_made_of_the_discounted_costs():
    row = reported.rows("tutor-15")["unconstrained"]
    stated = math.sqrt(sum(row[f"J_c{at}"].mean ** 2 for at in (2, 3, 4)) / 3)  # its own return over its own is 1
    assert stated == pytest.approx(19.1, abs=0.1)
    assert row["rhsi_ratio"].mean == 69.92


@pytest.mark.parametrize("method", ["unconstrained", "mc-cpo"])
def test_raw_rhsi_is_engagement_over_mastery_gained(method):
    """Of the rows that print ΔK: times it, raw RHSI is the engagement that the discounted return stands for."""
    row = reported.rows("xes3g5m")[method]
    discounted = (1 - GAMMA**HORIZON) / (1 - GAMMA)
    undiscounted = row["rhsi_ratio"].mean * row["dK"].mean
    assert undiscounted / HORIZON == pytest.approx(row["return"].mean / discounted, rel=0.03)


def test_raw_rhsi_of_the_chain_divides_by_a_gain_near_zero():
    """Five seeds of ten that gain nothing, at 4.901 over 10⁻⁶, have the mean and the deviation that are printed."""
    most = (1 - GAMMA**5) / (1 - GAMMA) / 1e-6
    cell = reported.rows("chain")["unconstrained"]["rhsi_ratio_discounted"]
    assert cell.mean == pytest.approx(most / 2, rel=0.01)
    assert cell.std == pytest.approx(math.sqrt(10 / 9) * most / 2, rel=0.01)
