"""CRPO: what a step is for, against the rule in plain Python."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.methods.constrained.crpo import rectified
from mccpo.methods.mc_cpo.multipliers import Budgets


def budgets(active):
    ones = jnp.ones(3)
    return Budgets(ones, ones, active, ones, jnp.ones(()))


def plain(aims, excess, active, tolerance):
    missed = [(share, place) for place, share in enumerate(excess) if active[place] and share > tolerance]
    return -aims[1 + max(missed)[1]] if missed else aims[0]


@pytest.mark.parametrize("tolerance", [-0.2, 0.0, 0.3])
def test_a_step_is_for_the_reward_or_against_the_cost_that_misses_most(tolerance):
    """With any number of budgets."""
    rng = np.random.default_rng(0)
    aims = rng.normal(size=(300, 4, 5)).astype(np.float32)
    excess = rng.normal(scale=0.6, size=(300, 3)).astype(np.float32)
    active = rng.integers(2, size=(300, 3)).astype(np.float32)
    found = jax.vmap(lambda one, off, has: rectified(one, off, budgets(has), tolerance))(aims, excess, active)
    expected = [plain(*case, tolerance) for case in zip(aims, excess, active, strict=True)]
    np.testing.assert_array_equal(found, expected)
    for count in (1, 2, 3):  # both happen
        for_reward = (found == aims[:, 0]).all(axis=1)[active.sum(axis=1) == count]
        assert 0 < for_reward.sum() < len(for_reward)
