"""The gate opens exactly where every prerequisite is mastered."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mccpo.curriculum import Curriculum, blocking, check_confidence, check_mastery, check_theta, frontier, trusted
from mccpo.errors import InputError
from mccpo.mastery import BKT

THETA = 0.7
masteries = st.one_of(st.floats(0, 1, width=32), st.just(float("nan")))


@st.composite
def learners(draw, values=masteries, rows=1):
    size = draw(st.integers(1, 10))
    pairs = [(f"c{u}", f"c{v}") for v in range(size) for u in range(v)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    K = draw(st.lists(st.lists(values, min_size=size, max_size=size), min_size=rows, max_size=rows))
    return Curriculum.from_edges(edges, [f"c{index}" for index in range(size)]), np.array(K, dtype=np.float32)


def by_definition(curriculum, K, theta):
    mastery = dict(zip(curriculum.concepts, K, strict=True))
    return [all(mastery[u] >= theta for u, v in curriculum.edges if v == name) for name in curriculum.concepts]


@settings(deadline=None)
@given(learners(rows=3))
def test_ready_is_its_definition_for_every_learner_of_a_batch(case):
    curriculum, K = case
    expected = [by_definition(curriculum, row, np.float32(THETA)) for row in K]
    mask = curriculum.ready(K, THETA)
    assert mask.dtype == bool
    assert mask.tolist() == expected
    assert curriculum.ready(K[0], THETA).tolist() == expected[0]
    assert curriculum.ready(jnp.asarray(K), THETA).tolist() == expected


@settings(max_examples=5, deadline=None)
@given(learners(rows=4))
def test_ready_is_the_same_compiled_and_vmapped(case):
    curriculum, K = case
    expected = curriculum.ready(K, THETA)
    compiled = jax.jit(lambda K, theta: curriculum.ready(K, theta))
    assert np.array_equal(compiled(K, THETA), expected)
    assert np.array_equal(jax.vmap(compiled, in_axes=(0, None))(K, THETA), expected)


@settings(deadline=None)
@given(learners(rows=2))
def test_more_mastery_never_shrinks_the_ready_set(case):
    """Proposition 1 in its true form: K ≤ K' implies ready(K) ⊆ ready(K')."""
    curriculum, K = case
    less, more = np.fmin(*K), np.fmax(*K)
    less = np.where(np.isnan(K).any(axis=0), np.nan, less)  # what is unknown is no more than anything
    assert not (curriculum.ready(less, THETA) & ~curriculum.ready(more, THETA)).any()


@settings(deadline=None)
@given(learners())
def test_blocking_names_what_shuts_the_gate(case):
    curriculum, K = case
    held = blocking(curriculum, K[0], THETA)
    mask = curriculum.ready(K[0], THETA)
    assert [name not in held for name in curriculum.concepts] == mask.tolist()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", [np.asarray, jnp.asarray, list])
@pytest.mark.parametrize("dtype", [int, np.int8, np.uint8, bool, np.float16])
def test_whole_numbers_and_flags_are_masteries_too(kind, dtype):
    curriculum = Curriculum.from_edges([("a", "b"), ("a", "c"), ("b", "c")])
    K = kind(np.array([1, 0, 0], dtype))
    assert curriculum.ready(K, THETA).tolist() == [True, True, False]


@pytest.mark.parametrize("K", [["x", "y"], [[1.0], [1.0, 2.0]], None])
def test_what_is_no_array_of_numbers_is_refused(K):
    with pytest.raises(InputError, match="not an array of numbers"):
        Curriculum.from_edges([("a", "b")]).ready(K, THETA)


def test_the_frontier_is_what_has_just_opened():
    assert frontier(np.array([True, True, False]), np.array([True, False, False])).tolist() == [False, True, False]


def test_an_equal_curriculum_does_not_compile_again():
    traces = []

    def ready(curriculum, K):
        traces.append(curriculum)
        return curriculum.ready(K, THETA)

    compiled = jax.jit(ready, static_argnums=0)
    for _ in range(2):
        compiled(Curriculum.from_edges([("a", "b")]), jnp.ones(2))
    assert len(traces) == 1


@pytest.mark.parametrize("theta", [0.0, 1.0, -0.1, 1, float("nan"), float("inf")])
def test_a_threshold_outside_the_open_interval_is_refused(theta):
    with pytest.raises(InputError, match="theta is"):
        check_theta(theta)
    with pytest.raises(InputError, match="theta is"):
        Curriculum.from_edges([("a", "b")]).ready(np.ones(2), theta)


@pytest.mark.parametrize("value", [float("nan"), -0.1, 1.1])
def test_a_wrong_mastery_is_refused_by_the_name_of_its_concept(value):
    with pytest.raises(InputError, match="mastery of 'b'"):
        check_mastery([[0.5, 0.5], [0.5, value]], Curriculum.from_edges([("a", "b")]))


@pytest.mark.parametrize("K", [np.ones(3), np.float64(1)])
def test_mastery_of_the_wrong_shape_is_refused(K):
    curriculum = Curriculum.from_edges([("a", "b")])
    for judge in (lambda: curriculum.ready(K, THETA), lambda: check_mastery(K, curriculum)):
        with pytest.raises(InputError, match="does not fit 2 concepts"):
            judge()


def test_the_package_needs_neither_jax_nor_rustworkx_nor_polars():
    code = "import sys, mccpo.curriculum; print(sorted({'jax', 'rustworkx', 'polars'} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


@settings(deadline=None)
@given(learners(rows=2), st.sampled_from([0.0, 0.25, 0.875]))
def test_the_joint_chance_is_the_product_over_the_prerequisites(case, doubt):
    curriculum, K = case

    def left(chance):
        """The chance at odds·(1 − doubt), by way of the odds."""
        if not 0 < chance < 1:  # certain, or not a number
            return chance
        odds = chance / (1 - chance) * (1 - doubt)
        return odds / (1 + odds)

    for row, found in zip(K, curriculum.joint_chance(K, doubt), strict=True):
        known = dict(zip(curriculum.concepts, row.astype(float), strict=True))
        for name, chance in zip(curriculum.concepts, found, strict=True):
            expected = np.prod([left(known[u]) for u, v in curriculum.edges if v == name])
            assert chance == pytest.approx(expected, rel=1e-4, nan_ok=True)
    np.testing.assert_allclose(curriculum.joint_chance(jnp.asarray(K), doubt), curriculum.joint_chance(K, doubt), 1e-5)


@given(
    st.floats(0.01, 0.99), st.floats(0, 0.99), st.floats(0.01, 0.49), st.floats(0.01, 0.49), st.floats(0, 0.5),
    st.lists(st.booleans(), max_size=30),
)  # fmt: skip
def test_trusted_odds_are_below_those_of_a_lower_start(K0, doubt, guess, slip, learn, answers):
    """The theorem by which the gate needs no second estimate: answers keep the ratio of odds, lessons raise it."""
    model = BKT(*(np.array([value]) for value in (K0, learn, guess, slip)))
    believed, cautious = K0, trusted(K0, doubt)
    for correct in answers:
        assert trusted(believed, doubt) <= cautious + 1e-9
        believed, cautious = (float(model.update(0, state, correct)) for state in (believed, cautious))
    assert trusted(believed, doubt) <= cautious + 1e-9


@pytest.mark.parametrize("confidence", [0.0, 1.0, -1.0, float("nan")])
def test_invalid_confidence_is_refused(confidence):
    with pytest.raises(InputError, match="the confidence is"):
        check_confidence(confidence)


def test_what_a_concept_is_needed_with():
    graph = Curriculum.from_edges([("a", "c"), ("b", "c"), ("a", "d")], ["a", "b", "c", "d"])
    assert dict(zip(graph.concepts, graph.most_needed_with.tolist(), strict=True)) == {"a": 2, "b": 2, "c": 1, "d": 1}
