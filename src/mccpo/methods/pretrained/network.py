"""The network that is told what counts, and the ordinary network that it is at one problem.

Its parameters do not depend on how many concepts there are. What it is told is known at a problem for every time of an
episode, and enters where features of the whole learner do: in the first layer and in the pooled one. `fold` adds what
these layers make of it to their biases, and to what they make of the time. What is left is the network on a graph that
`mc-cpo` has, of any curriculum, so that evaluation, run folders, certificates, the service and further training need
know nothing of this.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from mccpo.env import Environment
from mccpo.env.tutor import Tutoring
from mccpo.env.tutor.problems import DrawnProblem
from mccpo.errors import DoesNotApply
from mccpo.methods.gradient.graph_network import GraphNetwork
from mccpo.methods.pretrained.context import CONTEXT, COSTS, LEARNING, WEIGHTS, Numbers

HIDDEN, HEARD = (32, 64), 8
BLOCKS = 4  # numbers that are seen of each concept: mastery, novelty, last action, ready
KNOWN = 8  # numbers that are known of each concept once and for all
SIGNALS = WEIGHTS  # a value for the engagement, for each cost and for learning


def conditioned() -> GraphNetwork:
    """The network that is told what counts, on one concept: its parameters are those on any number of them."""
    blocks = tuple((at, 1) for at in range(BLOCKS))
    features = BLOCKS + 1 + CONTEXT
    return GraphNetwork(
        features, 1, SIGNALS, HIDDEN, 0, True, HEARD, concepts=1, blocks=blocks, fixed=((0.0,) * KNOWN,)
    )


def check_applies(env: Environment[Any]) -> None:
    """Refuses an environment in which a policy sees other things than it was trained to see."""
    graph = env.concept_graph
    plain = ("mastery", "novelty", "last_action", "ready", "time")
    fields = env.observation_fields
    if not isinstance(env.unwrapped, Tutoring) or graph is None or not all(graph.learning):
        raise DoesNotApply(
            f"pretrained needs a tutor on one known graph, which {env.name} is not", fix="train mc-cpo there"
        )
    if tuple(fields) != plain or fields["last_action"].size != len(graph.demand):
        raise DoesNotApply(
            f"pretrained sees {', '.join(plain)} of plain concepts, and {env.name} shows {', '.join(fields)}",
            fix="train mc-cpo there",
        )


def network_at(env: Environment[Any]) -> GraphNetwork:
    """The ordinary network on an environment's graph whose parameters `fold` gives."""
    check_applies(env)
    graph = env.concept_graph
    assert graph is not None
    concepts = len(graph.demand)
    learning = np.asarray(graph.learning).T
    behind = behind_of(graph.edges, concepts)
    columns = known_columns(np, graph.demand, graph.depth, learning, *ahead_of(behind, np.asarray(graph.demand)))
    return GraphNetwork(
        env.num_features,
        env.num_actions,
        1 + len(env.cost_names),
        HIDDEN,
        0,
        True,
        HEARD,
        concepts=concepts,
        edges=graph.edges,
        blocks=tuple((at * concepts, 1) for at in range(BLOCKS)),
        fixed=tuple(map(tuple, columns.T.tolist())),
    )


def behind_of(edges: tuple[tuple[int, int], ...], concepts: int) -> Bool[np.ndarray, "concepts concepts"]:
    """Whether the concept of the column needs that of the row, directly or not; concepts come after what they need.

    >>> behind_of(((0, 1), (1, 2)), 3).astype(int).tolist()
    [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    """
    behind = np.zeros((concepts, concepts), bool)
    for before, after in sorted(edges, reverse=True):
        behind[before] |= behind[after]
        behind[before, after] = True
    return behind


def ahead_of(
    behind: Bool[np.ndarray, "concepts concepts"], demand: Float[np.ndarray, " concepts"]
) -> tuple[Float[np.ndarray, " concepts"], Float[np.ndarray, " concepts"]]:
    """The share of the other concepts that need each one, and the highest demand that it leads to, its own counted."""
    highest = np.where(behind, demand, 0.0).max(axis=1)
    return behind.sum(axis=1) / max(len(demand) - 1, 1), np.maximum(demand, highest)


def fold(
    parameters: Float[Array, " parameters"],
    context: Float[Array, " context"],
    drift: Float[Array, " context"],
    numbers: Numbers,
    env: Environment[Any],
    bound: Float[Array, " costs"],
    sharpness: Float[Array, ""] | float = 1.0,
) -> Float[Array, " parameters"]:
    """The parameters of `network_at` for one context: what layers make of it is added to their biases.

    The context is that of the first lesson. By the end of the episode it has moved by `drift`, evenly, which is added
    to what layers make of the time. `bound` is the largest value of each cost in a step, by which critics are scaled.
    A cost that the network has no value for gets one that is 0. Scores of actions are multiplied by `sharpness`: where
    more concepts are ready than in training, chances that are each small would else add up.
    """
    w, b, w_pool, b_pool, w_told, w_score, b_score, w_action, w_other, b_other = conditioned().unpack(parameters)
    time = 3 * BLOCKS  # behind what is seen
    told = slice(time + 1, time + 1 + CONTEXT)
    first, pooled = w.at[:, time].add(w[:, told] @ drift), w_pool[:, HIDDEN[0] + 1 :]
    heads, rates = _value_heads(env, numbers, bound)
    parts = (
        jnp.delete(first, np.arange(w.shape[1])[told], axis=1),
        b + w[:, told] @ context,
        w_pool[:, : HIDDEN[0] + 1].at[:, HIDDEN[0]].add(pooled @ drift),
        b_pool + pooled @ context,
        w_told,
        w_score,
        b_score,
        sharpness * w_action,
        w_other[heads] * rates[:, None],
        b_other[heads] * rates,
    )
    return jnp.concatenate([part.ravel() for part in parts])


