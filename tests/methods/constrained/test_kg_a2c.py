"""KG-A2C's idea: the plain policy gradient."""

import jax
import jax.numpy as jnp
import numpy as np

from mccpo.methods.constrained.kg_a2c import KGA2C, actor_critic
from mccpo.methods.gradient.network import Network
from mccpo.methods.gradient.ppo import Batch, objective
from mccpo.methods.gradient.settings import PPOSettings

NETWORK = Network(features=3, actions=4, signals=2, hidden=(5, 5))


def played(parameters, rows=6, batch=4):
    """A batch as the policy of these parameters would have played it."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(rows, 3, batch))
    mask = rng.uniform(size=(rows, 4, batch)) < 0.6
    action = rng.integers(4, size=(rows, batch))
    np.put_along_axis(mask, action[:, None], True, axis=1)
    logits = np.stack([jax.jit(NETWORK.apply)(parameters, row)[0] for row in features])
    weights = np.where(mask, np.exp(logits), 0.0)
    probs = np.take_along_axis(weights / weights.sum(axis=1, keepdims=True), action[:, None], axis=1)[:, 0]
    advantage, targets = rng.normal(size=(rows, batch)), rng.normal(size=(rows, 2, batch))
    numbers = Batch(features, mask, action, np.log(probs), np.ones((rows, batch)), advantage, targets)
    return jax.tree.map(jnp.asarray, numbers), np.log(probs), advantage


@jax.jit
def gradients(parameters, batch):
    """Those of A2C's loss and of PPO's, value heads and entropy included."""
    weight = jnp.asarray(0.05)
    losses = (actor_critic, objective)
    return [jax.grad(loss, argnums=3)(NETWORK, PPOSettings(), weight, parameters, batch) for loss in losses]


def test_the_loss_is_the_weighted_log_likelihood():
    parameters = NETWORK.init(jax.random.key(0)) * 3
    batch, log_probs, advantage = played(parameters)
    alone = PPOSettings(value_weight=0.0)
    loss = jax.jit(actor_critic, static_argnums=0)(NETWORK, alone, jnp.zeros(()), parameters, batch)
    np.testing.assert_allclose(loss, -(log_probs * advantage).mean(), rtol=1e-4)


def test_the_gradient_matches_the_clipped_objective_on_visited_states():
    """The two part only once the policy has moved: there PPO clips, and A2C should have played anew."""
    parameters = NETWORK.init(jax.random.key(1)) * 3
    batch, _, _ = played(parameters)
    ours, theirs = gradients(parameters, batch)
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    ours, theirs = gradients(parameters * 1.5, batch)
    assert np.abs(ours - theirs).max() > 1e-3


def test_it_knows_of_no_budget():
    assert not KGA2C.constrained
