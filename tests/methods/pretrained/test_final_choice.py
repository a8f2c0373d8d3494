"""The final choice of a search: the grids about where it ended, and the policy of sharpness 0 among the finalists."""

import jax
import jax.numpy as jnp
import numpy as np

from mccpo.methods.pretrained.final_choice import BLUNT, CANDIDATES, COPIES, FINALISTS, STEPS, _by_finalist, grid
from mccpo.methods.pretrained.weighting import POINT, SHARPNESS, TURNS


def test_a_grid_holds_its_middle_and_zero_sharpness_and_keeps_the_weights_of_what_is_not_asked_for():
    middle, moves = jnp.arange(POINT, dtype=jnp.float32), jnp.array([0.0, 1.0, 0.0, 0.0, 1.0])
    found = np.asarray(grid(middle, moves, 0.5, jax.random.key(0)))
    assert found.shape == (CANDIDATES, POINT)
    assert found[0, SHARPNESS] == BLUNT
    assert (found[1:] == np.asarray(middle)).all(axis=1).any()
    assert (found[:, [0, 2, 3]] == np.asarray(middle)[[0, 2, 3]]).all()
    steps = found[1 : 1 + len(STEPS)]
    np.testing.assert_allclose(steps[:, 1] - 1.0, steps[:, 4] - 4.0, atol=1e-6)
    assert (steps[:, TURNS] == np.asarray(middle)[TURNS]).all()
    assert np.ptp(steps[:, 1]) == 1.0


def test_a_finalists_episodes_include_all_copies_and_rounds():
    # Numbers say whose they are: rounds 2, candidates, costs 3, episodes 5.
    whose = np.arange(CANDIDATES)[None, :, None, None] // COPIES + np.zeros((2, 1, 3, 5))
    found = np.asarray(_by_finalist(jnp.asarray(whose)))
    assert found.shape == (FINALISTS, 3, 2 * COPIES * 5)
    assert (found == np.arange(FINALISTS)[:, None, None]).all()
