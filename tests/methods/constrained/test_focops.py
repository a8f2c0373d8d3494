"""FOCOPS: its loss is the divergence from the closed-form optimum, in the states that are near the old policy."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.methods.constrained.focops import FOCOPS, Known
from mccpo.methods.gradient.network import Network
from mccpo.methods.gradient.ppo import Batch
from mccpo.methods.gradient.settings import PPOSettings

NETWORK = Network(features=1, actions=4, signals=2, hidden=(2, 2))
ALONE = PPOSettings(value_weight=0.0)
TEMPERATURE = 0.7


def policy(logits):
    """Parameters of a policy of these logits, whatever it sees."""
    values = np.zeros(NETWORK.signals)
    return jnp.asarray(np.concatenate([np.zeros(NETWORK.size - 6), logits, values]), jnp.float32)


def known(advantages, mask):
    """One state in which the old policy, uniform over the mask, has taken each of its actions once."""
    actions = np.flatnonzero(mask)
    count = len(actions)
    old = np.where(mask, -np.log(count), 0.0)
    batch = Batch(
        features=np.zeros((1, 1, count)),
        mask=np.tile(mask[None, :, None], (1, 1, count)),
        action=actions[None],
        log_prob=np.full((1, count), -np.log(count)),
        weight=np.ones((1, count)),
        advantage=advantages[actions][None],
        targets=np.zeros((1, NETWORK.signals, count)),
    )
    return jax.tree.map(jnp.asarray, Known(batch, np.tile(old[None, :, None], (1, 1, count))))


@eqx.filter_jit
def loss_and_pull(learner, parameters, seen):
    """The loss of the policy alone, and its gradient."""
    return jax.value_and_grad(learner.loss, argnums=3)(NETWORK, ALONE, jnp.zeros(()), parameters, seen)


def softmax(logits, mask):
    weights = np.where(mask, np.exp(logits), 0.0)
    return weights / weights.sum()


def divergence(one, other, mask):
    return float((one[mask] * np.log(one[mask] / other[mask])).sum())


@pytest.mark.parametrize("mask", [np.ones(4, bool), np.array([True, False, True, True])], ids=["all", "masked"])
def test_the_loss_is_the_divergence_from_the_closed_form_optimum(mask):
    """Up to log Z, which does not depend on the policy: the two have the same minimum and the same gradient."""
    rng = np.random.default_rng(0)
    advantages = rng.normal(size=4)
    optimum = softmax(advantages / TEMPERATURE, mask)  # π_k is uniform
    log_z = np.log(np.exp(advantages[mask] / TEMPERATURE).mean())
    learner = FOCOPS(temperature=TEMPERATURE, radius=np.inf)
    for logits in (*rng.normal(size=(5, 4)), advantages / TEMPERATURE):
        loss, _ = loss_and_pull(learner, policy(logits), known(advantages, mask))
        expected = divergence(softmax(logits, mask), optimum, mask) - log_z
        assert float(loss) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(("radius", "moves"), [(0.02, False), (2.0, True)])
def test_a_state_that_has_left_the_trust_region_pulls_no_more(radius, moves):
    mask, logits = np.ones(4, bool), np.array([2.0, 0.0, 0.0, 0.0])
    assert 0.02 < divergence(softmax(logits, mask), np.full(4, 0.25), mask) < 2.0
    learner = FOCOPS(temperature=TEMPERATURE, radius=radius)
    _, pull = loss_and_pull(learner, policy(logits), known(np.array([1.0, -1.0, 0.5, -0.5]), mask))
    assert bool(pull.any()) == moves