def _value_heads(
    env: Environment[Any], numbers: Numbers, bound: Float[Array, " costs"]
) -> tuple[Int[np.ndarray, " signals"], Float[Array, " signals"]]:
    """Which of the network's values stands for the reward and for each cost, and what it is to be multiplied by."""
    learns = getattr(env, "objective", "engagement") == "learning"
    heads, rates = [SIGNALS - 1 if learns else 0], [jnp.asarray(numbers.pace / env.gain_bound if learns else 1.0)]
    for at, name in enumerate(env.cost_names):
        of_learning = name in LEARNING
        known = {**{cost: 1 + place for place, cost in enumerate(COSTS)}, "engagement": 0}
        heads.append(SIGNALS - 1 if of_learning else known.get(name, 0))
        scale = -numbers.pace / bound[at] if name == "learning" else -1.0 if name == "engagement" else 1.0
        rates.append(jnp.asarray(scale if name in known or name == "learning" else 0.0))
    return np.array(heads), jnp.stack([jnp.asarray(rate, jnp.float32) for rate in rates])


class Graphs(NamedTuple):
    """Graphs side by side, padded to one size, as the network reads them.

    **Fields:**

    - `before`, `after`: the mean over the prerequisites of each concept, and over what needs it, as matrices.
    - `known`: what is known of each concept; `there`: which are no padding.
    """

    before: Float[Array, "graphs concepts concepts"]
    after: Float[Array, "graphs concepts concepts"]
    known: Float[Array, "known graphs concepts"]
    there: Bool[Array, "graphs concepts"]


def graphs_of(problems: DrawnProblem) -> Graphs:
    """The graphs of drawn problems, which lie on the first axis of every leaf."""
    graph = problems.graph
    needs = graph.needs.astype(jnp.float32)
    needed = jnp.swapaxes(needs, -1, -2)

    def mean(neighbours: Float[Array, "graphs concepts concepts"]) -> Float[Array, "graphs concepts concepts"]:
        return neighbours / jnp.maximum(neighbours.sum(axis=-1, keepdims=True), 1.0)

    learning = [jnp.asarray(each) for each in (problems.eta, problems.K0, problems.guess, problems.slip)]
    known = known_columns(jnp, graph.demand, graph.depth, learning, graph.unlocks, graph.ahead)
    return Graphs(mean(needs), mean(needed), jnp.where(graph.there, known, 0.0), graph.there)


def known_columns(xp: Any, demand: Any, depth: Any, learning: Any, unlocks: Any, ahead: Any) -> Any:
    """What is known of each concept, as the network reads it: of `learning`, η by its order of magnitude."""
    eta, K0, guess, slip = learning
    return xp.stack([demand, depth, xp.log(xp.maximum(eta, 1e-3) / 0.08) / 2, K0, guess, slip, unlocks, ahead])


def forward(
    parameters: Float[Array, " parameters"],
    graphs: Graphs,
    own: Float[Array, "blocks graphs concepts batch"],
    rest: Float[Array, "rest graphs batch"],
) -> tuple[Float[Array, "graphs concepts batch"], Float[Array, "signals graphs batch"]]:
    """Logits and values of learners on several graphs: `GraphPolicyNetwork.apply` of each of them.

    `own` is what is seen of each concept, `rest` the time and what the policy is told. What all concepts of a learner,
    or all learners of a graph, have in common is worked out once for them.
    """
    w, b, w_pool, b_pool, w_told, w_score, b_score, w_action, w_other, b_other = conditioned().unpack(parameters)
    seen, told = 3 * BLOCKS, 3 * BLOCKS + len(rest)
    neighbours = jnp.concatenate([own, _gather(graphs.before, own), _gather(graphs.after, own)])
    shared = _each(w[:, seen:told], rest)[:, :, None] + _each(w[:, told:], graphs.known)[..., None]
    nodes = jax.nn.relu(_each(w[:, :seen], neighbours) + shared + b[:, None, None, None])
    counted = jnp.where(graphs.there[..., None], nodes, 0.0).sum(axis=2) / graphs.there.sum(axis=1)[:, None]
    whole = jnp.tanh(_each(w_pool, jnp.concatenate([counted, rest])) + b_pool[:, None, None])
    said = _each(w_told, nodes)
    heard = jnp.concatenate([nodes, _gather(graphs.before, said), _gather(graphs.after, said)])
    of_all = _each(w_score[:, len(heard) :], whole) + b_score[:, None, None]
    scores = jax.nn.relu(_each(w_score[:, : len(heard)], heard) + of_all[:, :, None])
    return _each(w_action, scores)[0], _each(w_other, whole) + b_other[:, None, None]


def _each(weights: Float[Array, "out in"], values: Float[Array, "in ..."]) -> Float[Array, "out ..."]:
    return (weights @ values.reshape(values.shape[0], -1)).reshape(-1, *values.shape[1:])


def _gather(
    means: Float[Array, "graphs concepts concepts"], values: Float[Array, "of graphs concepts batch"]
) -> Float[Array, "of graphs concepts batch"]:
    return jnp.einsum("gnm,fgmb->fgnb", means, values)
