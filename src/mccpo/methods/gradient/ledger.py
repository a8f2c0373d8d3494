"""Where in its episode every step of a rollout stood: how far discounted, what it had cost, what it will have cost."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from mccpo.env import Environment
from mccpo.methods.gradient.gae import value_scale
from mccpo.methods.gradient.rollout import Playing, Rollout
from mccpo.methods.mc_cpo.multipliers import Budgets


class Ledger(NamedTuple):
    """For every step, before it is taken: γ^t, and the discounted costs of its episode so far."""

    discount: Float[Array, "time batch"]
    spent: Float[Array, "time costs batch"]


def ledger_of(env: Environment[Any], before: Playing, rollout: Rollout) -> Ledger:
    """The ledger of a rollout, carried on from where its episodes stood `before` it."""

    def add(carry: Ledger, row: Any) -> tuple[Ledger, Ledger]:
        costs, ended = row
        spent = carry.spent + carry.discount * costs
        after = Ledger(jnp.where(ended, 1.0, carry.discount * env.gamma), jnp.where(ended, 0.0, spent))
        return after, carry

    first = Ledger(before.discount, before.spent)
    return jax.lax.scan(add, first, (rollout.signals[:, 1:], rollout.ended))[1]


def expected_costs(
    env: Environment[Any], budgets: Budgets, before: Playing, rollout: Rollout
) -> Float[Array, "time costs batch"]:
    """What every episode is expected to have cost at its end, from each of its steps, by the cost critics."""
    ledger = ledger_of(env, before, rollout)
    values = rollout.values[:, 1:] * value_scale(env, budgets)[1:, None]
    return ledger.spent + ledger.discount[:, None] * values
