"""What a function makes of every run, whichever way the machine takes them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.methods import engine


def scaled(context, run, state):
    return {"value": context * run + state}


@pytest.mark.parametrize("runs", [1, 3, 4, 7])
def test_an_accelerator_takes_some_at_a_time_and_loses_none(monkeypatch, runs):
    numbers, states = jnp.arange(runs, dtype=jnp.float32), 10.0 * jnp.ones(runs)
    expected = 2.0 * np.arange(runs) + 10.0
    np.testing.assert_array_equal(engine.each(scaled, 2.0, numbers, states)["value"], expected)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(engine, "AT_ONCE", 3)
    np.testing.assert_array_equal(engine.each(scaled, 2.0, numbers, states)["value"], expected)
