"""GITS: a policy that reads the curriculum's graph, trained for the goal alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from jaxtyping import Array, Float

from mccpo.env import Environment
from mccpo.methods.constrained.on_policy import Context, OnPolicy
from mccpo.methods.gradient.graph_network import graph_network_of
from mccpo.methods.gradient.network import Network
from mccpo.methods.gradient.ppo import Fitted
from mccpo.methods.registry import register_method


@register_method(label="GITS")
class GITS(OnPolicy):
    """Goal-oriented tutoring by a graph network: concepts inform each other along the prerequisites.

    **Problem:** max_π J(π), without constraints; the costs are measured and play no part. With x_v the features of
    concept v (mastery, novelty, last lesson, readiness, demand, whether it is a target) and two rounds of

        h_v ← relu(W·[h_v, mean of h_u over prerequisites u of v, mean of h_w over the w that need v])

    the policy is π(v) ∝ exp(score(h_v, pooled h)) over the ready concepts, improved by PPO's clipped update.

    **Source:** Y. Deng, Z. Ren, A. Zhang, T.-S. Chua, Towards Goal-oriented Intelligent Tutoring Systems in Online
    Education, ACM Transactions on Information Systems 43(6), 2025 (arXiv 2312.10053, 2023).

    **Departures:** the idea is kept, a state that is read along the cognitive structure and a policy for one goal; the
    system is not. It chooses among exercises and assessments of students simulated by cognitive diagnosis. Here
    concepts are taught to the environment's learners, whose mastery is seen, and nothing is assessed. The learner is
    PPO, as for all that are compared, so only the network differs. Where the environment has no targets the goal is its
    reward. Where each learner has a graph of its own, there are no edges to pass messages on. Concepts then share
    weights and a summary of all.

    **When to use it:** where curricula are large and what is learnt of one concept should hold for others, and nothing
    but the goal counts.
    """

    name: ClassVar[str] = "gits"
    constrained: ClassVar[bool] = False
    search: ClassVar[tuple[Mapping[str, float], ...]] = (
        {},
        {"settings.learning_rate": 2e-3},
        {"settings.learning_rate": 3e-3},
        {"settings.entropy": 0.02},
        {"settings.gae": 0.95},
        {"settings.foresight": 0.01},
    )

    def network(self, env: Environment[Any]) -> Network:
        return graph_network_of(env)

    def improve(self, context: Context) -> tuple[Fitted, Float[Array, " costs"]]:
        state, evidence = context.state, context.evidence
        advantage = evidence.appraisal.advantages[:, 0]
        return self.ascend(context, advantage), state.own
