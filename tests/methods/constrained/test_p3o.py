"""P3O: its loss against one written out in NumPy, and what the penalty does on either side of a budget."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.methods.constrained.p3o import Penalised, exact_penalty
from mccpo.methods.gradient.network import Network
from mccpo.methods.gradient.ppo import Batch
from mccpo.methods.gradient.settings import PPOSettings

NETWORK = Network(features=3, actions=4, signals=3, hidden=(5, 5))
ALONE = PPOSettings(value_weight=0.0, clip=0.2)
PARAMETERS = NETWORK.init(jax.random.key(0)) * 3


def numbers(rows=6, batch=5, costs=2):
    """A batch of an older policy, from which the present one has moved; and π_θ/π_k of its actions."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(rows, 3, batch))
    action = rng.integers(4, size=(rows, batch))
    logits = np.stack([NETWORK.apply(np.asarray(PARAMETERS), row)[0] for row in features])
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    log_prob = np.log(np.take_along_axis(probs, action[:, None], axis=1)[:, 0])
    change = rng.normal(scale=0.3, size=(rows, batch))
    plain = Batch(
        features=features,
        mask=np.ones((rows, 4, batch), bool),
        action=action,
        log_prob=log_prob - change,
        weight=np.ones((rows, batch)),
        advantage=rng.normal(size=(rows, batch)),
        targets=np.zeros((rows, 3, batch)),
    )
    return Penalised(plain, rng.normal(size=(rows, costs, batch))), np.exp(change)


@jax.jit
def loss_of(parameters, part, excess):
    return exact_penalty(NETWORK, ALONE, jnp.zeros(()), parameters, part, jnp.stack(excess))


def plain_loss(part, ratio, excess):
    held = np.clip(ratio, 0.8, 1.2)
    reward = np.minimum(ratio * part.batch.advantage, held * part.batch.advantage).mean()
    penalty = 0.0
    for place, beyond in enumerate(excess):
        cost = part.costs[:, place]
        penalty += max(0.0, np.maximum(ratio * cost, held * cost).mean() - cost.mean() + beyond)
    return penalty - reward


@pytest.mark.parametrize("excess", [(0.5, 0.5), (-5.0, 0.5), (-5.0, -5.0), (0.0, -0.05)])
def test_the_loss_is_the_clipped_reward_less_what_the_clipped_costs_exceed(excess):
    part, ratio = numbers()
    assert float(loss_of(PARAMETERS, part, excess)) == pytest.approx(plain_loss(part, ratio, excess), rel=1e-4)


def test_a_cost_well_within_its_budget_has_no_say():
    part, _ = numbers()
    without = part._replace(costs=np.zeros_like(part.costs))
    gradient = jax.jit(jax.grad(loss_of))
    np.testing.assert_array_equal(gradient(PARAMETERS, part, (-9.0, -9.0)), gradient(PARAMETERS, without, (-9.0, -9.0)))
    assert not np.allclose(gradient(PARAMETERS, part, (9.0, -9.0)), gradient(PARAMETERS, without, (9.0, -9.0)))
