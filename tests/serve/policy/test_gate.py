"""The plain gate: against the arrays that policies run on, and shut wherever there is doubt."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mccpo.curriculum import Curriculum
from mccpo.serve.policy import gate
from mccpo.serve.policy.gate import Opening

NEEDS = {"a": (), "b": ("a",), "c": ("a", "b")}


def test_a_concept_is_ready_where_every_prerequisite_has_reached_theta():
    known = {"a": 0.7, "b": 0.69, "c": 0.0}
    assert [gate.holds(NEEDS, Opening(0.7), known, name) for name in NEEDS] == [True, True, False]
    assert gate.unmet(NEEDS, Opening(0.7), known, "c") == ["b"]
    assert gate.unmet(NEEDS, Opening(0.75), known, "c") == ["a", "b"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1.0000001, -0.1])
def test_invalid_mastery_keeps_the_gate_shut(value):
    assert not gate.holds(NEEDS, Opening(0.7), {"a": value}, "b")
    assert gate.unmet(NEEDS, Opening(0.7), {"a": value}, "b") == ["a"]


def test_what_is_not_known_keeps_the_gate_shut():
    assert not gate.holds(NEEDS, Opening(0.7), {}, "b")
    assert not gate.holds(NEEDS, Opening(0.7), {"a": 1.0}, "d")


@pytest.mark.parametrize("theta", [float("nan"), 0.0, -1.0, 1.0, 2.0])
def test_invalid_threshold_keeps_the_gate_shut(theta):
    assert not gate.holds(NEEDS, Opening(theta), {"a": 1.0, "b": 1.0}, "c")
    assert not gate.holds(NEEDS, Opening(theta), {"a": 1.0, "b": 1.0}, "a")


def test_with_a_confidence_all_prerequisites_have_to_hold_at_once():
    known = {"a": 0.96, "b": 0.98}
    assert gate.holds(NEEDS, Opening(0.7, 0.94), known, "c")
    assert not gate.holds(NEEDS, Opening(0.7, 0.95), known, "c")  # 0.96·0.98, though each is above
    assert gate.unmet(NEEDS, Opening(0.7, 0.95), known, "c") == ["a"]  # with it certain, 0.98 would do
    assert gate.unmet(NEEDS, Opening(0.7, 0.99), known, "c") == ["a", "b"]
    assert gate.unmet(NEEDS, Opening(0.7, 0.9), {"a": float("nan"), "b": 1.0}, "c") == ["a"]


def test_doubtful_mastery_counts_for_less():
    opening = Opening(0.7, 0.9, {"a": 0.5})
    assert not gate.holds(NEEDS, opening, {"a": 0.92}, "b")
    assert gate.chance(opening, {"a": 0.92}, ["a"]) == pytest.approx(11.5 / 2 / (11.5 / 2 + 1))  # odds of 0.92: 11.5
    assert gate.holds(NEEDS, opening, {"a": 0.96}, "b")
    assert not gate.holds(NEEDS, Opening(0.7, 0.9, {"a": 1.0}), {"a": 1.0}, "b")


@pytest.mark.parametrize("confidence", [float("nan"), 0.0, -1.0, 1.0, 2.0])
def test_invalid_confidence_keeps_the_gate_shut(confidence):
    assert not gate.holds(NEEDS, Opening(0.7, confidence), {"a": 1.0, "b": 1.0}, "c")


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
    assert [gate.holds(needs, Opening(theta), known, name) for name in needs] == curriculum.ready(K, theta).tolist()
    doubt = np.array(data.draw(st.lists(st.floats(0, 0.99), min_size=size, max_size=size)))
    opening = Opening(theta, confidence=theta, doubt=dict(zip(curriculum.concepts, doubt.tolist(), strict=True)))
    chances = curriculum.joint_chance(K, doubt)
    clear = np.abs(chances - theta) > 1e-12  # a product may be rounded differently in another order
    plain = np.array([gate.holds(needs, opening, known, name) for name in needs])
    assert (plain == (chances >= theta))[clear].all()
    for name, chance in zip(needs, chances, strict=True):
        assert gate.chance(opening, known, needs[name]) == pytest.approx(chance, abs=1e-12)
        missing = set(gate.unmet(needs, opening, known, name))
        assert gate.holds(needs, opening, known | dict.fromkeys(missing, 1.0), name)
