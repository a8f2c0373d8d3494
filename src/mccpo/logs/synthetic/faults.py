"""Faults planted in a made-up log, in numbers that are stated, so that what a reader finds can be held against them."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np
import polars as pl
from jaxtyping import Int

from mccpo.logs.synthetic.simulation import Answers


class Fault(enum.IntEnum):
    """What is wrong with a row; `AGAIN` is nothing but a repetition of another."""

    SOUND = 0
    AGAIN = 1
    TOO_LONG = 2
    CUT_SHORT = 3
    NO_LEARNER = 4
    STRANGE_ANSWER = 5
    STRANGE_ORDER = 6


@dataclass(frozen=True, eq=False)
class Layout:
    """The rows of a log in the order of the file: whose answer each is, and what is wrong with it."""

    answer: Int[np.ndarray, " rows"]
    fault: Int[np.ndarray, " rows"]

    @property
    def rows(self) -> int:
        return len(self.answer)

    def count(self, fault: Fault) -> int:
        return int((self.fault == fault).sum())


def lay_out(answers: Answers, faults: int, seed: int) -> Layout:
    """The rows day by day, those of a day in any order; `faults` of them are faulty copies of answers.

    A repetition follows the row that it repeats, as when a button was pressed twice.
    """
    rng = np.random.default_rng([seed, 2])
    sound = len(answers.learner)
    kinds = (1 + np.arange(faults) % Fault.STRANGE_ORDER).astype(np.uint8)
    copied = rng.choice(sound, faults, replace=False).astype(np.uint32) if faults else np.empty(0, np.uint32)
    wrong = kinds > Fault.AGAIN
    answer = np.append(np.arange(sound, dtype=np.uint32), copied[wrong])
    fault = np.append(np.zeros(sound, np.uint8), kinds[wrong])
    day = (answers.time // 86400)[answer]
    order = pl.Series(day + rng.random(len(answer), np.float32)).arg_sort().to_numpy()
    answer, fault = answer[order], fault[order]
    if not faults:
        return Layout(answer, fault)
    again = np.zeros(sound, bool)
    again[copied[~wrong]] = True
    times = 1 + (again[answer] & (fault == Fault.SOUND))
    fault = np.repeat(fault, times)
    fault[np.cumsum(times)[times > 1] - 1] = Fault.AGAIN
    return Layout(np.repeat(answer, times), fault)


def out_of_order(layout: Layout, answers: Answers) -> int:
    """How many sound rows stand before a row that they should follow directly."""
    sound = layout.answer[layout.fault == Fault.SOUND]
    order = np.argsort(sound, kind="stable")
    learner = answers.learner[sound[order]]
    return int(((order[1:] < order[:-1]) & (learner[1:] == learner[:-1])).sum())
