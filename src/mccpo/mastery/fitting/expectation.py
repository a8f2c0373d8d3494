"""The expectation step of knowledge tracing, for one slab of tiles.

For every parameter, the number of chances there were, in expectation, and how often what it is the chance of came true:
their ratio is the parameter's next value. One number more is the log-likelihood.

Without forgetting one pass forward is enough. A learner who is to know the concept at the end came to know it before
one certain answer, or did from the start: so what is summed over paths are, for each such moment, its chance and how
many answers, and right ones, came before. Relative to the path that never gets to know, one answer multiplies these
sums by one of two factors, so a step needs no division. With forgetting it is the usual forward and backward pass.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, UInt8

from mccpo.mastery.fitting.tiles import AFTER_PAUSE, CHUNK, NOTHING, RIGHT, WRONG

_ROUNDING = 1e-16  # what is left of a chance that is 0 but for rounding

Lanes: TypeAlias = Float[Array, "width tiles"]
Told: TypeAlias = Float[Array, "blocks told tiles"]


@jax.jit
def without_forgetting(
    cells: UInt8[Array, "rows width tiles"],
    used: Int[Array, ""],
    start: Int[Array, " blocks"],
    height: Int[Array, " blocks"],
    weight: Float[Array, "blocks width tiles"],
    length: Float[Array, "blocks width tiles"],
    parameters: Float[Array, "4 blocks tiles"],
) -> Told:
    """Of prior, learn, guess and slip: how often it came true and of how many chances, in turn; then log-likelihood."""

    def block(b: Int[Array, ""], told: Told) -> Told:
        prior, learn, guess, slip = parameters[:, b, None, :]
        right = (1 - slip) / ((1 - learn) * guess)
        wrong = slip / ((1 - learn) * (1 - guess))

        def chunk(i: Int[Array, ""], sums: tuple[Lanes, ...]) -> tuple[Lanes, ...]:
            known, before, rights_before, never, rights, scale = sums
            seen = jax.lax.dynamic_slice_in_dim(cells, start[b] + i * CHUNK, CHUNK, 0)
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
            scaled = tuple(share * one for one in (known, before, rights_before, never))
            return (*scaled, rights, scale + jnp.log(total))

        none = jnp.zeros_like(weight[b], prior.dtype)
        odds = prior * (1 - learn) / (1 - prior)
        begin = (none + odds, none, none, none + 1, none, none)
        known, before, rights_before, never, rights, scale = jax.lax.fori_loop(0, height[b] // CHUNK, chunk, begin)
        answers = length[b].astype(prior.dtype)
        wrongs = answers - rights
        ever = jnp.exp(jnp.log(odds) + rights * jnp.log(right) + wrongs * jnp.log(wrong) - scale)
        unknown, guessed = before + never * answers, rights_before + never * rights
        log_never = (answers - 1) * jnp.log(1 - learn) + rights * jnp.log(guess) + wrongs * jnp.log(1 - guess)
        counts = (
            ever, none + 1,
            known - ever, before + never * (answers - 1),
            guessed, unknown,
            wrongs - (unknown - guessed), answers - unknown,
            jnp.log(1 - prior) + log_never + scale,
        )  # fmt: skip
        return told.at[b].set(jnp.stack([jnp.sum(weight[b] * one, axis=0) for one in counts]))

    told = jnp.zeros((start.shape[0], 9, cells.shape[2]), parameters.dtype)
    return jax.lax.fori_loop(0, used, block, told)


@jax.jit
def with_forgetting(
    cells: UInt8[Array, "rows width tiles"],
    used: Int[Array, ""],
    start: Int[Array, " blocks"],
    height: Int[Array, " blocks"],
    weight: Float[Array, "blocks width tiles"],
    length: Float[Array, "blocks width tiles"],
    parameters: Float[Array, "5 blocks tiles"],
) -> Told:
    """Of prior, learn, guess, slip and forget: as `without_forgetting`, whose arguments it takes, needed or not."""
    del length

    def block(b: Int[Array, ""], carry: tuple[Told, Any]) -> tuple[Told, Any]:
        told, filtered = carry
        prior, learn, guess, slip, forget = parameters[:, b, None, :]
        none = jnp.zeros_like(weight[b], prior.dtype)

        def forward(t: Int[Array, ""], sums: tuple[Any, ...]) -> tuple[Any, ...]:
            known, likelihood, filtered = sums
            cell = cells[start[b] + t]
            answer = cell % AFTER_PAUSE
            there, correct = answer != NOTHING, answer == RIGHT
            known = known * (1 - forget * (cell >= AFTER_PAUSE))
            if_known = known * jnp.where(correct, 1 - slip, slip)
            either = if_known + (1 - known) * jnp.where(correct, guess, 1 - guess)
            known = jnp.where(there, if_known / either, known)
            filtered = jax.lax.dynamic_update_index_in_dim(filtered, known, t, 0)
            return known + (1 - known) * learn, likelihood + jnp.where(there, jnp.log(either), 0.0), filtered

        _, likelihood, filtered = jax.lax.fori_loop(0, height[b], forward, (none + prior, none, filtered))

        def backward(i: Int[Array, ""], sums: tuple[Any, ...]) -> tuple[Any, ...]:
            after, pause, follows, counts = sums
            t = height[b] - 1 - i
            cell = cells[start[b] + t]
            answer = cell % AFTER_PAUSE
            known = filtered[t]
            lost = forget * pause
            next_known = (known + (1 - known) * learn) * (1 - lost)
            if_known = jnp.where(follows, after / next_known, 1.0)
            if_not = jnp.where(follows, (1 - after) / jnp.maximum(1 - next_known, _ROUNDING), 1.0)
            kept, forgot = known * (1 - lost) * if_known, known * lost * if_not
            learnt, in_vain = (1 - known) * learn * (1 - lost) * if_known, (1 - known) * learn * lost * if_not
            smooth = kept + forgot
            correct, wrong, there = answer == RIGHT, answer == WRONG, answer != NOTHING
            new = (
                follows * (learnt + in_vain), follows * (1 - smooth),
                correct * (1 - smooth), there * (1 - smooth),
                wrong * smooth, there * smooth,
                follows * pause * (forgot + in_vain), follows * pause * (smooth + learnt + in_vain),
            )  # fmt: skip
            counts = tuple(old + one for old, one in zip(counts, new, strict=True))
            return smooth, (cell >= AFTER_PAUSE) * 1.0, there, counts

        begin = (none, none, jnp.zeros_like(none, bool), (none,) * 8)
        smooth, _, _, counts = jax.lax.fori_loop(0, height[b], backward, begin)
        counts = (smooth, none + 1, *counts, likelihood)
        told = told.at[b].set(jnp.stack([jnp.sum(weight[b] * one, axis=0) for one in counts]))
        return told, filtered

    told = jnp.zeros((start.shape[0], 11, cells.shape[2]), parameters.dtype)
    filtered = jnp.zeros(cells.shape, parameters.dtype)
    return jax.lax.fori_loop(0, used, block, (told, filtered))[0]
