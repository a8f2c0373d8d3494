"""One small row for each learner, and the sums of the groups that learners are compared by.

Sums are kept as things happen, so that a report costs as much with a hundred thousand learners as with a hundred. They
are kept for the groups that reports have asked for, and made from the rows when a group is asked for the first time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from mccpo.serve.monitor import equity
from mccpo.serve.monitor.estimates import Estimate, RatioSums
from mccpo.serve.monitor.report import EquityReport
from mccpo.serve.monitor.unlocking import UnlockSums, learner_profile

MOST_LABELS = 16
"""Labels by which groups are compared, the most used ones."""
GAINS = 2**40
"""Gains of mastery are counted in parts of one, so that sums do not depend on the order of what they add up."""


class LearnerRows(NamedTuple):
    """What is known of learners, one row per learner.

    - `decisions`, `answers`: how many there were.
    - `withheld`: the concepts that the gate withheld, summed over decisions.
    - `gained`: mastery gained, summed over answers, in parts of `GAINS`.
    - `unlocked`: the decision, from 0 on, at which each concept was first ready; -1 where it never was.
    """

    decisions: Int[np.ndarray, " learners"]
    withheld: Int[np.ndarray, " learners"]
    answers: Int[np.ndarray, " learners"]
    gained: Int[np.ndarray, " learners"]
    unlocked: Int[np.ndarray, "learners concepts"]


@dataclass
class _Sums:
    """The sums of a group's three measures."""

    unlocking: UnlockSums
    restriction: RatioSums = field(default_factory=RatioSums)
    gain: RatioSums = field(default_factory=RatioSums)

    def estimates(self, concepts: int) -> dict[str, Estimate | None]:
        return {
            "restriction_rate": self.restriction.estimate(1 / concepts),
            "time_to_unlock": self.unlocking.estimate(),
            "mastery_gain": self.gain.estimate(1 / GAINS),
        }


@dataclass
class _Group:
    """The learners of a group who have had a decision, by their rows; `sums` once they have been asked for."""

    members: set[int] = field(default_factory=set)
    sums: _Sums | None = None


