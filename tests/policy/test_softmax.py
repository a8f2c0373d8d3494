"""Theorem 1: whatever the logits, a masked policy never chooses what the learner is not ready for."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mccpo.curriculum import Curriculum, frontier
from mccpo.env import make
from mccpo.methods import method_arrays, method_spec, sample_gumbel
from mccpo.methods.mc_cpo.tabular import rollout
from mccpo.policy import REFUSAL, masked_probabilities, masked_softmax, mix, sample

EXAMPLES = 40 if settings.default.derandomize else 300  # the same ones every time find less the more there are
SIZE = 7  # one shape for every drawn case, so that jax compiles once
EXTREME = [math.inf, -math.inf, math.nan, 1e30, -1e30, 3e38, -3e38, 1e-40, -1e-40, 0.0]
logit = st.one_of(st.floats(-30, 30, width=32), st.sampled_from(EXTREME))
rows = st.lists(logit, min_size=SIZE, max_size=SIZE).map(lambda row: np.array(row, np.float32))
masks = st.lists(st.booleans(), min_size=SIZE, max_size=SIZE).map(np.array)
NUMPY_AND_JAX = pytest.mark.parametrize("softmax", [masked_softmax, jax.jit(masked_softmax)], ids=["numpy", "jax"])


def by_definition(logits, mask):
    """The masked softmax and its flag for one row, in plain Python."""
    inside = [float(x) for x, ready in zip(logits, mask, strict=True) if ready]
    broken = any(math.isnan(x) or x == math.inf for x in inside) or all(x == -math.inf for x in inside)
    if broken:
        inside = [0.0] * len(inside)
    weights = iter([math.exp(x - max(inside)) for x in inside])
    unnormalised = np.array([next(weights) if ready else 0.0 for ready in mask])
    return unnormalised / (unnormalised.sum() or 1.0), broken


def agrees(found, logits, mask):
    probs, degenerate = by_definition(logits, mask)
    given_probs = np.asarray(found.probs)
    np.testing.assert_allclose(given_probs, probs, atol=2e-6)
    assert (given_probs[~mask] == 0.0).all()
    assert (np.asarray(found.log_probs)[~mask] == -np.inf).all()
    assert bool(found.degenerate) == degenerate
    alive = given_probs > 1e-30
    np.testing.assert_allclose(np.asarray(found.log_probs)[alive], np.log(given_probs[alive]), atol=2e-5)


@NUMPY_AND_JAX
@settings(deadline=None, max_examples=EXAMPLES)
@given(logits=rows, mask=masks)
def test_masked_softmax_is_its_definition_for_any_logits(softmax, logits, mask):
    agrees(softmax(logits, mask), logits, mask)


@NUMPY_AND_JAX
@pytest.mark.parametrize(
    ("logits", "mask", "probs", "degenerate"),
    [
        ([0.0, math.nan, 0.0], [1, 1, 0], [0.5, 0.5, 0.0], True),
        ([0.0, math.inf, 0.0], [1, 1, 0], [0.5, 0.5, 0.0], True),
        ([-math.inf, -math.inf, 5.0], [1, 1, 0], [0.5, 0.5, 0.0], True),
        ([1.0, 1.0, math.nan], [1, 1, 0], [0.5, 0.5, 0.0], False),
        ([1.0, 1.0, math.inf], [1, 1, 0], [0.5, 0.5, 0.0], False),
        ([-math.inf, 1.0, 5.0], [1, 1, 0], [0.0, 1.0, 0.0], False),
        ([3e38, -3e38, 0.0], [1, 1, 1], [1.0, 0.0, 0.0], False),
        ([1.0, math.nan, 2.0], [0, 0, 0], [0.0, 0.0, 0.0], True),
    ],
)
def test_what_is_flagged_and_what_is_not(softmax, logits, mask, probs, degenerate):
    found = softmax(np.array(logits, np.float32), np.array(mask, bool))
    assert np.asarray(found.probs).tolist() == probs
    assert bool(found.degenerate) is degenerate


@given(rows, masks)
def test_probabilities_of_one_learner_are_the_same_to_the_bit_or_none(logits, mask):
    for row in (logits, logits.astype(np.float64)):
        expected, found = masked_softmax(row, mask), masked_probabilities(row, mask)
        assert (found is None) == bool(expected.degenerate)
        assert found is None or found.tobytes() == expected.probs.tobytes()


def test_rows_of_a_batch_do_not_touch_each_other():
    logits = np.array([[math.nan, 1.0], [0.0, 0.0], [1.0, 2.0]], np.float32)
    mask = np.array([[True, True], [False, False], [True, True]])
    for softmax in (masked_softmax, jax.jit(masked_softmax)):
        found = softmax(logits, mask)
        assert np.asarray(found.degenerate).tolist() == [True, True, False]
        for row in range(3):
            agrees(type(found)(*(leaf[row] for leaf in found)), logits[row], mask[row])


def test_numpy_keeps_the_precision_it_is_given():
    mask = np.array([True, False, True])
    for dtype in (np.float32, np.float64):
        found = masked_softmax(np.zeros(3, dtype), mask)
        assert {found.probs.dtype, found.log_probs.dtype, mix(found.probs, mask, 0.3).dtype} == {np.dtype(dtype)}


@st.composite
def learners(draw):
    """A random curriculum and two mastery vectors, with values at, above, below the threshold, and unknown ones."""
    names = [f"c{i}" for i in range(SIZE)]
    pairs = [(names[u], names[v]) for v in range(SIZE) for u in range(v)]
    curriculum = Curriculum.from_edges(draw(st.lists(st.sampled_from(pairs), unique=True, max_size=12)), names)
    theta = draw(st.sampled_from([0.25, 0.5, 0.7]))
    at = np.float32(theta)
    near = [at, np.nextafter(at, np.float32(0)), np.nextafter(at, np.float32(1)), math.nan, 0.0, 1.0]
    values = st.one_of(st.sampled_from(near), st.floats(0, 1, width=32))
    K = draw(st.lists(st.lists(values, min_size=SIZE, max_size=SIZE), min_size=2, max_size=2))
    return curriculum, np.array(K, np.float32), at


@settings(deadline=None, max_examples=EXAMPLES)
@given(learner=learners(), logits=rows, rate=st.sampled_from([0.0, 0.1, 0.5, 1.0]))
def test_the_executed_policy_gives_an_unready_concept_exactly_nothing(learner, logits, rate):
    """Theorem 1, from the prerequisite graph to the policy that acts, with frontier mixing."""
    curriculum, K, theta = learner
    mastered = {name for name, k in zip(curriculum.concepts, K[1], strict=True) if k >= theta}
    unready = np.array([any(v == c and u not in mastered for u, v in curriculum.edges) for c in curriculum.concepts])
    before, now = curriculum.ready(K[0], theta), curriculum.ready(K[1], theta)
    for softmax, mixed in ((masked_softmax, mix), (jax.jit(masked_softmax), jax.jit(mix))):
        executed = np.asarray(mixed(softmax(logits, now).probs, frontier(now, before), rate))
        assert (executed[unready] == 0.0).all()
        assert (executed >= 0.0).all()
        assert executed[~unready].sum() == pytest.approx(1, abs=1e-5)


@jax.jit
def jacobians(logits, mask):
    return jax.jacrev(lambda x: tuple(masked_softmax(x, mask)[:2]))(logits)


@settings(deadline=None, max_examples=EXAMPLES)
@given(logits=rows, mask=masks)
def test_gradients_are_finite_and_never_reach_a_masked_logit(logits, mask):
    of_probs, of_log_probs = (np.asarray(jacobian) for jacobian in jacobians(logits, mask))
    probs, degenerate = by_definition(logits, mask)
    dead = ~mask | (logits == -np.inf)
    expected = np.where(dead[:, None] | dead | degenerate, 0.0, np.eye(SIZE) - probs)
    np.testing.assert_allclose(of_log_probs, expected, atol=1e-5)
    np.testing.assert_allclose(of_probs, probs[:, None] * expected, atol=1e-5)


def adversarial(width, count=1000, draws=500):
    """Random masked policies, some with nothing ready, and uniform numbers that sit where rounding decides."""
    draw = np.random.default_rng(width)
    logits = draw.normal(0, 3, (count, width)).astype(np.float32)
    strange = draw.random(logits.shape) < 0.1
    logits[strange] = draw.choice(np.array(EXTREME, np.float32), strange.sum())
    mask = draw.random(logits.shape) < draw.uniform(0, 1, (count, 1))
    mask[: count // 20] = False
    probs = np.asarray(jax.jit(masked_softmax)(logits, mask).probs)
    edges = np.asarray(jax.jit(lambda p: jnp.cumsum(p, axis=-1))(probs))
    special = np.broadcast_to(
        np.array([0.0, np.nextafter(np.float32(1), np.float32(0)), 1.0, 2.0, -1.0, np.nan], np.float32), (count, 6)
    )
    around = [special, edges, np.nextafter(edges, np.float32(2)), np.nextafter(edges, np.float32(-1))]
    uniform = np.concatenate([*around, draw.random((count, draws), np.float32)], axis=1)
    return uniform, probs, mask


def lands_inside(drawn, probs, mask):
    """Every draw is ready and has some probability; `REFUSAL` where, and only where, nothing is ready."""
    nothing = ~mask.any(axis=1)
    assert nothing.any()
    assert (drawn[nothing] == REFUSAL).all()
    taken = np.take_along_axis((probs * mask)[~nothing], drawn[~nothing].clip(0), axis=1)
    assert (drawn[~nothing] >= 0).all()
    assert (taken > 0).all()


# Past 16 entries jax sums in blocks, in another order than one by one.
@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize("width", [5, 16, 60])
def test_no_uniform_number_makes_inverse_cdf_sampling_leave_the_ready_set(width):
    uniform, probs, mask = adversarial(width)
    over_draws = jax.jit(jax.vmap(sample, in_axes=(1, None, None), out_axes=1))
    lands_inside(np.asarray(over_draws(uniform, probs, mask)), probs, mask)
    lands_inside(sample(uniform, probs[:, None], mask[:, None]), probs, mask)


def test_a_uniform_number_of_one_gives_the_last_ready_action():
    probs, mask = np.float32([0.5, 0.5, 0.0, 0.0]), np.array([True, True, True, False])
    for draw in (sample, jax.jit(sample)):
        for uniform, action in (
            (0.0, 0),
            (0.4999, 0),
            (0.5, 1),
            (np.nextafter(np.float32(1), np.float32(0)), 1),
            (1, 1),
        ):
            assert int(draw(np.float32(uniform), probs, mask)) == action


def test_rounding_of_the_sum_cannot_bring_back_a_masked_action():
    # Ten times 0.1 in single precision adds up to more than 1, and 0.99999 is left over by these.
    for probs in (np.full(10, 0.1, np.float32), np.full(3, 0.33333, np.float32)):
        padded, mask = np.append(probs, [0.7, 0.7]).astype(np.float32), np.arange(len(probs) + 2) < len(probs)
        for draw in (sample, jax.jit(sample)):
            assert int(draw(np.float32(0.99999994), padded, mask)) == len(probs) - 1


@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize("width", [pytest.param(5, marks=pytest.mark.slow), 60])
def test_gumbel_sampling_never_leaves_the_ready_set(width):
    _, probs, mask = adversarial(width, count=200)
    log_probs = jnp.log(probs)
    keys = jax.random.split(jax.random.key(3), 2500)
    drawn = jax.jit(jax.vmap(sample_gumbel, in_axes=(0, None, None), out_axes=1))(keys, log_probs, mask)
    lands_inside(np.asarray(drawn), probs, mask)


def test_a_gumbel_draw_ignores_log_probabilities_outside_the_mask():
    log_probs, mask = jnp.array([0.0, math.nan, math.inf, -5.0]), jnp.array([False, False, False, True])
    assert int(sample_gumbel(jax.random.key(0), log_probs, mask)) == 3


LOGITS = np.float32([0.3, -1.0, 9.0, 1.5, 0.0, -4.0])
READY = np.array([True, True, False, True, True, True])
JUST = np.array([False, False, False, False, False, True])


def inverse_cdf(key, probs):
    uniform = jax.random.uniform(key, (1_000_000,))
    return sample(uniform, probs, jnp.asarray(READY))


def inverse_cdf_numpy(key, probs):
    return sample(np.asarray(jax.random.uniform(key, (1_000_000,))), np.asarray(probs), READY)


def gumbel(key, probs):
    return sample_gumbel(key, jnp.broadcast_to(jnp.log(probs), (1_000_000, probs.size)), jnp.asarray(READY))


@pytest.mark.parametrize("rate", [0.0, 0.3])
@pytest.mark.parametrize("draw", [jax.jit(inverse_cdf), inverse_cdf_numpy, jax.jit(gumbel)])
def test_draws_follow_the_probabilities(draw, rate):
    probs = mix(masked_softmax(jnp.asarray(LOGITS), jnp.asarray(READY)).probs, jnp.asarray(JUST), rate)
    counts = np.bincount(np.asarray(draw(jax.random.key(11), probs)), minlength=len(LOGITS))
    expected = np.asarray(probs, float) * 1_000_000 / np.asarray(probs, float).sum()
    assert counts[~READY].sum() == 0
    assert stats.chisquare(counts[READY], expected[READY]).pvalue > 1e-3


@pytest.mark.parametrize(
    ("name", "overrides"), [("chain", {}), pytest.param("random-finite", {"instance": 2}, marks=pytest.mark.slow)]
)
def test_an_environment_never_counts_an_unready_step_of_a_masked_policy(name, overrides):
    """Over more than a million steps, with tables of logits that no training would leave."""
    env = make(name, **overrides)
    draw = np.random.default_rng(5)
    masked = method_arrays(method_spec("mc-cpo"), env)
    play = jax.jit(lambda method, theta, key: rollout(env, method, theta, key, 30_000))
    steps, events, unready, unmasked = 0, 0, 0, 0
    for trial in range(7):
        theta = draw.normal(0, 3, (env.num_states, env.num_actions)).astype(np.float32)
        strange = draw.random(theta.shape) < 0.2
        theta[strange] = draw.choice(np.array(EXTREME, np.float32), strange.sum())
        episodes = play(masked, theta, jax.random.key(trial))
        steps += int(episodes.alive.sum())
        events += int(episodes.frontier.sum())
        unready += int(episodes.unready.sum())
        unmasked += int(
            play(method_arrays(method_spec("unconstrained"), env), theta, jax.random.key(trial)).unready.sum()
        )
    assert steps > 1_000_000
    assert events > 10_000
    assert unready == 0
    assert unmasked > 10_000
