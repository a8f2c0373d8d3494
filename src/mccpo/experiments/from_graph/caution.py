"""How cautious the gate must be where the parameters of learners are a prior's.

The tutor believes the means of the prior. A learner may come from a platform where guesses are more frequent, or where
less is known or learnt, and then answers prove less than the tutor thinks. So platforms and concepts are drawn from the
prior, and learners practise. At the moment when the gate first calls a concept mastered, it has to be mastered in truth
as often as the gate says, on average over all that the prior holds possible. Where it is not, the odds that the gate
counts on are halved, and halved again. Some platforms do worse than the average; `Caution.worst` says how much.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from mccpo.curriculum import trusted
from mccpo.env import Population

PLATFORMS, CONCEPTS = 200, 400
"""How many platforms are drawn, with so many concepts each, and a learner for each concept."""
LEARNERS = 50
"""Learners of each concept of a platform, where each concept is looked at on its own."""
FEWEST = 100
"""Learners who must be called masters of a concept before the share of them who are says much."""
LESSONS = 60
HALVINGS = 12


class Caution(NamedTuple):
    """The doubt of a gate about one prerequisite among several, and how often it is then right.

    **Fields:**

    - `together`: how many prerequisites are needed together; `asked`: the chance that the gate asks for of each.
    - `doubt`: the share of the odds that the gate does not count on.
    - `true`: how often such a prerequisite is mastered in truth; `worst`: the same on the platform at the lower 5 %
      point.
    - `opens`: whether enough learners are called masters to tell; where not, `true` and `worst` are 0.
    """

    together: int
    asked: float
    doubt: float
    true: float
    worst: float
    opens: bool

    @property
    def enough(self) -> bool:
        """Whether the gate is right as often as it says."""
        return self.true >= self.asked


class _Practice(NamedTuple):
    """What the tutor believes of each learner before the first lesson and after each, and what is true."""

    believed: Float[np.ndarray, "lessons platforms concepts"]
    mastered: Bool[np.ndarray, "lessons platforms concepts"]


def cautions(
    drawn: Population, believed: Sequence[float], confidence: float, together: Iterable[int], seed: int
) -> dict[int, Caution]:
    """The least doubt, in halvings of the odds, with which the gate is right as often as it says.

    By how many prerequisites are needed `together`: the gate asks for the chance of all of them. `drawn` are platforms
    of the prior, `believed` is what the tutor takes for granted of every concept: K0, eta, guess, slip. Where no doubt
    is enough, the largest is given.
    """
    practice = _practise(drawn, believed, seed)
    return {number: _least(practice, confidence, number) for number in sorted(set(together))}


def cautions_by_concept(
    drawn: Population,
    believed: Float[np.ndarray, "4 concepts"],
    confidence: float,
    together: Sequence[int],
    seed: int,
) -> tuple[Caution, ...]:
    """The least doubt about each concept, where something is known of each; `drawn` are platforms by the posterior.

    A doubt with which next to nobody is ever called a master is not taken for enough: nothing would show that it is
    right, and what comes after the concept would never be taught. The largest doubt that opens is given then.
    """
    found = []
    for at, number in enumerate(together):
        own = Population(*(np.repeat(values[:, at : at + 1], LEARNERS, axis=1) for values in drawn))
        found.append(_least_that_opens(_practise(own, believed[:, at].tolist(), seed + at), confidence, number))
    return tuple(found)


def _least(practice: _Practice, confidence: float, together: int) -> Caution:
    for halvings in range(HALVINGS + 1):
        found = _judged(practice, _doubt(halvings), confidence, together, everywhere=True)
        if found.enough:
            break
    return found


def _least_that_opens(practice: _Practice, confidence: float, together: int) -> Caution:
    found = _judged(practice, _doubt(0), confidence, together, everywhere=False)
    for halvings in range(1, HALVINGS + 1):
        more = _judged(practice, _doubt(halvings), confidence, together, everywhere=False)
        if found.enough or not more.opens:
            break
        found = more
    return found


def _doubt(halvings: int) -> float:
    return 1 - 2.0**-halvings


def _judged(practice: _Practice, doubt: float, confidence: float, together: int, *, everywhere: bool) -> Caution:
    """How often what the gate calls mastered for the first time is mastered in truth.

    It opens if some learner on every platform gets there, or else so many on all of them.
    """
    asked = confidence ** (1 / together)
    called = trusted(practice.believed, doubt) >= asked
    ever = called.any(axis=0)
    right = np.take_along_axis(practice.mastered, called.argmax(axis=0)[None], axis=0)[0] & ever
    times = ever.sum(axis=1)
    if not (times.all() if everywhere else times.sum() >= FEWEST):
        return Caution(together, asked, doubt, 0.0, 0.0, opens=False)
    by_platform = right.sum(axis=1)[times > 0] / times[times > 0]
    true, worst = float(right.sum() / times.sum()), float(np.quantile(by_platform, 0.05))
    return Caution(together, asked, doubt, true, worst, opens=True)


def _practise(drawn: Population, believed: Sequence[float], seed: int) -> _Practice:
    """Learners who practise one concept each, ready for it: before the first lesson and after each."""
    random = np.random.default_rng([seed, LESSONS])
    K0, eta, guess, slip = believed
    mastered = random.random(drawn.K0.shape) < drawn.K0
    K = np.full(drawn.K0.shape, K0)
    after, truth = [K], [mastered]
    for _ in range(LESSONS):
        correct = random.random(K.shape) < np.where(mastered, 1 - drawn.slip, drawn.guess)
        known = K * np.where(correct, 1 - slip, slip)
        K = known / (known + (1 - K) * np.where(correct, guess, 1 - guess))
        K = K + eta * (1 - K)
        mastered = mastered | (random.random(K.shape) < drawn.eta)
        after.append(K)
        truth.append(mastered)
    return _Practice(np.stack(after), np.stack(truth))