class LearnerTable:
    """The learners of one tenant, with their labels; `rows` grows as learners come."""

    def __init__(self, concepts: int) -> None:
        self.concepts = concepts
        self.rows = _empty_rows(64, concepts)
        self.labels: dict[str, Mapping[str, str]] = {}
        self.indices: dict[str, int] = {}
        self._groups: dict[str, dict[str, _Group]] = {}
        self._used: Counter[str] = Counter()

    @classmethod
    def restored(cls, learners: list[str], rows: LearnerRows) -> LearnerTable:
        """The table of these rows, in the order of the learners; labels are still to come."""
        table = cls(rows.unlocked.shape[1])
        table.rows = LearnerRows(*(np.array(part) for part in rows)) if learners else table.rows
        table.indices = {learner: index for index, learner in enumerate(learners)}
        return table

    def add(self, learner: str) -> None:
        """Adds a learner without labels, unless the learner is there."""
        self._index(learner)
        self.labels.setdefault(learner, {})

    def set_labels(self, learner: str, labels: Mapping[str, str]) -> None:
        self._leave(learner)
        self.labels[learner] = dict(labels)
        index = self._index(learner)
        self._used.update(labels.keys())
        for label, value in labels.items():
            group = self._groups.setdefault(label, {}).setdefault(value, _Group())
            if self.rows.decisions[index]:
                group.members.add(index)
                if group.sums is not None:
                    self._sum(group.sums, np.array([index]), 1)

    def remove(self, learner: str) -> None:
        """Takes a learner out of all groups; what happened stays in the overall counts."""
        self._leave(learner)

    def count_decision(self, learner: str, ready: Bool[np.ndarray, " concepts"]) -> None:
        """Counts a decision, at which these concepts were ready."""
        index, rows = self._index(learner), self.rows
        step, unlocked = int(rows.decisions[index]), rows.unlocked[index]
        opens = ready & (unlocked < 0)
        opened, withheld, before = int(opens.sum()), int(rows.withheld[index]), None
        more = self.concepts - int(ready.sum())
        for group in self._groups_of(learner):
            group.members.add(index)
            if group.sums is None:
                continue
            sums = group.sums
            if step:
                sums.restriction.add(withheld, step, -1)
            else:
                sums.gain.add(0, 0)
            sums.restriction.add(withheld + more, step + 1)
            before = before or learner_profile(step, unlocked)
            sums.unlocking.count_decision(step, opened, before)
        unlocked[opens] = step
        rows.decisions[index] += 1
        rows.withheld[index] += more

    def count_answer(self, learner: str, gain: float) -> None:
        index, rows = self._index(learner), self.rows
        answers, gained, more = int(rows.answers[index]), int(rows.gained[index]), round(gain * GAINS)
        for group in self._groups_of(learner):
            if group.sums is not None and index in group.members:
                group.sums.gain.add(gained, answers, -1)
                group.sums.gain.add(gained + more, answers + 1)
        rows.answers[index] += 1
        rows.gained[index] += more

    @property
    def labels_left_out(self) -> int:
        """How many labels are not compared, because others are used more."""
        return max(0, len(self._used) - MOST_LABELS)

    def prepare(self, horizon: int) -> None:
        """Makes the sums that a report needs. It takes a while the first time; nothing else may change meanwhile."""
        for label in self._compared_labels():
            for group in self._large_groups(label)[: equity.MOST_GROUPS]:
                self._sums_of(self._groups[label][group], horizon)

    def equity(self, horizon: int, bounds: Mapping[str, float]) -> dict[str, EquityReport]:
        """For each label, the measures of its groups, and how far they lie apart."""
        return {label: self._compare_groups(label, horizon, bounds) for label in self._compared_labels()}

    def _compared_labels(self) -> list[str]:
        used = sorted(self._used.items(), key=lambda entry: -entry[1])[:MOST_LABELS]
        return sorted(name for name, _ in used)

    def _large_groups(self, label: str) -> list[str]:
        """The groups of a label that are large enough to be shown, the largest first."""
        sizes = [(-len(group.members), name) for name, group in self._groups[label].items()]
        return [name for size, name in sorted(sizes) if -size >= equity.SMALLEST]

    def _compare_groups(self, label: str, horizon: int, bounds: Mapping[str, float]) -> EquityReport:
        groups, large = self._groups[label], self._large_groups(label)
        shown = large[: equity.MOST_GROUPS]
        for name in large[2 * equity.MOST_GROUPS :]:  # those at the edge come and go: some more keep their sums
            groups[name].sums = None
        measured = {name: self._sums_of(groups[name], horizon).estimates(self.concepts) for name in shown}
        learners = {name: len(groups[name].members) for name in shown}
        comparison = equity.compare_groups(measured, learners, bounds)
        some = sum(bool(group.members) for group in groups.values())
        return {
            "groups": comparison["groups"],
            "gaps": comparison["gaps"],
            "left_out": {"too_small": some - len(large), "too_many": len(large) - len(shown)},
        }

    def _sums_of(self, group: _Group, horizon: int) -> _Sums:
        if group.sums is None or group.sums.unlocking.horizon != horizon:
            group.sums = _Sums(UnlockSums(horizon))
            self._sum(group.sums, np.fromiter(group.members, np.int64, len(group.members)), 1)
        return group.sums

    def _sum(self, sums: _Sums, members: Int[np.ndarray, " members"], sign: int) -> None:
        """Adds learners to a group's sums, or takes them out again."""
        rows = LearnerRows(*(part[members] for part in self.rows))
        sums.unlocking.add(rows.decisions, rows.unlocked, sign)
        _add_units(sums.restriction, rows.withheld, rows.decisions, sign)
        _add_units(sums.gain, rows.gained, rows.answers, sign)

    def _leave(self, learner: str) -> None:
        labels, index = self.labels.pop(learner, {}), self.indices.get(learner, -1)
        self._used.subtract(labels.keys())
        for label, value in labels.items():
            group = self._groups[label][value]
            if index in group.members:
                group.members.remove(index)
                if group.sums is not None:
                    self._sum(group.sums, np.array([index]), -1)
            if not self._used[label]:
                del self._used[label], self._groups[label]

    def _groups_of(self, learner: str) -> Iterator[_Group]:
        for label, value in self.labels.get(learner, {}).items():
            yield self._groups[label][value]

    def _index(self, learner: str) -> int:
        index = self.indices.setdefault(learner, len(self.indices))
        if index >= len(self.rows.decisions):
            more = _empty_rows(max(64, len(self.rows.decisions)), self.concepts)
            self.rows = LearnerRows(*(np.concatenate(pair) for pair in zip(self.rows, more, strict=True)))
        return index


def _add_units(sums: RatioSums, parts: Int[np.ndarray, " units"], wholes: Int[np.ndarray, " units"], sign: int) -> None:
    x, w = parts.astype(object), wholes.astype(object)  # whole numbers of any size
    sums.units += sign * len(x)
    sums.x += sign * x.sum()
    sums.w += sign * w.sum()
    sums.xx += sign * (x @ x)
    sums.xw += sign * (x @ w)
    sums.ww += sign * (w @ w)


def _empty_rows(learners: int, concepts: int) -> LearnerRows:
    return LearnerRows(
        decisions=np.zeros(learners, np.int64),
        withheld=np.zeros(learners, np.int64),
        answers=np.zeros(learners, np.int64),
        gained=np.zeros(learners, np.int64),
        unlocked=np.full((learners, concepts), -1, np.int32),
    )
