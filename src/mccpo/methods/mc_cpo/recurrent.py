"""MC-CPO with a policy that remembers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray

from mccpo.env import Environment, Privileged
from mccpo.methods.gradient import ppo
from mccpo.methods.gradient.gradient_method import GradientMethod
from mccpo.methods.gradient.network import Network
from mccpo.methods.gradient.ppo import PPOState, Progress
from mccpo.methods.gradient.recurrent_network import recurrent_network_of
from mccpo.methods.gradient.rollout import Sizes
from mccpo.methods.gradient.sequences import by_sequences
from mccpo.methods.gradient.settings import PPOSettings
from mccpo.methods.mc_cpo.mc_cpo import MC_CPO
from mccpo.methods.mc_cpo.multipliers import Budgets
from mccpo.methods.mc_cpo.spec import MethodArrays, method_arrays
from mccpo.methods.registry import register_method


@register_method(label="MC-CPO, recurrent", variant=True)
class RecurrentMCCPO(GradientMethod):
    """MC-CPO whose policy remembers what it saw, and whose critics see the true learner in training.

    **Problem:** that of MC-CPO where a policy does not see all that there is, such as the answers of a learner and not
    what they say of mastery. With m_t what the policy remembers, a gated recurrent unit for each concept:

        m_t = GRU(m_{t-1}, o_t),   π(a|o_t, m_t) ∝ exp(f_θ(o_t, m_t, a)) for ready a, else 0
        V_i = V_i(o_t, m_t, s_t)   for the reward and each cost, with the true state s_t

    The memory is empty at the start of an episode. Updates take whole sequences and work the memory out again, so that
    gradients go back through the episode. The critics are dropped when training ends: the policy that is kept has no
    part that ever saw s.

    **Source:** K. Cho et al., Learning Phrase Representations using RNN Encoder–Decoder, EMNLP 2014, for the unit;
    L. Pinto et al., Asymmetric Actor Critic for Image-Based Robot Learning, RSS 2018, for critics that see the state;
    A. Baisero, C. Amato, Unbiased Asymmetric Reinforcement Learning under Partial Observability, AAMAS 2022, for giving
    them the history as well.

    **Departures:** concepts share the weights of the unit, and what is remembered of a concept changes with its own
    lessons alone. All else is as in `mc-cpo`. Where nothing is hidden from the policy, its critics see what it sees.

    **When to use it:** where no model of learners is at hand that says what answers mean. Where there is one, `mc-cpo`
    on its estimate is simpler, and can be served.
    """

    name: ClassVar[str] = "mc-cpo-recurrent"
    privileged: ClassVar[bool] = True

    memory: int = eqx.field(static=True, default=16)
    """How many numbers are remembered of each concept."""
    settings: PPOSettings = PPOSettings()
    shared: bool = eqx.field(static=True, default=True)

    def playing(self, env: Environment[Any]) -> MethodArrays:
        return method_arrays(replace(MC_CPO, name=self.name), env)

    def training_environment(self, env: Environment[Any]) -> Environment[Any]:
        """Where it is trained: with what is hidden shown to the critics, where something is."""
        return Privileged(env) if self.privileged and env.hidden_fields else env

    def network(self, env: Environment[Any]) -> Network:
        return recurrent_network_of(env, self.memory)

    def start(self, env: Environment[Any], sizes: Sizes, key: PRNGKeyArray) -> PPOState:
        return ppo.start(env, sizes, self.network(env), key)

    def iterate(
        self, env: Environment[Any], sizes: Sizes, budgets: Budgets, state: PPOState, share: Float[Array, ""]
    ) -> tuple[PPOState, Progress]:
        network, method = self.network(env), self.playing(env)
        return ppo.iterate(env, sizes, method, budgets, self.settings, network, state, share, by_sequences)

    def prices(self, state: PPOState) -> Float[Array, "*runs costs"]:
        return state.prices


@register_method(label="MC-CPO, recurrent, plain critics", variant=True)
class RecurrentPlainCritics(RecurrentMCCPO):
    """MC-CPO whose policy remembers what it saw, and whose critics see no more than the policy does.

    **Problem:** that of `mc-cpo-recurrent`, with values V_i(o_t, m_t) that share the policy's network.

    **Source:** that of `mc-cpo-recurrent`.

    **Departures:** those of `mc-cpo-recurrent`.

    **When to use it:** to see what critics that see the true learner add.
    """

    name: ClassVar[str] = "mc-cpo-recurrent-plain"
    privileged: ClassVar[bool] = False
