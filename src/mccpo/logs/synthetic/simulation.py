"""Made-up learners at work: what they know, what they answer, and how the platform's ladder judges them.

A learner goes through the exercises in the platform's order and stays with each for some problems. An exercise is
known from the start, or learnt after a number of problems, as Bayesian knowledge tracing has it; who knows it slips
sometimes, who does not guesses sometimes. After every fifth problem the platform's ladder goes up a level when at least
four of the five were right, and down when at most two were. Learners differ in ability, and by orders of magnitude in
activity; they work in sittings, over a year.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from jaxtyping import Bool, Int, Shaped

from mccpo.logs.synthetic.item_bank import ItemBank

YEAR = 365 * 24 * 3600
"""The seconds over which the log extends."""
AT_ONCE = 1_000_000
"""About how many answers are made at a time."""
ANSWERS_A_LEARNER = 223
"""The mean of Junyi's release."""
MOST_ANSWERS_A_LEARNER = 100_000
"""The mean above which learners would have to work night and day."""
NOT_JUDGED = 2
"""The signal of an answer after which the ladder did not judge."""
_SPREAD = 1.3  # of activity, as the standard deviation of its logarithm
_LONGEST = 40  # problems of an exercise in a row
_MEAN_VISIT = 14
_SITTING = 18  # answers in a row before the learner goes away, on average
_SLIP, _GUESS, _LEARN = 0.08, 0.2, 0.14
_JUDGED = 5
_TOP = 4  # of the ladder


class Answers(NamedTuple):
    """Answers, learner by learner in the order in which they were given."""

    learner: Int[np.ndarray, " rows"]
    exercise: Int[np.ndarray, " rows"]
    item: Int[np.ndarray, " rows"]
    number: Int[np.ndarray, " rows"]
    """The answer's place among those of its learner to its exercise, from 1."""
    session: Int[np.ndarray, " rows"]
    """How often the learner has come to the exercise, from 1."""
    time: Int[np.ndarray, " rows"]
    """Seconds since the log began; no two answers of a learner at the same."""
    correct: Bool[np.ndarray, " rows"]
    attempts: Int[np.ndarray, " rows"]
    hints: Int[np.ndarray, " rows"]
    seconds: Int[np.ndarray, " rows"]
    signal: Int[np.ndarray, " rows"]
    """1 where the ladder went up, -1 where it went down, 0 where it stayed, NOT_JUDGED elsewhere."""
    level: Int[np.ndarray, " rows"]
    """Where on the ladder the learner stands after the answer."""

    def take(self, rows: Int[np.ndarray, " some"] | slice) -> Answers:
        return Answers(*(column[rows] for column in self))


_KINDS: tuple[npt.DTypeLike, ...] = ("i4", "i2", "i4", "i4", "i4", "i4", "?", "u1", "u1", "u2", "i1", "i1")
"""What each of the columns is kept as: there are millions of answers."""


def simulate(bank: ItemBank, rows: int, learners: int, seed: int) -> Answers:
    """`rows` answers of `learners` learners, the same for the same seed."""
    answers = Answers(*(np.empty(rows, kind) for kind in _KINDS))
    done = 0
    for number, share in enumerate(_shares(_activity(rows, learners, seed))):
        made = _some(bank, *share, np.random.default_rng([seed, 1, number]))
        for whole, part in zip(answers, made, strict=True):
            whole[done : done + len(part)] = part
        done += len(made.learner)
    return answers


def _activity(rows: int, learners: int, seed: int) -> Int[np.ndarray, " learners"]:
    """How many answers each learner gives: at least one, lognormal beyond that."""
    rng = np.random.default_rng([seed, 0])
    weight = rng.lognormal(0.0, _SPREAD, learners)
    return 1 + rng.multinomial(rows - learners, weight / weight.sum())


def _shares(activity: Int[np.ndarray, " learners"]) -> Iterator[tuple[int, Int[np.ndarray, " some"]]]:
    """Learners in a row whose answers are made at a time: the first one's number, and the activity of each."""
    share = np.cumsum(activity) // AT_ONCE
    starts = [0, *(np.flatnonzero(np.diff(share)) + 1), len(activity)]
    for begin, end in pairwise(starts):
        yield int(begin), activity[begin:end]


def _some(bank: ItemBank, first: int, activity: Int[np.ndarray, " some"], rng: np.random.Generator) -> Answers:
    learner = np.repeat(np.arange(len(activity), dtype=np.int32), activity)
    ability = rng.normal(0.0, 1.0, len(activity)).astype(np.float32)
    visit, in_visit, visited, came = _visits(bank, learner, activity, rng)
    exercise = visited[visit].astype(np.int16)
    hardness = bank.difficulty[visited].astype(np.float32) - 0.5
    known = in_visit > _learnt_after(ability[came], hardness, rng)[visit]
    chance = np.where(known, np.float32(1 - _SLIP), np.float32(_GUESS))
    correct = rng.random(len(learner), dtype=np.float32) < chance
    hints = np.where(~correct & ~known, rng.integers(0, 4, len(learner), np.uint8), np.uint8(0))
    attempts = np.where(correct, np.uint8(1), rng.integers(1, 5, len(learner), np.uint8))
    pace = np.where(known, np.float32(2.6), np.float32(3.4)) + 0.2 * hardness[visit]
    seconds = np.exp(pace + 0.7 * rng.standard_normal(len(learner), np.float32)).clip(1, 3600).astype(np.uint16)
    signal, level = _ladder(correct & (hints == 0), visit, in_visit)
    away = rng.random(len(learner), dtype=np.float32) < 1 / _SITTING
    time = _times(learner, activity, seconds, away, rng)
    item = exercise.astype(np.int32) * bank.problems + rng.integers(0, bank.problems, len(learner), np.int32)
    round_ = _rounds(bank, visited, came)[visit]
    session = 1 + round_ * _LONGEST + _within(np.cumsum(away), visit, in_visit)
    number = in_visit + round_ * _LONGEST
    return Answers(
        learner + first, exercise, item, number, session, time, correct, attempts, hints, seconds, signal, level
    )


