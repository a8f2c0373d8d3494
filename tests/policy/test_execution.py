"""Filters: what they let through, where its probability goes, and the same for NumPy and JAX."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mccpo.policy import FILTERS, blocked, renormalised, unfiltered

SIZE = 5
weights = st.lists(st.floats(0, 1), min_size=SIZE, max_size=SIZE)
masks = st.lists(st.booleans(), min_size=SIZE, max_size=SIZE).map(np.array)


@given(weights, masks)
def test_filters_give_distributions_and_block_what_they_must(given_weights, allowed):
    probs = np.array(given_weights) + 1e-9
    probs /= probs.sum()
    for name, rule in FILTERS.items():
        executed = rule(probs, allowed)
        assert executed.shape == (SIZE + 1,)
        assert executed.sum() == pytest.approx(1)
        assert name == "none" or not executed[:-1][~allowed].any()
        np.testing.assert_allclose(rule(jnp.asarray(probs), jnp.asarray(allowed)), executed, atol=1e-6)


def test_filters_by_hand():
    probs, allowed = np.array([0.5, 0.25, 0.25]), np.array([False, True, True])
    assert unfiltered(probs, allowed).tolist() == [0.5, 0.25, 0.25, 0.0]
    assert blocked(probs, allowed).tolist() == [0.0, 0.25, 0.25, 0.5]
    assert renormalised(probs, allowed).tolist() == [0.0, 0.5, 0.5, 0.0]
    assert renormalised(np.array([1.0, 0.0, 0.0]), allowed).tolist() == [0.0, 0.5, 0.5, 0.0]
    assert renormalised(probs, np.zeros(3, bool)).tolist() == [0.0, 0.0, 0.0, 1.0]
