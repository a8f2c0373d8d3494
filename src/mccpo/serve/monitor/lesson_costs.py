"""What lessons cost, priced as in the training of the release that chose them.

A release prices a lesson by its expected gain, at once, or by the change of mastery that its answer brought
(`realised`), once that is known. The two ways of pricing are summed apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mccpo.serve.monitor.estimates import ratio_of_sums
from mccpo.serve.monitor.mastered import MasteredConcepts
from mccpo.serve.monitor.report import CostReport
from mccpo.serve.monitor.spending import COSTS, REACHED, TRACKED, Ledger, Spending
from mccpo.serve.monitor.time_series import Sums
from mccpo.serve.policy.costs import price
from mccpo.serve.policy.learner_state import LearnerState
from mccpo.serve.policy.release import Release

TOTAL = "learning-total"
"""The mastery gained without discount: a lesson weighs 1 whenever it is given."""


class Lesson(NamedTuple):
    """A lesson of a session: the action that was chosen, by which release, and the learner's state at that time."""

    session: str
    release: Release
    state: LearnerState
    action: int


class LessonCosts:
    """The costs of lessons, and the lessons whose price waits for their answers."""

    def __init__(self) -> None:
        self.ledgers = {False: Ledger(), True: Ledger()}
        self.mastered = MasteredConcepts()
        self.unpriced: dict[str, Lesson] = {}
        self._unpriced_by_session: dict[str, list[str]] = {}

    def begin(self, decision: str, lesson: Lesson) -> Sums:
        """Prices a lesson, or lets it wait for its answer; returns what was spent."""
        release, state = lesson.release, lesson.state
        mastered = int((release.opening.mastered <= state.K).sum())
        self.mastered.begin(lesson.session, mastered, last=state.t + 1 >= release.horizon)
        if not lesson.release.tutor.realised:
            return self._spend(lesson, None)
        self.wait(decision, lesson)
        return {}

    def wait(self, decision: str, lesson: Lesson) -> None:
        """Lets a lesson wait for its answer."""
        self.unpriced[decision] = lesson
        self._unpriced_by_session.setdefault(lesson.session, []).append(decision)

    def answer(self, decision: str, gain: float) -> Sums:
        """Prices the lesson of a decision by the gain of its answer, if it has waited; returns what was spent."""
        lesson = self.unpriced.pop(decision, None)
        return {} if lesson is None else self._spend(lesson, gain)

    def end_session(self, session: str) -> None:
        """Closes a session. Its lessons that still wait for an answer stay without a price."""
        for decision in self._unpriced_by_session.pop(session, ()):
            self.unpriced.pop(decision, None)
        self.mastered.end(session)
        for ledger in self.ledgers.values():
            ledger.end(session)

    def report(self, release: Release) -> dict[str, CostReport]:
        """Each cost beside the budget of `release`, by its way of pricing."""
        spending = self.ledgers[release.tutor.realised].total
        return {name: _beside(release, spending, name, release.budgets.get(name)) for name in COSTS}

    def floors(self, release: Release) -> dict[str, CostReport]:
        """What each floor of `release` is about, beside the floor."""
        spending = self.ledgers[release.tutor.realised].total
        return {
            name: self.mastered.report(floor) if name == "mastered" else _beside(release, spending, name, floor)
            for name, floor in release.floors.items()
            if name in (*REACHED, "mastered")
        }

    def _spend(self, lesson: Lesson, gain: float | None) -> Sums:
        release, realised = lesson.release, lesson.release.tutor.realised
        priced = price(release, lesson.state, lesson.action, gain)
        weight = release.tutor.gamma**lesson.state.t
        costs = {name: weight * getattr(priced, name) for name in COSTS}
        reached = (weight * priced.gain, weight * priced.reward, priced.gain)
        weights = np.where(np.array(TRACKED) == TOTAL, 1.0, weight)
        self.ledgers[realised].spend(lesson.session, np.array([*costs.values(), *reached]), weights)
        return {sum_name(name, realised): amount for name, amount in ({"weight": weight} | costs).items()}


def _beside(release: Release, spending: Spending, name: str, budget: float | None) -> CostReport:
    """What sessions have of a cost, or of what a floor is about, beside its budget or floor."""
    index = TRACKED.index(name)
    whole = float(release.horizon) if name == TOTAL else horizon_weight(release)
    x, w, xx, xw, ww = (float(sums[index]) for sums in (spending.x, spending.w, spending.xx, spending.xw, spending.ww))
    pace = ratio_of_sums(spending.sessions, x, w, xx, xw, ww)
    full = whole * x / w if w else None
    kept = None
    if full is not None and budget is not None:
        kept = full >= budget if name in REACHED else full <= budget
    return {
        "session": x / spending.sessions if spending.sessions else None,
        "full": full,
        "interval": None if pace is None else [whole * end for end in pace.interval()],
        "budget": budget,
        "within": kept,
    }


def sum_name(name: str, realised: bool) -> str:
    """The name of a sum in the time series; the two ways of pricing have names of their own."""
    return f"realised_{name}" if realised else name


def horizon_weight(release: Release) -> float:
    """The discounted weight of a session of the whole horizon."""
    return float(np.sum(release.tutor.gamma ** np.arange(release.horizon)))
