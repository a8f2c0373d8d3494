"""The expectation step of knowledge tracing, for one slab of tiles.

For every parameter, the number of chances there were, in expectation, and how often what it is the chance of came true:
their ratio is the parameter's next value. One number more is the log-likelihood.

Without forgetting one pass forward is enough. A learner who is to know the concept at the end came to know it before
one certain answer, or did from the start: so what is summed over paths are, for each such moment, its chance and how
many answers, and right ones, came before. Relative to the path that never gets to know, one answer multiplies these
sums by one of two factors, so a step needs no division. With forgetting it is the usual forward and backward pass.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, UInt8

from mccpo.mastery.fitting.sequence_packing import AFTER_PAUSE, CHUNK, NOTHING, RIGHT, WRONG

_ROUNDING = 1e-16  # what is left of a chance that is 0 but for rounding

Lanes: TypeAlias = Float[Array, "width tiles"]
Totals: TypeAlias = Float[Array, "blocks totals tiles"]
"""Of each parameter how often it came true and of how many chances, in turn; then the log-likelihood."""


class SlabArrays(NamedTuple):
    """A slab as the compiled program takes it; the fields are those of `Slab`."""

    cells: UInt8[Array, "rows width tiles"]
    used: Int[Array, ""]
    start: Int[Array, " blocks"]
    height: Int[Array, " blocks"]
    weight: Float[Array, "blocks width tiles"]
    length: Float[Array, "blocks width tiles"]


@jax.jit
def without_forgetting(slab: SlabArrays, parameters: Float[Array, "4 blocks tiles"]) -> Totals:
    """The totals of prior, learn, guess and slip."""

    def block(b: Int[Array, ""], totals: Totals) -> Totals:
        return totals.at[b].set(_weighted(slab.weight[b], _counts(slab, b, parameters[:, b, None, :])))

    totals = jnp.zeros((slab.start.shape[0], 9, slab.cells.shape[2]), parameters.dtype)
    return jax.lax.fori_loop(0, slab.used, block, totals)


@jax.jit
def with_forgetting(slab: SlabArrays, parameters: Float[Array, "5 blocks tiles"]) -> Totals:
    """The totals of prior, learn, guess, slip and forget."""

    def block(b: Int[Array, ""], carry: tuple[Totals, Any]) -> tuple[Totals, Any]:
        totals, filtered = carry
        values = parameters[:, b, None, :]
        likelihood, filtered = _filtered(slab, b, values, filtered)
        smooth, counts = _smoothed(slab, b, values, filtered)
        counts = (smooth, jnp.zeros_like(smooth) + 1, *counts, likelihood)
        return totals.at[b].set(_weighted(slab.weight[b], counts)), filtered

    totals = jnp.zeros((slab.start.shape[0], 11, slab.cells.shape[2]), parameters.dtype)
    filtered = jnp.zeros(slab.cells.shape, parameters.dtype)
    return jax.lax.fori_loop(0, slab.used, block, (totals, filtered))[0]


def _weighted(weight: Lanes, counts: tuple[Lanes, ...]) -> Float[Array, "totals tiles"]:
    """The counts of a block's sequences, added up for each tile."""
    return jnp.stack([jnp.sum(weight * count, axis=0) for count in counts])


