"""Whether held-out learners bear out what the gate calls mastered, and how much stricter it is made where they do not.

The learners whom the tutor is made of are put in folds. Knowledge tracing is fitted to all but one fold, and says of
every answer in that one how likely it is to be right. Where the gate would call the concept mastered, at least as many
answers have to be right as it said. Where they are fewer than chance explains, the odds that the gate counts on are
halved, and halved again, until the answers bear it out.
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from mccpo.curriculum import Curriculum
from mccpo.experiments.prepare.learners import pooled
from mccpo.mastery import BKT, Responses
from mccpo.mastery.fitting import FitSettings, fit, trajectories

FOLDS = 2
FEWEST_LEARNERS = 20
"""Of whom the gate called a concept mastered: of fewer, their answers contradict nothing."""
CONTRADICTED = -1.645
"""Standard errors below what the model said: chance explains less in one case of twenty."""
HALVINGS = 10


class ConceptCalibration(NamedTuple):
    """What became of the answers on a concept where the gate calls it mastered.

    **Fields:**

    - `learners`, `answers`: how many there were.
    - `said`, `right`: the share that the model said would be right, and the share that was.
    - `halvings`: how often the odds that the gate counts on were halved.
    - `borne_out`: whether chance explains what is missing, at the gate as it is now.
    - `error`: the standard error of the difference between the two shares, learners counted and not answers.
    """

    concept: str
    learners: int
    answers: int
    said: float
    right: float
    halvings: int
    borne_out: bool
    error: float = 0.0


class GateCalibration(NamedTuple):
    """The calibration of a gate, concept by concept; those of which too few learners got so far are left out."""

    concepts: tuple[ConceptCalibration, ...]

    @property
    def answers(self) -> int:
        return sum(row.answers for row in self.concepts)

    @property
    def said(self) -> float:
        return self._mean([row.said for row in self.concepts])

    @property
    def right(self) -> float:
        return self._mean([row.right for row in self.concepts])

    @property
    def stricter(self) -> int:
        """Of how many concepts the gate was made stricter."""
        return sum(row.halvings > 0 for row in self.concepts)

    @property
    def contradicted(self) -> tuple[str, ...]:
        """The concepts whose answers contradict the gate however strict it is."""
        return tuple(row.concept for row in self.concepts if not row.borne_out)

    def as_json(self) -> dict[str, Any]:
        """The calibration as plain values, for JSON."""
        whole = {"answers": self.answers, "said": self.said, "right": self.right, "stricter": self.stricter}
        return {**whole, "contradicted": self.contradicted, "concepts": [row._asdict() for row in self.concepts]}

    def _mean(self, shares: list[float]) -> float:
        weights = [row.answers for row in self.concepts]
        return float(np.average(shares, weights=weights)) if self.answers else float("nan")


class HeldOutAnswers(NamedTuple):
    """Every answer, and what a model that was fitted to other learners said before it."""

    learner: Int[np.ndarray, " rows"]
    concept: Int[np.ndarray, " rows"]
    correct: Bool[np.ndarray, " rows"]
    mastery: Float[np.ndarray, " rows"]
    said: Float[np.ndarray, " rows"]

    def where(self, chosen: Bool[np.ndarray, " rows"]) -> HeldOutAnswers:
        return HeldOutAnswers(*(column[chosen] for column in self))


def calibrate(
    responses: Responses,
    curriculum: Curriculum,
    doubt: Float[np.ndarray, " concepts"],
    confidence: float,
    settings: FitSettings,
) -> tuple[Float[np.ndarray, " concepts"], GateCalibration]:
    """The doubt of each concept, larger where held-out learners ask for it, and what they answered."""
    answers = held_out_answers(responses, settings)
    raised, rows = doubt.copy(), []
    for at, name in enumerate(curriculum.concepts):
        own = answers.where(answers.concept == at)
        for halvings in range(HALVINGS + 1):
            raised[at] = 1 - (1 - doubt[at]) / 2**halvings
            row = _judged(name, own, float(curriculum.enough(confidence, raised)[at]), halvings)
            if row is None or row.borne_out:
                break
        if row is not None:
            rows.append(row)
    return raised, GateCalibration(tuple(rows))


def held_out_answers(responses: Responses, settings: FitSettings) -> HeldOutAnswers:
    """All answers, each with the word of a model that was fitted without its learner."""
    fold = folds(responses, settings.seed)
    parts = []
    for held in range(FOLDS):
        others, own = responses.where(fold != held), responses.where(fold == held)
        model = fit("bkt", others, settings).model
        assert isinstance(model, BKT)
        said = trajectories(pooled(model, others), own)
        parts.append(HeldOutAnswers(own.learner, own.concept, own.correct, *map(np.asarray, said)))
    return HeldOutAnswers(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def folds(responses: Responses, seed: int) -> Int[np.ndarray, " rows"]:
    """The fold of each row, by a hash of its learner's name."""
    hashes = (hashlib.blake2b(f"fold {seed}:{name}".encode(), digest_size=8).digest() for name in responses.learners)
    of_learner = np.array([int.from_bytes(digest, "big") % FOLDS for digest in hashes])
    return of_learner[responses.learner]


def _judged(concept: str, answers: HeldOutAnswers, enough: float, halvings: int) -> ConceptCalibration | None:
    """How a concept's answers compare with what was said where the gate opens; None where too few learners got there.

    A learner's answers hang together, so that it is learners that are counted, by how much they fell short in all.
    """
    opened = answers.where(answers.mastery >= enough)
    learners, whose = np.unique(opened.learner, return_inverse=True)
    if len(learners) < FEWEST_LEARNERS:
        return None
    surplus = np.bincount(whose, opened.correct - opened.said)
    spread = float(np.sqrt((surplus**2).sum()))
    return ConceptCalibration(
        concept=concept,
        learners=len(learners),
        answers=len(opened.correct),
        said=float(opened.said.mean()),
        right=float(opened.correct.mean()),
        halvings=halvings,
        borne_out=bool(surplus.sum() >= CONTRADICTED * spread),
        error=spread / len(opened.correct),
    )
