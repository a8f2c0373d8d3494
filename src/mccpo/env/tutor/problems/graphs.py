"""Prerequisite graphs of many shapes, drawn inside a compiled program and padded to one size.

Concepts stand in a topological order: none needs one that comes after it, so that no graph has a cycle. What lies
beyond a graph's own concepts is padding, which nobody needs and nobody may be taught.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

SHAPES = ("chains", "tree", "layers", "hubs", "loose", "mixed")
"""Strands that run side by side; one prerequisite each; layer upon layer; few concepts that most rest on (scale-free
out-degrees); mostly concepts by themselves; up to three prerequisites from anywhere before."""
LEAST_CONCEPTS = 3
EVEN = 0.2  # the share of graphs whose concepts all demand the same, as where nobody states a demand
_PARENTS = 3  # at most, before those drawn twice are counted once


class DrawnGraph(NamedTuple):
    """A graph padded to so many concepts.

    **Fields:**

    - `needs`: of each concept (row), which it needs directly; `there`: which concepts are no padding.
    - `demand`: how much each asks of a learner; 1 of padding, which then is never the least.
    - `depth`: how far up each lies, from 0 to 1; `unlocks`: the share of the other concepts that lie behind each.
    - `ahead`: the highest demand that each leads to, its own counted.
    """

    needs: Bool[Array, "concepts concepts"]
    there: Bool[Array, " concepts"]
    demand: Float[Array, " concepts"]
    depth: Float[Array, " concepts"]
    unlocks: Float[Array, " concepts"]
    ahead: Float[Array, " concepts"]


def draw_graph(key: PRNGKeyArray, most: int) -> DrawnGraph:
    """A graph of `LEAST_CONCEPTS` to `most` concepts: small ones as likely as large ones, shapes alike."""
    sizing, shaping, asking = jax.random.split(key, 3)
    size = jnp.exp(jax.random.uniform(sizing, minval=jnp.log(LEAST_CONCEPTS), maxval=jnp.log(most + 1.0)))
    there = jnp.arange(most) < jnp.floor(size)
    needs = draw_edges(shaping, most) & there[:, None]
    depth = depth_of(needs)
    return drawn_graph(needs, there, _demand(asking, there, depth), depth)


def drawn_graph(
    needs: Bool[Array, "concepts concepts"],
    there: Bool[Array, " concepts"],
    demand: Float[Array, " concepts"],
    depth: Float[Array, " concepts"],
) -> DrawnGraph:
    """A graph with what lies behind each of its concepts."""
    behind = behind_of(needs)
    unlocks = jnp.where(there, behind.sum(axis=0) / jnp.maximum(there.sum() - 1.0, 1.0), 0.0)
    ahead = jnp.maximum(demand, (behind * demand[:, None]).max(axis=0))
    return DrawnGraph(needs, there, demand, depth, unlocks, ahead)


def draw_edges(key: PRNGKeyArray, most: int) -> Bool[Array, "concepts concepts"]:
    """Who needs whom: a shape, and its edges."""
    picking, placing, having, parting, width_key = jax.random.split(key, 5)
    shape = jax.random.randint(picking, (), 0, len(SHAPES))
    at = jnp.arange(most)[:, None]
    u = jax.random.uniform(placing, (most, _PARENTS))
    width = jnp.floor(jnp.exp(jax.random.uniform(width_key, maxval=jnp.log(most / 2.0)))).astype(jnp.int32)
    strands = jnp.minimum(width, 5)
    first = (at // width) * width  # of the layer that a concept is in
    back = jnp.array([0, 1, 1])
    candidates = jnp.stack(
        [
            at - strands - back,  # the strand's last, and a neighbouring strand's
            jnp.floor(u * at).astype(jnp.int32),
            first - width + jnp.floor(u * width).astype(jnp.int32),
            jnp.floor(u**3 * at).astype(jnp.int32),
            jnp.floor(u * at).astype(jnp.int32),
            jnp.floor(u * at).astype(jnp.int32),
        ]
    )
    # The chance of a first, second and third prerequisite, by shape.
    chances = jnp.array(
        [[1.0, 0.3, 0.0], [0.95, 0.0, 0.0], [0.95, 0.5, 0.25], [0.95, 0.35, 0.1], [0.2, 0.05, 0.0], [0.75, 0.4, 0.2]]
    )
    parent = candidates[shape]
    has = jax.random.uniform(having, (most, _PARENTS)) < chances[shape]
    # Some graphs fall into parts: every so many concepts a part begins, and needs nothing from before.
    parts, falls = jax.random.split(parting)
    part = jnp.floor(jnp.exp(jax.random.uniform(parts, minval=jnp.log(3.0), maxval=jnp.log(most * 1.0))))
    begins = jnp.where(jax.random.uniform(falls) < 0.3, (at // part) * part, 0.0)
    holds = has & (parent >= begins) & (parent >= 0) & (parent < at)
    return (holds[:, :, None] & (parent[:, :, None] == jnp.arange(most))).any(axis=1)


def depth_of(needs: Bool[Array, "concepts concepts"]) -> Float[Array, " concepts"]:
    """The longest path that leads to each concept, as a share of the longest of all; 0 where there are no edges."""
    most = len(needs)

    def place(concept: Int[Array, ""], height: Float[Array, " concepts"]) -> Float[Array, " concepts"]:
        above = jnp.where(needs[concept], height + 1.0, 0.0).max()
        return height.at[concept].set(above)

    height = jax.lax.fori_loop(0, most, place, jnp.zeros(most))
    return height / jnp.maximum(height.max(), 1.0)


def behind_of(needs: Bool[Array, "concepts concepts"]) -> Float[Array, "concepts concepts"]:
    """1 where the concept of the row needs that of the column, directly or not, else 0."""
    reach = needs.astype(jnp.float32)
    for _ in range(max(len(needs) - 1, 1).bit_length()):  # paths of up to 1, 2, 4, … edges
        reach = jnp.minimum(reach + reach @ reach, 1.0)
    return reach


def _demand(
    key: PRNGKeyArray, there: Bool[Array, " concepts"], depth: Float[Array, " concepts"]
) -> Float[Array, " concepts"]:
    """Demands that rise with the order, with depth, or with neither, between two bounds; in some graphs all alike."""
    lowest, widest, mixing, shuffling, evening = jax.random.split(key, 5)
    low = jax.random.uniform(lowest, minval=0.05, maxval=0.6)
    wide = jax.random.uniform(widest, minval=0.1, maxval=0.6)
    high = low + jnp.where(jax.random.uniform(evening) < EVEN, 0.0, wide)
    order = jnp.arange(len(there)) / jnp.maximum(there.sum() - 1.0, 1.0)
    rises = jax.random.dirichlet(mixing, jnp.full(3, 0.5))
    u = jax.random.uniform(shuffling, there.shape)
    share = rises[0] * order + rises[1] * depth + rises[2] * u
    return jnp.where(there, low + (high - low) * jnp.clip(share, 0.0, 1.0), 1.0)
