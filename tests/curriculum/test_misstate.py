"""Graphs made wrong on purpose."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mccpo.curriculum import MISTAKES, Curriculum, misstate, wrong_edges
from mccpo.env import make
from mccpo.errors import InputError

TRUE = make("tutor-15").curriculum


@given(st.sampled_from(MISTAKES), st.sampled_from((0.05, 0.1, 0.2, 0.5)), st.integers(0, 50))
def test_the_asked_number_of_edges_is_wrong_and_the_graph_stays_acyclic(mistake, share, seed) -> None:
    stated = misstate(TRUE, mistake, share, seed)  # construction refuses cycles
    asked = max(1, round(share * len(TRUE.edges)))
    number = wrong_edges(stated, TRUE)
    assert number == asked if mistake != "reversed" else 1 <= number <= asked
    change = {"missing": -number, "extra": number, "reversed": 0}[mistake]
    assert len(stated.edges) == len(TRUE.edges) + change
    assert set(stated.concepts) == set(TRUE.concepts)
    place = [stated.index(name) for name in TRUE.concepts]
    np.testing.assert_array_equal(stated.demand[place], TRUE.demand)


def test_an_edge_that_a_longer_path_implies_is_not_turned() -> None:
    triangle = Curriculum.from_edges([("a", "b"), ("b", "c"), ("a", "c")])
    for seed in range(10):
        assert ("c", "a") not in misstate(triangle, "reversed", 0.3, seed).edges


def test_invalid_share_is_refused() -> None:
    with pytest.raises(InputError, match="share of wrong edges"):
        misstate(TRUE, "missing", 0.0, 0)
