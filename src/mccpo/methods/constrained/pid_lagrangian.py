"""PID-Lagrangian: PPO on a penalised advantage, the multipliers as the output of a PID controller of the costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from mccpo.env import Environment
from mccpo.methods.constrained.on_policy import Context, OnPolicy, penalised
from mccpo.methods.gradient.ppo import Fitted
from mccpo.methods.mc_cpo.lagrangian import price_unit
from mccpo.methods.registry import register_method


class Gains(NamedTuple):
    """The controller's gains, and the share of the old average kept in what P and D act on."""

    proportional: Float[Array, ""] | float
    integral: Float[Array, ""] | float
    derivative: Float[Array, ""] | float
    memory: Float[Array, ""] | float


class PIDState(NamedTuple):
    """The multipliers in force, the controller's integral part, and the smoothed error."""

    value: Float[Array, " costs"]
    integral: Float[Array, " costs"]
    smoothed: Float[Array, " costs"]


def pid_update(gains: Gains, state: PIDState, error: Float[Array, " costs"]) -> PIDState:
    """One step of the controller on the error J_c - d, in whatever unit; λ is in that of the gains.

    Because d stays, the error's change is the cost's, of which D sees the rise only.
    """
    smoothed = gains.memory * state.smoothed + (1.0 - gains.memory) * error
    rise = jnp.maximum(0.0, smoothed - state.smoothed)
    integral = jnp.maximum(0.0, state.integral + gains.integral * error)
    value = jnp.maximum(0.0, gains.proportional * smoothed + integral + gains.derivative * rise)
    return PIDState(value, integral, smoothed)


@register_method(label="PID-Lagrangian", also_shared=True)
class PIDLagrangian(OnPolicy):
    """PPO with a PID multiplier.

    **Problem:** max_π J(π) s.t. J_ci(π) ≤ d_i, whose multipliers answer to the error e_i = (J_ci - d_i)/d_i, its sum
    and the rise of its average ē_i:

        I_i ← max(0, I_i + K_I e_i),   λ_i = max(0, K_P ē_i + I_i + K_D max(0, ē_i - ē_i'))
        A = (A_r - Σ λ_i A_ci) / (1 + Σ λ_i)

    where ē' is the average one update before. P and D damp the oscillation of a multiplier that only integrates.

    **Source:** A. Stooke, J. Achiam, P. Abbeel, Responsive Safety in Reinforcement Learning by PID Lagrangian Methods,
    ICML 2020.

    **Departures:** there are three controllers instead of one. Errors are relative to the budgets. Multipliers are in
    the unit in which a cost at its budget weighs as much as the reward, so one set of gains serves any scale. D
    compares with the update before instead of the tenth before, because runs have few updates. An iteration in which no
    episode ends leaves the controller as it is. Actions are discrete and masked. The advantage is standardised, which
    takes the place of its division by 1 + Σ λ.

    **When to use it:** where a plain multiplier swings around its budgets, and the time is there to set three gains.
    """

    name: ClassVar[str] = "pid-lagrangian"
    search: ClassVar[tuple[Mapping[str, float], ...]] = (
        {},
        {"proportional": 1.0},
        {"proportional": 4.0},
        {"integral": 0.3},
        {"derivative": 0.0},
        {"settings.tighten": 0.04},
    )
    proportional: float = 2.0
    integral: float = 0.15
    derivative: float = 1.0
    memory: float = 0.5

    def own(self, env: Environment[Any], key: PRNGKeyArray) -> PIDState:
        """The controller at rest: costs at their budgets, no multiplier."""
        del key
        zero = jnp.zeros(len(env.cost_names))
        return PIDState(zero, zero, zero)

    def own_prices(self, own: PIDState) -> Float[Array, "*runs costs"]:
        return own.value

    def improve(self, context: Context) -> tuple[Fitted, PIDState]:
        env, budgets, state, evidence = context.env, context.budgets, context.state, context.evidence
        unit = price_unit(env, budgets)
        gains = Gains(self.proportional * unit, self.integral * unit, self.derivative * unit, self.memory)
        moved = pid_update(gains, state.own, self.excess(context))
        own = jax.tree.map(lambda new, old: jnp.where(evidence.episodes > 0, new, old), moved, state.own)
        advantage = penalised(evidence.appraisal.advantages, own.value)
        return self.ascend(context, advantage), own
