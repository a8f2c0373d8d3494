"""KG-A2C's idea: advantage actor–critic whose actions are those that the graph offers, and no constraint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from jaxtyping import Array, Float

from mccpo.methods.constrained.on_policy import Context, OnPolicy, upkeep
from mccpo.methods.gradient import ppo
from mccpo.methods.gradient.gae import standard
from mccpo.methods.gradient.network import Network
from mccpo.methods.gradient.ppo import Batch, Fitted
from mccpo.methods.gradient.settings import PPOSettings
from mccpo.methods.registry import register_method


@register_method(label="KG-A2C")
class KGA2C(OnPolicy):
    """A2C with the graph's mask, and no constraint: the idea of KG-A2C.

    **Problem:** max_π J(π) over policies that choose among what the graph offers, and nothing else: budgets play no
    part. One pass over what was played, by the plain policy gradient with an entropy bonus:

        ∇ E[ log π(a|s)·A_r + w·H(π(·|s)) - v·(V(s) - R)² ]

    **Source:** P. Ammanabrolu, M. Hausknecht, Graph Constrained Reinforcement Learning for Natural Language Action
    Spaces, ICLR 2020.

    **Departures:** the graph is the curriculum's, which is given and not extracted from text. Its mask is that of the
    ready concepts. Actions are concepts instead of templates filled with words. Advantages are generalised and
    standardised, where the source's are of a few steps. The pass is cut into minibatches, because one step of Adam for
    all that was played would be too few. `pace` times the learning rate makes up for the single pass.

    **When to use it:** to see what the mask alone brings about: prerequisites are kept, budgets are not.
    """

    name: ClassVar[str] = "kg-a2c"
    constrained: ClassVar[bool] = False
    search: ClassVar[tuple[Mapping[str, float], ...]] = (
        {},
        {"pace": 1.0},
        {"pace": 4.0},
        {"settings.gae": 0.95},
        {"settings.entropy": 0.02},
        {"settings.foresight": 0.3},
    )
    pace: float = 2.0

    def improve(self, context: Context) -> tuple[Fitted, Float[Array, " costs"]]:
        env, sizes, state = context.env, context.sizes, context.state
        evidence, key, share = context.evidence, context.key, context.share
        once = replace(sizes, epochs=1)
        advantage = standard(evidence.appraisal.advantages[:, 0])
        batch = ppo.batch_of(evidence.rollout, advantage, evidence.appraisal.targets)
        network = self.network(env)
        settings = self.settings._replace(learning_rate=self.pace * self.settings.learning_rate)
        fitted = ppo.learn(
            network, once, settings, state.fitted, state.iteration, batch, key, share, actor_critic
        )  # fmt: skip
        return fitted, state.own


def actor_critic(
    network: Network,
    settings: PPOSettings,
    entropy_weight: Float[Array, ""],
    parameters: Float[Array, " parameters"],
    batch: Batch,
) -> Float[Array, ""]:
    """The loss: log-likelihood weighted by advantage, squared error of the value heads, entropy bonus."""
    batch = ppo.wide(batch)
    seen = ppo.look(network, parameters, batch.features, batch.mask, batch.action)
    return upkeep(settings, entropy_weight, seen, batch.targets) - (seen.log_prob * batch.advantage).mean()
