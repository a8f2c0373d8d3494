"""What a model says before each of many answers, for all learners at once.

Sequences of answers lie side by side as lanes, sorted by length and cut into blocks of equally many lanes; the blocks
stand one on top of the other, and one scan goes down all of them. Slabs of fixed size go through the same compiled
program, so that the amount of data costs neither memory nor compilation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int, Int64

from mccpo.mastery.model import MasteryModel, Number, Prediction, codes
from mccpo.mastery.pfa import Practice
from mccpo.mastery.responses import Responses, Sequences, elapsed, sequences, within

LANES = 2048
ROWS = 256  # of a slab


class _Rows(NamedTuple):
    """One step of many lanes at once; `begins` says that new sequences begin."""

    begins: Bool[np.ndarray, " rows"]
    concept: Int[np.ndarray, "rows lanes"]
    correct: Bool[np.ndarray, "rows lanes"]
    elapsed: Float[np.ndarray, "rows lanes"]


def trajectories(model: MasteryModel, responses: Responses) -> Prediction:
    """The model's prediction before each answer, row by row, from the learner's earlier answers on the same concept."""
    return Prediction(*_replay(model, responses, codes(model, responses.concepts)))


class _Counting(NamedTuple):
    """Tells the practice itself, as a model would tell its predictions."""

    zero: Float[np.ndarray, " one"]
    decay: float
    concepts: tuple[str, ...] = ()

    def init(self, concept: Number) -> Practice:
        return Practice(self.zero[concept], self.zero[concept])

    def predict(self, concept: Number, state: Practice, elapsed: Number = 0.0) -> Any:
        return state

    def update(self, concept: Number, state: Practice, correct: Number, elapsed: Number = 0.0) -> Practice:
        return Practice(self.decay * state.successes + correct, self.decay * state.failures + (1 - correct))


def practice(responses: Responses, decay: float) -> Practice:
    """The practice on the concept before each answer, row by row."""
    counting = _Counting(np.zeros(1), decay)
    return Practice(*_replay(counting, responses, np.zeros(len(responses.concepts), np.int32)))


def _replay(model: Any, responses: Responses, code: Int[np.ndarray, " concepts"]) -> list[Float[np.ndarray, " rows"]]:
    grouped = sequences(responses)
    cell, rows, begins = _arrange(grouped)
    size = -(-rows // ROWS) * ROWS

    def spread(values: np.ndarray) -> np.ndarray:
        laid = np.zeros(size * LANES, values.dtype)
        laid[cell] = values
        return laid.reshape(size, LANES)

    laid = _Rows(
        np.isin(np.arange(size), begins),
        spread(code[responses.concept[grouped.order]]),
        spread(responses.correct[grouped.order]),
        spread(elapsed(responses, grouped)),
    )
    predicted: list[list[np.ndarray]] = []
    with jax.enable_x64(True):
        bare = jax.tree.map(jnp.asarray, model._replace(concepts=()))
        state = None
        for top in range(0, size, ROWS):
            slab = _Rows(*(field[top : top + ROWS] for field in laid))
            state, said = _scan(bare, state, slab)
            predicted.append([np.asarray(field).reshape(-1) for field in said])
    return [_gathered(list(column), cell, grouped.order) for column in zip(*predicted, strict=True)]


def _arrange(grouped: Sequences) -> tuple[Int64[np.ndarray, " rows"], int, Int64[np.ndarray, " blocks"]]:
    """The cell of each row of `grouped.order` in the lanes, how long the lanes are, and where blocks begin."""
    longest_first = np.argsort(-grouped.length, kind="stable")
    lane = np.empty(len(longest_first), np.int64)
    lane[longest_first] = np.arange(len(lane))
    height = grouped.length[longest_first[::LANES]]
    top = np.cumsum(height) - height
    first = top[lane // LANES] * LANES + lane % LANES
    return np.repeat(first, grouped.length) + within(grouped.length) * LANES, int(height.sum()), top


@jax.jit
def _scan(model: Any, state: Any, rows: _Rows) -> tuple[Any, Any]:
    def step(state: Any, row: _Rows) -> tuple[Any, Any]:
        fresh = model.init(row.concept)
        state = jax.tree.map(lambda new, old: jnp.where(row.begins, new, old), fresh, state)
        said = model.predict(row.concept, state, row.elapsed)
        return model.update(row.concept, state, row.correct, row.elapsed), said

    return jax.lax.scan(step, model.init(rows.concept[0]) if state is None else state, rows)


def _gathered(
    column: list[np.ndarray], cell: Int64[np.ndarray, " rows"], order: Int64[np.ndarray, " rows"]
) -> Float[np.ndarray, " rows"]:
    values = np.empty(len(order))
    values[order] = np.concatenate(column)[cell]
    return values
