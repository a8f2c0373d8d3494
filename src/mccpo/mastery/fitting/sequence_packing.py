"""How sequences of answers lie in memory while a model is fitted.

Eight sequences of one concept, of about the same length, make a tile. Tiles of all concepts and restarts, sorted by
length, are put side by side in blocks, and blocks on top of each other in slabs of one fixed size: whatever the data,
one compiled program goes over a slab, and hardly a lane runs empty. Parameters are looked up, and counts added up, once
for a tile. Sequences of a concept with the same answers are kept once, with a weight.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Int64, UInt8

from mccpo.mastery.responses import Sequences, within

WRONG, RIGHT, NOTHING = 0, 1, 2
"""What a cell holds: an answer, or nothing where the sequence has ended."""
AFTER_PAUSE = 4
"""Added where a pause comes before the answer."""

WIDTH = 8  # sequences of a tile
TILES = 256  # of a block
CHUNK = 8  # steps that are taken at once: the heights of blocks are multiples of it
ROWS = 512  # of a slab
_LONGEST_CODE = 60  # answers that fit in a number that stands for them


class Tiles(NamedTuple):
    """The answers of all sequences, tile after tile, sorted by concept and then from long to short.

    **Fields:**

    - `cells`: of each step of each tile, the answers of its sequences.
    - `start`, `height`: where the steps of a tile begin in `cells`, and how many there are.
    - `weight`: of each sequence of each tile, how many learners answered like this; 0 where there is none.
    - `length`: of each sequence.
    """

    cells: UInt8[np.ndarray, "steps width"]
    start: Int64[np.ndarray, " tiles"]
    height: Int64[np.ndarray, " tiles"]
    concept: Int[np.ndarray, " tiles"]
    weight: Float[np.ndarray, "tiles width"]
    length: Int64[np.ndarray, "tiles width"]


class Slab(NamedTuple):
    """Blocks of tiles in the arrays of one fixed size that the compiled program takes.

    **Fields:**

    - `used`: how many blocks there are; the rest of the arrays is empty.
    - `start`, `height`: the rows of each block.
    - `problem`: whose parameters each tile takes.
    """

    cells: UInt8[np.ndarray, "rows width tiles"]
    used: int
    start: Int[np.ndarray, " blocks"]
    height: Int[np.ndarray, " blocks"]
    weight: Float[np.ndarray, "blocks width tiles"]
    length: Float[np.ndarray, "blocks width tiles"]
    problem: Int64[np.ndarray, "blocks tiles"]


def tile(
    sequences: Sequences, correct: Bool[np.ndarray, " rows"], paused: Bool[np.ndarray, " rows"] | None = None
) -> Tiles:
    """Cuts sequences into tiles; `correct` and `paused` are in the order of `sequences.order`."""
    chosen, weight = _distinct(sequences, correct) if paused is None else (np.arange(len(sequences.start)), None)
    chosen = chosen[np.lexsort((-sequences.length[chosen], sequences.concept[chosen]))]
    concept, length = sequences.concept[chosen], sequences.length[chosen]
    seats = np.diff(np.flatnonzero(np.diff(concept, prepend=-1)), append=len(concept))
    rank = within(seats)
    begins = np.flatnonzero(rank % WIDTH == 0)
    which, seat = np.repeat(np.arange(len(begins)), np.diff(begins, append=len(rank))), rank % WIDTH
    height = length[begins]
    start = np.cumsum(height) - height
    cells = np.full((int(height.sum()), WIDTH), NOTHING, np.uint8)
    step = within(length)
    source = np.repeat(sequences.start[chosen], length) + step
    answer = correct[source].astype(np.uint8)
    if paused is not None:
        answer += AFTER_PAUSE * paused[source].astype(np.uint8)
    cells[np.repeat(start[which], length) + step, np.repeat(seat, length)] = answer
    shape = (len(begins), WIDTH)
    weights, lengths = np.zeros(shape), np.zeros(shape, np.int64)
    weights[which, seat] = 1.0 if weight is None else weight[chosen]
    lengths[which, seat] = length
    return Tiles(cells, start, height, concept[begins], weights, lengths)


def _distinct(
    sequences: Sequences, correct: Bool[np.ndarray, " rows"]
) -> tuple[Int64[np.ndarray, " distinct"], Float[np.ndarray, " sequences"]]:
    """One of each kind of sequence, and how many of its kind there are; long ones are not compared."""
    step = np.minimum(within(sequences.length), _LONGEST_CODE)
    bits = correct.astype(np.int64) << step
    code = np.add.reduceat(bits, sequences.start) + (np.int64(1) << np.minimum(sequences.length, _LONGEST_CODE))
    long = sequences.length > _LONGEST_CODE
    code[long] = -1 - np.arange(int(long.sum()))
    order = np.lexsort((code, sequences.concept))
    new = (np.diff(code[order], prepend=0) != 0) | (np.diff(sequences.concept[order], prepend=-1) != 0)
    first = np.flatnonzero(new)
    weight = np.zeros(len(order))
    weight[order[first]] = np.diff(first, append=len(order))
    return order[first], weight


def slab_rows(tiles: Tiles) -> int:
    """The rows of a slab: always the same, unless a sequence is longer."""
    rows = ROWS
    while rows < tiles.height.max(initial=0) + CHUNK:
        rows *= 2
    return rows


def pack(tiles: Tiles, problems: Int64[np.ndarray, " problems"], restarts: int, workers: int) -> list[Slab]:
    """Puts the tiles of each problem in slabs, a multiple of `workers` of them, with about as much work in each.

    Problems are counted concept by concept, `restarts` for each; those named, in ascending order, are at work.
    """
    concept = tiles.concept
    count = np.bincount(problems // restarts, minlength=int(concept.max()) + 1)
    chosen = np.repeat(np.arange(len(concept)), count[concept])
    first = np.repeat((np.cumsum(count) - count)[concept], count[concept])
    problem = problems[first + within(count[concept])]
    by_height = np.argsort(-tiles.height[chosen], kind="stable")
    chosen, problem = chosen[by_height], problem[by_height]
    height = -(-tiles.height[chosen[::TILES]] // CHUNK) * CHUNK
    rows = slab_rows(tiles)
    return [_slab(tiles, chosen, problem, height, blocks, rows) for blocks in _shares(height, rows, workers) if blocks]


def _shares(height: Int64[np.ndarray, " blocks"], rows: int, workers: int) -> list[list[int]]:
    """Blocks, from high to low, each given to the slab with the most room left."""
    slabs = max(workers, -(-int(height.sum()) // rows))
    while True:
        slabs = -(-slabs // workers) * workers
        shares: list[list[int]] = [[] for _ in range(slabs)]
        used = np.zeros(slabs, np.int64)
        for block, needed in enumerate(height):
            least = int(used.argmin())
            shares[least].append(block)
            used[least] += needed
        if used.max() <= rows:
            return shares
        slabs += 1


def _slab(
    tiles: Tiles,
    chosen: Int64[np.ndarray, " tiles"],
    problem: Int64[np.ndarray, " tiles"],
    heights: Int64[np.ndarray, " blocks"],
    blocks: list[int],
    rows: int,
) -> Slab:
    most = rows // CHUNK
    start, height = np.zeros(most, np.int32), np.zeros(most, np.int32)
    height[: len(blocks)] = heights[blocks]
    start[: len(blocks)] = np.cumsum(heights[blocks]) - heights[blocks]
    members = [np.arange(block * TILES, min((block + 1) * TILES, len(chosen))) for block in blocks]
    member = np.concatenate(members)
    block = np.repeat(np.arange(len(blocks)), [len(some) for some in members])
    at, seat = chosen[member], member % TILES
    step = within(tiles.height[at])
    cells = np.full((rows, TILES, WIDTH), NOTHING, np.uint8)
    target = np.repeat(start[block].astype(np.int64), tiles.height[at]) + step
    cells[target, np.repeat(seat, tiles.height[at])] = tiles.cells[np.repeat(tiles.start[at], tiles.height[at]) + step]
    weight, length = np.zeros((most, TILES, WIDTH), np.float32), np.zeros((most, TILES, WIDTH), np.float32)
    weight[block, seat] = tiles.weight[at]
    length[block, seat] = tiles.length[at]
    owner = np.zeros((most, TILES), np.int64)
    owner[block, seat] = problem[member]
    turned = (0, 2, 1)  # tiles innermost: a parameter of a tile then meets whole rows of answers
    return Slab(
        cells.transpose(turned).copy(), len(blocks), start, height,
        weight.transpose(turned).copy(), length.transpose(turned).copy(), owner,
    )  # fmt: skip
