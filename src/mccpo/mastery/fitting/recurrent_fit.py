"""The recurrent network fitted to responses, and what it predicts.

In logs, answers on a concept come in blocks; a tutor may change the concept with every lesson. So every learner is read
twice: as the answers came, and with concepts interleaved at random, each concept's answers in their own order.

It is trained on pieces of learners' sequences by Adam. A tenth of the learners have no part in that: training ends when
it predicts them no better, and the best so far is kept. The same responses and seed give the same network.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from mccpo.mastery.fitting.diagnostics import by_event
from mccpo.mastery.model import Prediction
from mccpo.mastery.recurrent import Recurrent, gated
from mccpo.mastery.responses import Responses, split_learners

UNITS = 32
PIECE = 128
"""Answers of a learner that are read in one go; a longer sequence is cut, and its pieces begin anew."""
BATCH = 16
RATE, DECAY = 5e-3, 1e-4
MOST_ROUNDS, PATIENCE = 15, 2
HELD = 0.1


class Pieces(NamedTuple):
    """Sequences of equal length, [pieces, steps], padded at the end, where `weight` is 0.

    `first` is whether a row is the first of its event: an event's rows share their answer, so that all of them are
    predicted before any is read.
    """

    concept: Int[np.ndarray, "pieces steps"]
    correct: Int[np.ndarray, "pieces steps"]
    first: Bool[np.ndarray, "pieces steps"]
    weight: Float[np.ndarray, "pieces steps"]


class RecurrentReport(NamedTuple):
    """How the fit went: rounds over the answers, and the log-loss on the learners that stopped it."""

    rounds: int
    log_loss: float


def fit_recurrent(responses: Responses, seed: int = 0) -> tuple[Recurrent, RecurrentReport]:
    """The network that best predicts a tenth of the learners, fitted to the others."""
    fitted, held = split_learners(responses, HELD, seed)
    concepts, draw = len(responses.concepts), np.random.default_rng(seed)
    natural, mixed = pieces_of(fitted, PIECE)[0], pieces_of(interleaved(fitted, draw), PIECE)[0]
    pieces: Pieces = jax.tree.map(lambda one, other: np.concatenate([one, other]), natural, mixed)
    watched = pieces_of(held, PIECE)[0]
    weights = _begin(concepts, float(fitted.correct.mean()), draw)
    moments = Moments(jax.tree.map(jnp.zeros_like, weights), jax.tree.map(jnp.zeros_like, weights), jnp.zeros(()))
    best, least, last, rounds = weights, np.inf, 0, 0
    while rounds < MOST_ROUNDS and rounds - last < PATIENCE:
        rounds += 1
        weights, moments = _round(weights, moments, _shuffled(pieces, draw))
        loss = float(_loss(weights, jax.tree.map(jnp.asarray, watched)))
        if loss < least:
            best, least, last = weights, loss, rounds
    answer, recurrent, candidate, out, bias = map(np.asarray, best)
    model = Recurrent(answer, recurrent, candidate, out, bias, responses.concepts)
    return model, RecurrentReport(rounds, least)


def _shuffled(pieces: Pieces, draw: np.random.Generator) -> Pieces:
    """Batches of pieces in another order, [batches, pieces, steps]; those left over take their turn another time."""
    size = min(BATCH, len(pieces.weight))
    order = draw.permutation(len(pieces.weight))[: len(pieces.weight) // size * size]
    return jax.tree.map(lambda rows: jnp.asarray(rows[order].reshape(-1, size, rows.shape[1])), pieces)


def predict_recurrent(model: Recurrent, responses: Responses) -> tuple[Prediction, Bool[np.ndarray, " events"]]:
    """What is predicted of each event before its answer, and whether that is right."""
    code_of = {name: at for at, name in enumerate(model.concepts)}
    code = np.array([code_of[name] for name in responses.concepts], np.int32)
    coded = responses._replace(concept=code[responses.concept], concepts=model.concepts)
    pieces, rows = pieces_of(coded, PIECE)
    weights = tuple(jnp.asarray(values) for values in model[:-1])
    chance = np.empty(responses.rows)
    log_odds = np.asarray(_read(weights, jax.tree.map(jnp.asarray, pieces)))
    chance[rows[pieces.weight > 0]] = 1 / (1 + np.exp(-log_odds[pieces.weight > 0]))
    return by_event(Prediction(chance, chance), responses)


def interleaved(responses: Responses, draw: np.random.Generator) -> Responses:
    """The responses with each learner's concepts interleaved at random; answers on a concept keep their order.

    The rows of an event stay together, and go by its first concept.
    """
    starts = responses.event_starts
    counts = np.diff(starts, append=responses.rows)
    learner, concept = responses.learner[starts].astype(np.int64), responses.concept[starts]
    pair = learner * len(responses.concepts) + concept
    turn = draw.random(len(starts))
    by_pair = np.lexsort((turn, pair))  # the turns of each learner and concept, in order
    place = np.empty(len(starts))
    place[np.argsort(pair, kind="stable")] = turn[by_pair]
    order = np.lexsort((place, learner))
    rows = np.concatenate([np.arange(starts[at], starts[at] + counts[at]) for at in order])
    return responses._replace(
        learner=responses.learner[rows],
        concept=responses.concept[rows],
        correct=responses.correct[rows],
        event=np.repeat(np.arange(len(starts)), counts[order]),
        time=np.full(responses.rows, np.nan),
        item=None,
        items=(),
    )


def pieces_of(responses: Responses, length: int) -> tuple[Pieces, Int[np.ndarray, "pieces steps"]]:
    """The responses cut to pieces, and the row that each place of a piece is from."""
    starts = np.flatnonzero(np.diff(responses.learner, prepend=-1))
    within = np.arange(responses.rows) - np.repeat(starts, np.diff(starts, append=responses.rows))
    at = within % length
    piece = np.cumsum(at == 0) - 1
    shape = int(piece[-1]) + 1, length
    event = np.zeros(responses.rows, bool)
    event[responses.event_starts] = True
    counts = np.diff(responses.event_starts, append=responses.rows)
    weight = np.repeat(1 / counts, counts)  # an event counts once, however many concepts it has

    def laid(values: np.ndarray, kind: Any) -> np.ndarray:
        table = np.zeros(shape, kind)
        table[piece, at] = values
        return table

    pieces = Pieces(
        concept=laid(responses.concept, np.int32),
        correct=laid(responses.correct, np.int32),
        first=laid(event | (at == 0), bool),
        weight=laid(weight, np.float32),
    )
    return pieces, laid(np.arange(responses.rows), np.int64)


Weights = tuple[Array, ...]
"""The first five fields of `Recurrent`."""


def _begin(concepts: int, right: float, draw: np.random.Generator) -> Weights:
    scale = UNITS**-0.5
    shapes = (2, concepts, 3 * UNITS), (3 * UNITS, UNITS), (UNITS,), (concepts, UNITS)
    drawn = [jnp.asarray(draw.uniform(-scale, scale, shape), jnp.float32) for shape in shapes]
    share = min(max(right, 0.01), 0.99)
    return (*drawn, jnp.full(concepts, np.log(share / (1 - share)), jnp.float32))


def _read(weights: Weights, pieces: Pieces) -> Float[Array, "pieces steps"]:
    """The log-odds of a right answer in each place, from the answers before it."""
    answer, recurrent, candidate, out, bias = weights

    def step(carry: Any, row: Any) -> Any:
        units, before = carry
        concept, correct, first = row
        before = jnp.where(first[:, None], units, before)
        log_odds = (out[concept] * before).sum(axis=-1) + bias[concept]
        return (gated(answer[correct, concept], recurrent, candidate, units), before), log_odds

    none = jnp.zeros((pieces.concept.shape[0], candidate.shape[0]))
    rows = (pieces.concept.T, pieces.correct.T, pieces.first.T)
    return jax.lax.scan(step, (none, none), rows)[1].T


def _mean_loss(weights: Weights, pieces: Pieces) -> Float[Array, ""]:
    log_odds = _read(weights, pieces)
    losses = jax.nn.softplus(jnp.where(pieces.correct > 0, -log_odds, log_odds))
    return (pieces.weight * losses).sum() / pieces.weight.sum()


_loss = jax.jit(_mean_loss)


class Moments(NamedTuple):
    """What Adam keeps: the means of the gradients and of their squares, and the steps taken."""

    mean: Weights
    square: Weights
    steps: Float[Array, ""]


@jax.jit
def _round(weights: Weights, moments: Moments, batches: Pieces) -> tuple[Weights, Moments]:
    """One pass over the batches, a step of Adam for each."""

    def step(carry: Any, batch: Pieces) -> Any:
        weights, (mean, square, steps) = carry
        gradient = jax.grad(_mean_loss)(weights, batch)
        steps = steps + 1
        mean = jax.tree.map(lambda old, new: 0.9 * old + 0.1 * new, mean, gradient)
        square = jax.tree.map(lambda old, new: 0.999 * old + 0.001 * new**2, square, gradient)
        rate = RATE * jnp.sqrt(1 - 0.999**steps) / (1 - 0.9**steps)
        moved = jax.tree.map(
            lambda own, m, s: own * (1 - RATE * DECAY) - rate * m / (jnp.sqrt(s) + 1e-8), weights, mean, square
        )
        return (moved, Moments(mean, square, steps)), None

    return jax.lax.scan(step, (weights, moments), batches)[0]
