"""What a unit of each cost takes off an action's advantage: the multipliers, and how they follow an episode."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from mccpo.env import Environment
from mccpo.methods.gradient.gae import standard
from mccpo.methods.gradient.ledger import expected_costs
from mccpo.methods.gradient.margin import final_error, finished
from mccpo.methods.gradient.rollout import Playing, Rollout, Sizes
from mccpo.methods.gradient.settings import PPOSettings
from mccpo.methods.mc_cpo import multipliers as duals
from mccpo.methods.mc_cpo.multipliers import Budgets, Multipliers
from mccpo.methods.mc_cpo.spec import MethodArrays

DEAREST = 3.0  # times its price: what a cost may weigh where an episode exceeds its budget


def aim_of(budgets: Budgets, settings: PPOSettings, error: Float[Array, " costs"]) -> Budgets:
    """The budgets that training aims at: below those asked for, so that chance does not show its policy above them.

    `error` is the standard error by which its policy will be judged (`mccpo.methods.gradient.margin`).
    """
    margin = settings.aside * settings.caution * error
    return budgets._replace(limit=jnp.maximum(budgets.least, budgets.tightened(settings.tighten) - margin))


def reprice(
    env: Environment[Any],
    sizes: Sizes,
    method: MethodArrays,
    budgets: Budgets,
    settings: PPOSettings,
    multipliers: Multipliers,
    rollout: Rollout,
) -> Multipliers:
    """The multipliers after this iteration's finished episodes; without any they stay as they are."""
    seen = finished(rollout)
    aim = aim_of(budgets, settings, final_error(env, sizes, seen))
    rule = settings.rule._replace(proportional=settings.rule.proportional * method.constrained)
    step_size, chance = settings.step_size * method.constrained, seen.spread / jnp.sqrt(seen.episodes)
    moved = duals.update(rule, multipliers, aim, seen.J_c, step_size, price_unit(env, budgets), chance)
    return jax.tree.map(lambda new, old: jnp.where(rollout.ended.any(), new, old), moved, multipliers)


def price_unit(env: Environment[Any], budgets: Budgets) -> Float[Array, " costs"]:
    """The price at which a cost at its budget weighs as much as a reward of its bound in every step.

    Multipliers in this unit take like steps for costs of any scale.
    """
    return budgets.reward_bound * env.discounted_horizon / budgets.scale


def priced(
    estimates: Float[Array, "time signals batch"],
    prices: Float[Array, " costs"],
    due: Float[Array, "time costs batch"] | float = 1.0,
) -> Float[Array, "time batch"]:
    """Advantages less what `due` of each price is, standardised after: a price then means the same for every cost."""
    return standard(estimates[:, 0] - jnp.einsum("tcb,c->tb", due * estimates[:, 1:], prices))


def due_of(
    env: Environment[Any], sizes: Sizes, budgets: Budgets, settings: PPOSettings, before: Playing, rollout: Rollout
) -> Float[Array, "time costs batch"]:
    """What of its price each cost has at every step: more in an episode that will exceed the budget, less in others.

    The optimum under budgets for the mean has one price for all; on the way to it, one that follows the episode asks
    for savings first where most is spent. All of it is due where no episode ended, by which the aim is known.
    """
    aim = aim_of(budgets, settings, final_error(env, sizes, finished(rollout))).limit
    expected = expected_costs(env, budgets, before, rollout)
    excess = (budgets.active / budgets.scale)[:, None] * (expected - aim[:, None])
    due = jnp.clip(1.0 + settings.follow * excess, 0.0, DEAREST)
    return jnp.where(rollout.ended.any(), due, 1.0)
