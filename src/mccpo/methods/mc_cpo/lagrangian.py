"""What a unit of each cost takes off an action's advantage: the multipliers, and how they follow an episode."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from mccpo.env import Environment
from mccpo.methods.episodes import evaluation_episodes
from mccpo.methods.gradient.gae import standard
from mccpo.methods.gradient.ledger import expected_costs
from mccpo.methods.gradient.margin import Finished, as_long, final_error, finished
from mccpo.methods.gradient.members import training_error
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
    apart: Float[Array, "members costs"] | None = None,
) -> Multipliers:
    """The multipliers after this iteration's finished episodes; without any they stay as they are.

    `apart` is how far the costs of each member of an ensemble of learners are from the mean. Every member then has
    multipliers of its own, which price the costs of its learners: the saddle point of budgets that hold for all of
    them. Each is in units of what it weighs in the mean over members.
    """
    seen = finished(rollout)
    aim = aim_of(budgets, settings, _error(env, sizes, seen, apart))
    J_c = seen.J_c if apart is None else seen.J_c + apart
    rule = settings.rule._replace(proportional=settings.rule.proportional * method.constrained)
    step_size, chance = settings.step_size * method.constrained, seen.spread / jnp.sqrt(seen.episodes)
    moved = duals.update(rule, multipliers, aim, J_c, step_size, price_unit(env, budgets), chance)
    return jax.tree.map(lambda new, old: jnp.where(rollout.ended.any(), new, old), moved, multipliers)


def _error(
    env: Environment[Any], sizes: Sizes, seen: Finished, apart: Float[Array, "members costs"] | None
) -> Float[Array, "*members costs"]:
    """The standard error by which a policy will be judged, of every member where learners have several."""
    if apart is None or len(apart) == 1:
        return final_error(env, sizes, seen)
    return training_error(seen, env.ensemble, apart, as_long(env, sizes.final), evaluation_episodes(env))


def price_unit(env: Environment[Any], budgets: Budgets) -> Float[Array, " costs"]:
    """The price at which a cost at its budget weighs as much as a reward of its bound in every step.

    Multipliers in this unit take like steps for costs of any scale.
    """
    return budgets.reward_bound * env.discounted_horizon / budgets.scale


def priced(
    estimates: Float[Array, "time signals batch"],
    prices: Float[Array, " costs"] | Float[Array, "time costs batch"],
    due: Float[Array, "time costs batch"] | float = 1.0,
) -> Float[Array, "time batch"]:
    """Advantages less what `due` of each price is, standardised after: a price then means the same for every cost."""
    costly = due * estimates[:, 1:]
    if prices.ndim == 1:
        return standard(estimates[:, 0] - jnp.einsum("tcb,c->tb", costly, prices))
    return standard(estimates[:, 0] - (costly * prices).sum(axis=1))


def prices_in(
    prices: Float[Array, "members costs"], rollout: Rollout
) -> Float[Array, " costs"] | Float[Array, "time costs batch"]:
    """The prices in every step: those of the member that its learner was drawn from; the same in all, of one member."""
    return prices[0] if len(prices) == 1 else jnp.moveaxis(prices[rollout.member], -1, 1)


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
