"""Environments written out once for all tests of the exact solver: each takes a second to compile."""

import functools
from types import SimpleNamespace

import numpy as np
import pytest

from mccpo.env import Chain, Gate, RandomFinite
from mccpo.exact import enumerate_model

ENVIRONMENTS = {
    "chain": Chain,
    "gate": Gate,
    "random": RandomFinite,
    "small": lambda: RandomFinite(instance=1, concepts=3, horizon=4),
    "tiny": lambda: RandomFinite(instance=2, concepts=2, horizon=2),
}


@functools.cache
def case(name):
    env = ENVIRONMENTS[name]()
    return SimpleNamespace(env=env, model=enumerate_model(env))


@pytest.fixture(scope="session")
def finite():
    """Gives an environment and its model by name."""
    return case


@pytest.fixture
def random_policy():
    """Draws a policy for a model: masked, over all actions, or over all actions and the no-op."""

    def draw(model, seed, support):
        rng = np.random.default_rng(seed)
        weights = rng.exponential(size=(model.num_states, model.num_actions + (support == "no-op")))
        if support == "masked":
            weights = weights * model.mask
        return weights / weights.sum(axis=1, keepdims=True)

    return draw
