"""The network that remembers, as it is trained: how its weights start, many steps at once, critics that see more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import accumulate
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from mccpo.env import Environment, ObservationField, Privileged
from mccpo.methods.gradient.graph_network import GraphNetwork, shared_network_of
from mccpo.methods.gradient.network import Network
from mccpo.policy import GraphPolicyNetwork, RecurrentPolicyNetwork, as_features

LESSON = "last_action"  # the field that tells which concept the last lesson was of


@dataclass(frozen=True)
class RecurrentNetwork(RecurrentPolicyNetwork, Network):
    """A network that remembers and is to be trained: it also says how its weights start."""

    def _graph(self, **changes: Any) -> GraphNetwork:
        return trainable(super()._graph(**changes))

    def init(self, key: PRNGKeyArray) -> Float[Array, " parameters"]:
        """Weights of the unit that keep the scale of what they take in; all else as of the network on the graph."""
        seeing, holding, reading = jax.random.split(key, 3)
        weights = jax.nn.initializers.variance_scaling(1.0, "fan_in", "normal", in_axis=-1, out_axis=-2)
        seen, held, bias = self.cell_shapes
        cell = [weights(seeing, seen), weights(holding, held), jnp.zeros(bias)]
        return jnp.concatenate([*(part.ravel() for part in cell), trainable(self.body).init(reading)])

    def unroll(
        self,
        parameters: Float[Array, " parameters"],
        memory: Float[Array, "concepts memory batch"],
        features: Float[Array, "time features batch"],
        ended: Bool[Array, "time batch"],
    ) -> tuple[Float[Array, "actions time*batch"], Float[Array, "signals time*batch"]]:
        """The logits and the values of steps one after the other, as `step` says them in turn.

        `ended` is whether an episode ended with a step: what was remembered is then forgotten.
        """
        steps, _, batch = features.shape
        wide = jnp.moveaxis(features, 0, -2).reshape(-1, steps * batch)
        cell = self.cell(parameters)

        def by_time(leaf: Array) -> Array:
            return jnp.moveaxis(leaf.reshape(*leaf.shape[:-1], steps, batch), -2, 0)

        def remember(held: Array, row: Any) -> tuple[Array, Array]:
            read, taught, end = row
            held = self.changed(cell, held, read, taught)
            return jnp.where(end, 0.0, held), held

        # What the gates take from what is seen needs no order: one product for all steps.
        rows = (by_time(self.read(cell, wide)), by_time(self.taught(wide)), ended)
        held = jax.lax.scan(remember, memory, rows)[1]
        return self.heads(parameters, wide, jnp.moveaxis(held, 0, -2).reshape(*memory.shape[:-1], steps * batch))


@dataclass(frozen=True)
class PrivilegedNetwork(RecurrentNetwork):
    """The same with critics of their own, which see what is hidden from the policy; their weights come last.

    Its features end with `hidden_size` numbers that no policy sees. The policy's part does not depend on them, and is
    all that is kept of the network. The critics see what is remembered, too: what a learner gains depends on what the
    policy knows, and not only on what is true.

    `hidden_blocks` says where the features of concepts lie among all, as `blocks` does among what is seen.
    """

    hidden_size: int = 0
    hidden_blocks: tuple[tuple[int, int], ...] = ()

    @property
    def kept(self) -> RecurrentNetwork:
        """The network without its critics."""
        return RecurrentNetwork(**{f.name: getattr(self, f.name) for f in fields(RecurrentNetwork)})

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return (*self.kept.shapes, *self.critic.shapes)

    @cached_property
    def critic(self) -> GraphPolicyNetwork:
        """The network whose values are learnt: of all features, and after them of what is remembered."""
        size = self.features + self.hidden_size
        blocks = (*self.blocks, *self.hidden_blocks, (size, self.memory))
        return replace(self.body, features=size + self.concepts * self.memory, blocks=blocks)

    def init(self, key: PRNGKeyArray) -> Float[Array, " parameters"]:
        acting, judging = jax.random.split(key)
        return jnp.concatenate([self.kept.init(acting), trainable(self.critic).init(judging)])

    def heads(
        self,
        parameters: Float[Array, " parameters"],
        features: Float[Array, "features batch"],
        memory: Float[Array, "concepts memory batch"],
    ) -> tuple[Float[Array, "actions batch"], Float[Array, "signals batch"]]:
        logits, _ = super().heads(parameters, features, memory)
        seen = jnp.concatenate([features, as_features(memory)])
        return logits, self.critic.apply(parameters[self.kept.size :], seen)[1]

    def without_values(
        self, parameters: Float[np.ndarray, "*runs parameters"], signals: int
    ) -> Float[np.ndarray, "*runs parameters"]:
        return self.kept.without_values(parameters[..., : self.kept.size], signals)


def trainable(network: GraphPolicyNetwork) -> GraphNetwork:
    """A network on a graph that says how its weights start."""
    return GraphNetwork(**{f.name: getattr(network, f.name) for f in fields(GraphPolicyNetwork)})


def recurrent_network_of(env: Environment[Any], memory: int) -> RecurrentNetwork:
    """The network that remembers so many numbers of each concept; where nothing is known of concepts, of the learner.

    In an environment that shows what is hidden, it has critics that see that, and a policy that does not.
    """
    seen = env.env if isinstance(env, Privileged) else env
    graph = _graph_of(seen)
    own = {f.name: getattr(graph, f.name) for f in fields(GraphPolicyNetwork)}
    lesson = _blocks(seen.observation_fields, graph.concepts, 0).get(LESSON, (0, 0))
    network = RecurrentNetwork(**own, memory=memory, lesson=lesson)
    if seen is env:
        return network
    hidden = _blocks(seen.hidden_fields, graph.concepts, seen.num_features)
    size = sum(field.size for field in seen.hidden_fields.values())
    kept = {f.name: getattr(network, f.name) for f in fields(RecurrentNetwork)}
    return PrivilegedNetwork(**kept, hidden_size=size, hidden_blocks=tuple(hidden.values()))


def _graph_of(env: Environment[Any]) -> GraphPolicyNetwork:
    """MC-CPO's network; where nothing is known of concepts, one of a single concept, which all is about."""
    network = shared_network_of(env)
    if isinstance(network, GraphPolicyNetwork):
        return network
    sizes = (network.features, network.actions, network.signals)
    return GraphPolicyNetwork(*sizes, rounds=0, concepts=1, blocks=((0, network.features),), fixed=((),))


def _blocks(shown: Mapping[str, ObservationField], concepts: int, first: int) -> dict[str, tuple[int, int]]:
    """Where the features of concepts lie, from the first on, and how many each concept has there."""
    placed = zip(accumulate((field.size for field in shown.values()), initial=first), shown.items(), strict=False)
    return {name: (start, field.size // concepts) for start, (name, field) in placed if field.per_concept}