def _visits(
    bank: ItemBank, learner: Int[np.ndarray, " rows"], activity: Int[np.ndarray, " some"], rng: np.random.Generator
) -> tuple[Int[np.ndarray, " rows"], Int[np.ndarray, " rows"], Int[np.ndarray, " visits"], Int[np.ndarray, " visits"]]:
    """Of each answer its visit and its place in it, from 1; of each visit its exercise and its learner."""
    lengths = np.minimum(rng.geometric(1 / _MEAN_VISIT, len(learner) * 2 // _MEAN_VISIT + 100), _LONGEST)
    while lengths.sum() < len(learner):
        lengths = np.append(lengths, lengths)
    ends = np.cumsum(lengths)
    # A visit ends where its length is spent, and where the next learner begins.
    new = np.zeros(len(learner) + 1, bool)
    new[ends[ends < len(learner)]] = True
    new[np.cumsum(activity) - activity] = True
    starts = np.flatnonzero(new[:-1])
    visit = np.cumsum(new[:-1]) - 1
    came = learner[starts]
    begun = rng.integers(0, bank.exercises, len(activity))
    first_visit = np.searchsorted(came, np.arange(len(activity)))
    exercise = (begun[came] + np.arange(len(starts)) - first_visit[came]) % bank.exercises
    return visit, np.arange(len(learner)) - starts[visit] + 1, exercise, came


def _learnt_after(
    ability: Shaped[np.ndarray, " visits"], hardness: Shaped[np.ndarray, " visits"], rng: np.random.Generator
) -> Int[np.ndarray, " visits"]:
    """After how many problems the exercise is known; 0 where it was known before."""
    before = rng.random(len(ability)) < 1 / (1 + np.exp(hardness + 1.0 - ability))
    rate = _LEARN * np.exp(0.4 * (ability - hardness)).clip(0.2, 3.0)
    return np.where(before, 0, rng.geometric(rate))


def _ladder(
    right: Bool[np.ndarray, " rows"], visit: Int[np.ndarray, " rows"], number: Int[np.ndarray, " rows"]
) -> tuple[Int[np.ndarray, " rows"], Int[np.ndarray, " rows"]]:
    """What the ladder did after each answer, and where the learner stands on it."""
    total = np.append(0, np.cumsum(right))
    signal = np.full(len(right), NOT_JUDGED, np.int8)
    stands = np.zeros((visit[-1] + 1, _LONGEST // _JUDGED + 1), np.int8)
    for turn in range(1, _LONGEST // _JUDGED + 1):
        at = np.flatnonzero(number == turn * _JUDGED)
        won = total[at + 1] - total[at + 1 - _JUDGED]
        before = stands[visit[at], turn - 1]
        move = ((won >= _JUDGED - 1) & (before < _TOP)).astype(np.int8) - ((won <= 2) & (before > 0)).astype(np.int8)
        signal[at] = move
        stands[visit[at], turn] = before + move
    return signal, stands[visit, number // _JUDGED]


def _times(
    learner: Int[np.ndarray, " rows"],
    activity: Int[np.ndarray, " some"],
    seconds: Int[np.ndarray, " rows"],
    away: Bool[np.ndarray, " rows"],
    rng: np.random.Generator,
) -> Int[np.ndarray, " rows"]:
    """When each answer was given: within a sitting one after the other, sittings in the afternoons of a year."""
    first = np.cumsum(activity) - activity
    begins = away.copy()
    begins[first] = True
    starts = np.flatnonzero(begins)
    sitting = np.cumsum(begins) - 1
    day = rng.integers(0, YEAR // 86400, len(starts))
    clock = (rng.beta(4, 2, len(starts)) * 86400).astype(np.int64)
    # Sorted within each learner: learner and start as one number.
    begun = np.sort(learner[starts].astype(np.int64) * 2 * YEAR + day * 86400 + clock) % (2 * YEAR)
    spent = np.cumsum(seconds, dtype=np.int64)
    time = begun[sitting] + spent - spent[starts][sitting]
    # Sittings can overlap: an answer comes at least a second after the one before. Learners must not push each other.
    apart = np.arange(len(learner)) - first[learner]
    base = learner.astype(np.int64) * 2**33
    return np.maximum.accumulate(time - apart + base) - base + apart


def _rounds(
    bank: ItemBank, visited: Int[np.ndarray, " visits"], came: Int[np.ndarray, " visits"]
) -> Int[np.ndarray, " visits"]:
    """How often the learner has been through all the exercises before this visit."""
    first = np.searchsorted(came, came)
    return (np.arange(len(visited)) - first) // bank.exercises


def _within(
    count: Int[np.ndarray, " rows"], visit: Int[np.ndarray, " rows"], number: Int[np.ndarray, " rows"]
) -> Int[np.ndarray, " rows"]:
    """A running count, begun anew with each visit."""
    return count - count[np.flatnonzero(number == 1)][visit]
