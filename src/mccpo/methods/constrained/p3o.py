"""P3O: PPO's clipped surrogate, less an exact penalty on what the costs' surrogates exceed their budgets by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from mccpo.methods.constrained.on_policy import Context, OnPolicy, ratio_of, upkeep
from mccpo.methods.gradient import ppo
from mccpo.methods.gradient.gae import standard
from mccpo.methods.gradient.network import Network
from mccpo.methods.gradient.ppo import Batch, Fitted
from mccpo.methods.gradient.settings import PPOSettings
from mccpo.methods.mc_cpo.lagrangian import price_unit
from mccpo.methods.registry import register_method


class Penalised(NamedTuple):
    """A batch, and the advantages of the costs in it at the price of the penalty, in the unit of the reward's."""

    batch: Batch
    costs: Float[Array, "rows costs batch"]


@register_method(label="P3O", also_shared=True)
class P3O(OnPolicy):
    """Penalised proximal policy optimisation: an exact penalty in place of multipliers.

    **Problem:** max_π J(π) s.t. J_ci(π) ≤ d_i, as the unconstrained minimisation of clipped surrogates

        -L_r(θ) + κ Σ_i u_i max(0, L_ci(θ) + (J_ci(π_k) - d_i)/D(T))

        L_r = E[min(ρ A_r, clip(ρ) A_r)],   L_ci = E[max(ρ A_ci, clip(ρ) A_ci)],   ρ = π_θ/π_k

    which has the same solution for every κ that is larger than the multipliers, because the penalty is exact.

    **Source:** L. Zhang, L. Shen, L. Yang, S. Chen, B. Yuan, X. Wang, D. Tao, Penalized Proximal Policy Optimization
    for Safe Reinforcement Learning, IJCAI 2022.

    **Departures:** the source's factor 1 - γ turns a discounted sum into a mean over steps. Here it is 1/D(T) with D(T)
    = Σ_t γ^t over the horizon, because episodes end. u_i is the price at which a cost at its budget weighs as much as
    the reward. So one κ serves costs of any scale. All terms are divided by the standard deviation of A_r. L_ci is
    taken as E[max(ρ A_ci, clip(ρ) A_ci) - A_ci], where A_ci is 0 on average. In a minibatch it is not, and this chance
    would pass for a missed budget. Actions are discrete and masked.

    **When to use it:** where multipliers would have too little time to settle: a missed budget is answered at once, and
    with full force.
    """

    name: ClassVar[str] = "p3o"
    search: ClassVar[tuple[Mapping[str, float], ...]] = (
        {},
        {"penalty": 1.0},
        {"penalty": 10.0},
        {"settings.tighten": 0.04},
        {"settings.clip": 0.1},
        {"settings.learning_rate": 2e-3},
    )
    penalty: float = 3.0

    def improve(self, context: Context) -> tuple[Fitted, Float[Array, " costs"]]:
        env, budgets, state, evidence = context.env, context.budgets, context.state, context.evidence
        estimates = evidence.appraisal.advantages
        spread = estimates[:, 0].std() + 1e-8
        weight = self.penalty * price_unit(env, budgets) * budgets.active / spread
        costs = estimates[:, 1:] * weight[:, None]
        excess = self.excess(context) * budgets.scale / env.discounted_horizon * weight
        batch = ppo.batch_of(evidence.rollout, standard(estimates[:, 0]), evidence.appraisal.targets)

        def loss(network: Network, settings: PPOSettings, entropy_weight: Any, parameters: Any, part: Penalised) -> Any:
            return exact_penalty(network, settings, entropy_weight, parameters, part, excess)

        fitted = self.learn(context, Penalised(batch, costs), loss)
        return fitted, state.own


def exact_penalty(
    network: Network,
    settings: PPOSettings,
    entropy_weight: Float[Array, ""],
    parameters: Float[Array, " parameters"],
    part: Penalised,
    excess: Float[Array, " costs"],
) -> Float[Array, ""]:
    """The loss: penalties on clipped costs beyond their budgets, less the clipped reward, and the rest of every loss.

    `excess` is by how much the old policy misses the budgets, per step and at the price of the penalty.
    """
    batch, costs = ppo.wide(part)
    seen = ppo.look(network, parameters, batch.features, batch.mask, batch.action)
    ratio = ratio_of(seen, batch)
    reward = ppo.clipped(ratio, batch.advantage, settings.clip).mean()
    beyond = excess - (ppo.clipped(ratio, -costs, settings.clip) + costs).mean(axis=-1)
    return jnp.maximum(beyond, 0.0).sum() - reward + upkeep(settings, entropy_weight, seen, batch.targets)
