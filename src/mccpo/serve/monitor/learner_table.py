"""One small row for each learner, by which groups of learners are compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
from jaxtyping import Bool

from mccpo.serve.monitor import equity
from mccpo.serve.monitor.equity import LearnerRows
from mccpo.serve.monitor.report import EquityReport

MOST_LABELS = 16
"""Labels by which groups are compared, the most used ones."""


class LearnerTable:
    """The learners of one tenant, with their labels; `rows` grows as learners come."""

    def __init__(self, concepts: int) -> None:
        self.rows = _empty_rows(64, concepts)
        self.labels: dict[str, Mapping[str, str]] = {}
        self._indices: dict[str, int] = {}

    def add(self, learner: str) -> None:
        """Adds a learner without labels, unless the learner is there."""
        self._index(learner)
        self.labels.setdefault(learner, {})

    def set_labels(self, learner: str, labels: Mapping[str, str]) -> None:
        self._index(learner)
        self.labels[learner] = dict(labels)

    def remove(self, learner: str) -> None:
        """Takes a learner out of all groups; what happened stays in the overall counts."""
        self.labels.pop(learner, None)

    def count_decision(self, learner: str, ready: Bool[np.ndarray, " concepts"]) -> None:
        """Counts a decision, at which these concepts were ready."""
        index = self._index(learner)
        self.rows.unlocked[index, ready & (self.rows.unlocked[index] < 0)] = self.rows.decisions[index]
        self.rows.decisions[index] += 1
        self.rows.withheld[index] += 1.0 - ready.mean()

    def count_answer(self, learner: str, gain: float) -> None:
        index = self._index(learner)
        self.rows.answers[index] += 1
        self.rows.gained[index] += gain

    @property
    def labels_left_out(self) -> int:
        """How many labels are not compared, because others are used more."""
        return max(0, len({name for labels in self.labels.values() for name in labels}) - MOST_LABELS)

    def equity(self, horizon: int, bounds: Mapping[str, float]) -> dict[str, EquityReport]:
        """For each label, the measures of its groups, and how far they lie apart."""
        used = Counter(name for labels in self.labels.values() for name in labels)
        names = sorted(name for name, _ in used.most_common(MOST_LABELS))
        return {name: self._compare_groups(name, horizon, bounds) for name in names}

    def _compare_groups(self, label: str, horizon: int, bounds: Mapping[str, float]) -> EquityReport:
        members: dict[str, list[int]] = {}
        for learner, labels in self.labels.items():
            if label in labels and self.rows.decisions[self._indices[learner]]:
                members.setdefault(labels[label], []).append(self._indices[learner])
        large = sorted((-len(indices), name) for name, indices in members.items() if len(indices) >= equity.SMALLEST)
        groups = {name: self.rows.subset(np.array(members[name])) for _, name in large[: equity.MOST_GROUPS]}
        comparison = equity.compare_groups(groups, horizon, bounds)
        return {
            "groups": comparison["groups"],
            "gaps": comparison["gaps"],
            "left_out": {"too_small": len(members) - len(large), "too_many": len(large) - len(groups)},
        }

    def _index(self, learner: str) -> int:
        index = self._indices.setdefault(learner, len(self._indices))
        if index >= len(self.rows.decisions):
            more = _empty_rows(len(self.rows.decisions), self.rows.unlocked.shape[1])
            self.rows = LearnerRows(*(np.concatenate(pair) for pair in zip(self.rows, more, strict=True)))
        return index


def _empty_rows(learners: int, concepts: int) -> LearnerRows:
    return LearnerRows(
        decisions=np.zeros(learners, np.int64),
        withheld=np.zeros(learners),
        answers=np.zeros(learners, np.int64),
        gained=np.zeros(learners),
        unlocked=np.full((learners, concepts), -1, np.int32),
    )
