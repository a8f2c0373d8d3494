"""Where in its episode every step of a rollout stood: how far discounted, and what the episode had cost until then."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from mccpo.algo.rivals.on_policy import Evidence
from mccpo.env import Environment


class Ledger(NamedTuple):
    """For every step, before it is taken: γ^t, and the discounted costs of its episode so far."""

    discount: Float[Array, "time batch"]
    spent: Float[Array, "time costs batch"]


def ledger_of(env: Environment[Any], evidence: Evidence) -> Ledger:
    """The ledger of a rollout, carried on from where its episodes stood when it began."""
    rollout = evidence.rollout

    def add(carry: Ledger, row: Any) -> tuple[Ledger, Ledger]:
        costs, ended = row
        spent = carry.spent + carry.discount * costs
        after = Ledger(jnp.where(ended, 1.0, carry.discount * env.gamma), jnp.where(ended, 0.0, spent))
        return after, carry

    first = Ledger(evidence.before.discount, evidence.before.totals[1:])
    return jax.lax.scan(add, first, (rollout.signals[:, 1:], rollout.ended))[1]