def _counts(slab: SlabArrays, b: Int[Array, ""], values: Float[Array, "4 1 tiles"]) -> tuple[Lanes, ...]:
    """What each sequence of a block adds to the totals, without forgetting."""
    prior, learn, guess, slip = values
    right = (1 - slip) / ((1 - learn) * guess)
    wrong = slip / ((1 - learn) * (1 - guess))
    none = jnp.zeros_like(slab.weight[b], prior.dtype)
    odds = prior * (1 - learn) / (1 - prior)
    begin = (none + odds, none, none, none + 1, none, none)

    def chunk(i: Int[Array, ""], sums: tuple[Lanes, ...]) -> tuple[Lanes, ...]:
        return _chunk(slab, b, i, sums, (learn, right, wrong))

    sums = jax.lax.fori_loop(0, slab.height[b] // CHUNK, chunk, begin)
    known, before, rights_before, never, rights, scale = sums
    answers = slab.length[b].astype(prior.dtype)
    wrongs = answers - rights
    ever = jnp.exp(jnp.log(odds) + rights * jnp.log(right) + wrongs * jnp.log(wrong) - scale)
    unknown, guessed = before + never * answers, rights_before + never * rights
    log_never = (answers - 1) * jnp.log(1 - learn) + rights * jnp.log(guess) + wrongs * jnp.log(1 - guess)
    return (
        ever, none + 1,
        known - ever, before + never * (answers - 1),
        guessed, unknown,
        wrongs - (unknown - guessed), answers - unknown,
        jnp.log(1 - prior) + log_never + scale,
    )  # fmt: skip


def _chunk(
    slab: SlabArrays, b: Int[Array, ""], i: Int[Array, ""], sums: tuple[Lanes, ...], factors: tuple[Any, Any, Any]
) -> tuple[Lanes, ...]:
    """The sums over paths some answers on; `factors` are learn, and what a right and a wrong answer multiply by."""
    learn, right, wrong = factors
    known, before, rights_before, never, rights, scale = sums
    seen = jax.lax.dynamic_slice_in_dim(slab.cells, slab.start[b] + i * CHUNK, CHUNK, 0)
    learnt = learn * never
    for j, cell in enumerate(seen):
        there, correct = cell != NOTHING, cell == RIGHT
        factor = jnp.where(there, jnp.where(correct, right, wrong), 1.0)
        now = jnp.where(there, learnt, 0.0)
        if j == 0:
            now = now * (i > 0)  # before the first answer nothing is learnt
        known = (known + now) * factor
        before = (before + now * (i * CHUNK + j)) * factor
        rights_before = (rights_before + now * rights) * factor
        rights = rights + correct
    total = known + never
    share = 1 / total
    scaled = tuple(share * value for value in (known, before, rights_before, never))
    return (*scaled, rights, scale + jnp.log(total))


def _filtered(
    slab: SlabArrays, b: Int[Array, ""], values: Float[Array, "5 1 tiles"], filtered: Float[Array, "rows width tiles"]
) -> tuple[Lanes, Float[Array, "rows width tiles"]]:
    """Forward: the log-likelihood of each sequence, and the chance that the concept is known after each answer."""
    prior, learn, guess, slip, forget = values
    none = jnp.zeros_like(slab.weight[b], prior.dtype)

    def forward(t: Int[Array, ""], sums: tuple[Any, ...]) -> tuple[Any, ...]:
        known, likelihood, filtered = sums
        cell = slab.cells[slab.start[b] + t]
        answer = cell % AFTER_PAUSE
        there, correct = answer != NOTHING, answer == RIGHT
        known = known * (1 - forget * (cell >= AFTER_PAUSE))
        if_known = known * jnp.where(correct, 1 - slip, slip)
        either = if_known + (1 - known) * jnp.where(correct, guess, 1 - guess)
        known = jnp.where(there, if_known / either, known)
        filtered = jax.lax.dynamic_update_index_in_dim(filtered, known, t, 0)
        return known + (1 - known) * learn, likelihood + jnp.where(there, jnp.log(either), 0.0), filtered

    _, likelihood, filtered = jax.lax.fori_loop(0, slab.height[b], forward, (none + prior, none, filtered))
    return likelihood, filtered


def _smoothed(
    slab: SlabArrays, b: Int[Array, ""], values: Float[Array, "5 1 tiles"], filtered: Float[Array, "rows width tiles"]
) -> tuple[Lanes, tuple[Lanes, ...]]:
    """Backward: the chance that the concept was known at the start, and what all answers add to the totals."""
    prior, learn, _, _, forget = values
    none = jnp.zeros_like(slab.weight[b], prior.dtype)

    def backward(i: Int[Array, ""], sums: tuple[Any, ...]) -> tuple[Any, ...]:
        after, pause, follows, counts = sums
        t = slab.height[b] - 1 - i
        cell = slab.cells[slab.start[b] + t]
        answer = cell % AFTER_PAUSE
        known = filtered[t]
        lost = forget * pause
        next_known = (known + (1 - known) * learn) * (1 - lost)
        if_known = jnp.where(follows, after / next_known, 1.0)
        if_not = jnp.where(follows, (1 - after) / jnp.maximum(1 - next_known, _ROUNDING), 1.0)
        retained, forgot = known * (1 - lost) * if_known, known * lost * if_not
        learnt, in_vain = (1 - known) * learn * (1 - lost) * if_known, (1 - known) * learn * lost * if_not
        smooth = retained + forgot
        correct, wrong, there = answer == RIGHT, answer == WRONG, answer != NOTHING
        new = (
            follows * (learnt + in_vain), follows * (1 - smooth),
            correct * (1 - smooth), there * (1 - smooth),
            wrong * smooth, there * smooth,
            follows * pause * (forgot + in_vain), follows * pause * (smooth + learnt + in_vain),
        )  # fmt: skip
        counts = tuple(old + added for old, added in zip(counts, new, strict=True))
        return smooth, (cell >= AFTER_PAUSE) * 1.0, there, counts

    begin = (none, none, jnp.zeros_like(none, bool), (none,) * 8)
    smooth, _, _, counts = jax.lax.fori_loop(0, slab.height[b], backward, begin)
    return smooth, counts
