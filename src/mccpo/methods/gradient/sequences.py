"""Learning through time: minibatches of whole sequences, in which what is remembered is worked out again."""

from __future__ import annotations

from dataclasses import replace
from math import gcd
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from mccpo.methods.gradient.network import Network
from mccpo.methods.gradient.ppo import Batch, Cut, look_at, loss_of, wide
from mccpo.methods.gradient.recurrent_network import RecurrentNetwork
from mccpo.methods.gradient.rollout import Playing, Rollout, Sizes
from mccpo.methods.gradient.settings import PPOSettings

AT_ONCE = 4  # environments in a minibatch, each with all steps of an iteration: fewer would take longer


class Sequences(NamedTuple):
    """What is learnt from, environments first: what they brought, what was remembered before, where episodes ended."""

    batch: Batch
    memory: Float[Array, "environments ..."]
    ended: Bool[Array, "environments time"]


def by_sequences(sizes: Sizes, before: Playing, rollout: Rollout, batch: Batch) -> Cut:
    """Cuts a rollout into minibatches of environments, each with all of its steps: gradients go through time."""
    whole = Sequences(batch, before.memory, rollout.ended)
    at_once = gcd(AT_ONCE, sizes.environments)
    # What is shuffled are environments in place of rows of time.
    cut = replace(sizes, environments=1, rollout=sizes.environments, minibatch=at_once)
    return Cut(cut, jax.tree.map(lambda leaf: jnp.moveaxis(leaf, -1, 0), whole), objective)


def objective(
    network: Network,
    settings: PPOSettings,
    entropy_weight: Float[Array, ""],
    parameters: Float[Array, " parameters"],
    part: Sequences,
) -> Float[Array, ""]:
    """The loss of `ppo.objective`, of a policy that remembers."""
    assert isinstance(network, RecurrentNetwork)
    batch, memory, ended = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 0, -1), part)
    logits, values = network.unroll(parameters, memory, batch.features, ended)
    flat = wide(batch)
    return loss_of(settings, entropy_weight, look_at(logits, values, flat.mask, flat.action), flat)
