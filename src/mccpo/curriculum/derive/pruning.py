"""Makes a usable graph of edges with strengths: few prerequisites, no cycles, nothing that other edges imply."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float


def strongest(edges: Bool[np.ndarray, "V V"], strength: Float[np.ndarray, "V V"], most: int) -> Bool[np.ndarray, "V V"]:
    """Keeps, of the edges into each concept (a column), the `most` strongest."""
    ranked = np.argsort(np.where(edges, -strength, np.inf), axis=0, kind="stable")[:most]
    chosen = np.zeros_like(edges)
    np.put_along_axis(chosen, ranked, True, axis=0)
    return chosen & edges


def acyclic(edges: Bool[np.ndarray, "V V"], strength: Float[np.ndarray, "V V"]) -> Bool[np.ndarray, "V V"]:
    """Leaves out every edge that closes a cycle with stronger ones: each cycle loses its weakest."""
    starts, ends = np.nonzero(edges)
    reaches = np.eye(len(edges), dtype=np.bool_)  # reaches[u, v]: a path leads from u to v
    chosen = np.zeros_like(edges)
    for index in np.argsort(-strength[starts, ends], kind="stable"):
        start, end = starts[index], ends[index]
        if reaches[end, start]:
            continue
        chosen[start, end] = True
        if not reaches[start, end]:
            reaches[reaches[:, start]] |= reaches[end]
    return chosen


def closure(edges: Bool[np.ndarray, "V V"]) -> Bool[np.ndarray, "V V"]:
    """Where a path of one edge or more leads, in an acyclic graph."""
    reaches = edges.copy()
    while True:
        # a path of twice the length is two paths; a product of floats is far quicker than one of truth values
        longer = reaches | (reaches.astype(np.float32) @ reaches.astype(np.float32) > 0)
        if np.array_equal(longer, reaches):
            return reaches
        reaches = longer


def reduced(edges: Bool[np.ndarray, "V V"]) -> Bool[np.ndarray, "V V"]:
    """Leaves out the edges that a longer path implies, in an acyclic graph."""
    reaches = closure(edges).astype(np.float32)
    return edges & ~(edges.astype(np.float32) @ reaches > 0)
