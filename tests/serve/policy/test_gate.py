"""The plain gate: against the arrays that policies run on, and shut wherever there is doubt."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mccpo.curriculum import Curriculum
from mccpo.serve.policy import gate

NEEDS = {"a": (), "b": ("a",), "c": ("a", "b")}


def test_a_concept_is_ready_where_every_prerequisite_has_reached_theta():
    known = {"a": 0.7, "b": 0.69, "c": 0.0}
    assert [gate.holds(NEEDS, 0.7, known, name) for name in NEEDS] == [True, True, False]
    assert gate.unmet(NEEDS, 0.7, known, "c") == ["b"]
    assert gate.unmet(NEEDS, 0.75, known, "c") == ["a", "b"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1.0000001, -0.1])
def test_a_mastery_that_is_none_keeps_the_gate_shut(value):
    assert not gate.holds(NEEDS, 0.7, {"a": value}, "b")
    assert gate.unmet(NEEDS, 0.7, {"a": value}, "b") == ["a"]


def test_what_is_not_known_keeps_the_gate_shut():
    assert not gate.holds(NEEDS, 0.7, {}, "b")
    assert not gate.holds(NEEDS, 0.7, {"a": 1.0}, "d")


@pytest.mark.parametrize("theta", [float("nan"), 0.0, -1.0, 1.0, 2.0])
def test_a_threshold_that_is_none_keeps_the_gate_shut(theta):
    assert not gate.holds(NEEDS, theta, {"a": 1.0, "b": 1.0}, "c")
    assert not gate.holds(NEEDS, theta, {"a": 1.0, "b": 1.0}, "a")


@given(st.data())
def test_it_agrees_with_the_arrays(data):
    size = data.draw(st.integers(1, 8))
    names = [f"v{at}" for at in range(size)]
    pairs = [(names[u], names[v]) for v in range(size) for u in range(v)]
    edges = data.draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    curriculum = Curriculum.from_edges(edges, names)
    theta = data.draw(st.sampled_from([0.3, 0.7, 0.95]))
    K = np.array(
        data.draw(st.lists(st.sampled_from([0.0, 0.3, 0.7, 0.95, 1.0]) | st.floats(0, 1), min_size=size, max_size=size))
    )
    needs = {name: tuple(u for u, v in curriculum.edges if v == name) for name in curriculum.concepts}
    known = dict(zip(curriculum.concepts, K.tolist(), strict=True))
    assert [gate.holds(needs, theta, known, name) for name in needs] == curriculum.ready(K, theta).tolist()
