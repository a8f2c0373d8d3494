"""Drawing from a masked policy by log-probabilities; everything else about the masked softmax is in `mccpo.policy`."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from mccpo.policy import REFUSAL


def sample_gumbel(
    key: PRNGKeyArray, log_probs: Float[Array, "*batch actions"], mask: Bool[Array, "*batch actions"]
) -> Int[Array, "*batch"]:
    """Draws an action by the Gumbel-max trick from the log-probabilities of `masked_softmax`.

    For callers that hold log-probabilities and no probabilities. Returns `REFUSAL` where nothing is ready.
    """
    possible = mask & (log_probs > -jnp.inf)
    noisy = jnp.where(possible, log_probs + jax.random.gumbel(key, log_probs.shape), -jnp.inf)
    return jnp.where(possible.any(axis=-1), jnp.argmax(noisy, axis=-1), REFUSAL)
