"""CRPO: no multiplier; a step for the reward while the budgets are met, else a step down the cost that misses most."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from mccpo.methods.constrained.on_policy import Context, OnPolicy, ratio_of, upkeep
from mccpo.methods.gradient import ppo
from mccpo.methods.gradient.network import Network
from mccpo.methods.gradient.ppo import Batch, Fitted
from mccpo.methods.gradient.settings import PPOSettings
from mccpo.methods.mc_cpo.multipliers import Budgets
from mccpo.methods.registry import register_method


class Alternatives(NamedTuple):
    """A batch, and the advantages of whatever a step may be for: the reward, or less of a cost."""

    batch: Batch
    aims: Float[Array, "rows signals batch"]


@register_method(label="CRPO", also_shared=True)
class CRPO(OnPolicy):
    """Constraint-rectified policy optimisation: steps for the reward, or against one cost, and no multiplier.

    **Problem:** max_π J(π) s.t. J_ci(π) ≤ d_i. Every gradient step looks at the costs first:

        max_i (J_ci - d_i)/d_i ≤ η:   a step up J;   else, for the i that attains it:   a step down J_ci

    **Source:** T. Xu, Y. Liang, G. Lan, CRPO: A New Approach for Safe Reinforcement Learning with Convergence
    Guarantee, ICML 2021.

    **Departures:** the steps are PPO's clipped ones on minibatches instead of natural gradients, on discrete masked
    actions. Every step is a choice of its own. J_ci during an iteration is the mean of its finished episodes, plus the
    policy's change since then by the cost's surrogate, D(T)·E[(π_θ/π_k - 1)·A_ci]. Of several missed budgets the source
    takes any. Here it is the one missed by the largest share.

    **When to use it:** where nothing may need tuning: the tolerance is its only number. Its policies swing around the
    budgets, so that some return is left on the table.
    """

    name: ClassVar[str] = "crpo"
    search: ClassVar[tuple[Mapping[str, float], ...]] = (
        {},
        {"tolerance": 0.005},
        {"settings.tighten": 0.04},
        {"settings.clip": 0.1},
        {"settings.entropy_end": 1.0},
        {"settings.learning_rate": 2e-3},
    )
    tolerance: float = 0.0

    def improve(self, context: Context) -> tuple[Fitted, Float[Array, " costs"]]:
        env, budgets, state, evidence = context.env, context.budgets, context.state, context.evidence
        estimates = evidence.appraisal.advantages
        spread = estimates.std(axis=(0, 2)) + 1e-8
        aims = (estimates - estimates.mean(axis=(0, 2), keepdims=True)) / spread[:, None]
        batch = ppo.batch_of(evidence.rollout, aims[:, 0], evidence.appraisal.targets)
        excess = self.excess(context)
        slope = env.discounted_horizon * spread[1:] / budgets.scale

        def loss(
            network: Network, settings: PPOSettings, entropy_weight: Any, parameters: Any, part: Alternatives
        ) -> Any:
            batch, aims = ppo.wide(part)
            seen = ppo.look(network, parameters, batch.features, batch.mask, batch.action)
            ratio = ratio_of(seen, batch)
            now = excess + slope * jax.lax.stop_gradient((ratio - 1.0) * aims[1:]).mean(axis=-1)
            advantage = rectified(aims, now, budgets, self.tolerance)
            surrogate = ppo.clipped(ratio, advantage, settings.clip).mean()
            return upkeep(settings, entropy_weight, seen, batch.targets) - surrogate

        fitted = self.learn(context, Alternatives(batch, aims), loss)
        return fitted, state.own


def rectified(
    aims: Float[Array, "signals batch"],
    excess: Float[Array, " costs"],
    budgets: Budgets,
    tolerance: Float[Array, ""] | float,
) -> Float[Array, " batch"]:
    """What a step ascends: the reward's advantage, or less of the cost that exceeds its budget by the largest share."""
    excess = jnp.where(budgets.active > 0, excess, -jnp.inf)
    return jnp.where(excess.max() > tolerance, -aims[1 + excess.argmax()], aims[0])
