"""What happens to learners as they are taught: how often, at what cost, and whether to all groups alike.

A monitor is given the events in the order of the record, and keeps sums and one small row per learner. It decides
nothing and writes nothing. Replaying the record from the start gives it the same state again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from mccpo.serve.monitor.learner_table import LearnerTable
from mccpo.serve.monitor.lesson_costs import Lesson, LessonCosts, horizon_weight, sum_name
from mccpo.serve.monitor.rates import Rate, ShadowRates
from mccpo.serve.monitor.report import Alarm, CostReport, EquityReport, TenantReport
from mccpo.serve.monitor.spending import COSTS
from mccpo.serve.monitor.time_series import Sums, TimeSeries
from mccpo.serve.policy.certificate import BELOW
from mccpo.serve.policy.release import Release

THRESHOLD = 0.005
"""A right answer that raises mastery by no more is decoupled from learning; the same as in an audit of logs."""
CURVES = ("decoupling", "right", "gain", "fallback", "override", "deferral")
"""Rates of which there are curves."""
BOUNDS: Mapping[str, float] = {"restriction_rate": 0.1, "time_to_unlock": 10.0, "mastery_gain": 0.01}
"""How far groups may lie apart by each measure before there is an alarm."""


class Monitor:
    """Watches the learners of one tenant. Costs are compared with the budgets of `release`, the one that decides."""

    def __init__(self, release: Release, bounds: Mapping[str, float] = BOUNDS) -> None:
        self.release = release
        self.bounds = dict(bounds)
        self.chosen_by: Counter[str] = Counter()
        self.fallback, self.override, self.deferral, self.decoupling = Rate(), Rate(), Rate(), Rate()
        self.shadows: dict[str, ShadowRates] = {}
        self.series = TimeSeries()
        self.learners = LearnerTable(len(release.concepts))
        self.costs_of_lessons = LessonCosts()

    def add_learner(self, learner: str) -> None:
        """A learner comes; `set_labels` gives the labels."""
        self.learners.add(learner)

    def set_labels(self, learner: str, labels: Mapping[str, str]) -> None:
        """A learner comes, or has new labels."""
        self.learners.set_labels(learner, labels)

    def erase_learner(self, learner: str) -> None:
        """A learner no longer belongs to any group; what happened still counts overall."""
        self.learners.remove(learner)

    def record_decision(
        self, learner: str, lesson: Lesson, by: str, *, reason: str | None = None, at: int = 0, decision: str = ""
    ) -> None:
        """A lesson was chosen for a learner: by the policy, a rule or a teacher, at a time in milliseconds.

        `reason` is why it was not the policy; `decision` is the id by which the outcome will name it.
        """
        teacher, deferred = by == "teacher", by in ("deferred", "probe")
        failed = by == "fallback" or (deferred and reason != BELOW)
        self.chosen_by[by] += 1
        self.override.add(teacher)
        if not teacher:
            self.fallback.add(failed)
            self.deferral.add(deferred)
        counts = {"decisions": 1, "teacher": teacher, "failed": failed, "deferred": deferred}
        self.series.add(at, **counts, **self.costs_of_lessons.begin(decision, lesson))
        release = lesson.release
        self.learners.count_decision(learner, release.ready(lesson.state.K))

    def record_shadow(self, shadow: Mapping[str, Any]) -> None:
        """A shadow was asked what it would have done; `shadow` is its answer as the record holds it."""
        rates = self.shadows.setdefault(shadow["release"], ShadowRates())
        rates.failed.add("failed" in shadow)
        if "failed" not in shadow:
            rates.agrees.add(shadow["agrees"])

    def record_outcome(
        self, learner: str, *, correct: bool, before: float, after: float, at: int = 0, decision: str = ""
    ) -> None:
        """The outcome of a decision changed mastery from `before` to `after`."""
        gain = after - before
        decoupled = correct and gain <= THRESHOLD
        self.decoupling.add(decoupled)
        spent = self.costs_of_lessons.answer(decision, gain)
        self.series.add(at, answers=1, right=correct, decoupled=decoupled, gained=gain, **spent)
        self.learners.count_answer(learner, gain)

    def end_session(self, session: str) -> None:
        """A session is over."""
        self.costs_of_lessons.end_session(session)

    def prepare(self) -> None:
        """Makes what a report with groups needs, which takes a while the first time."""
        self.learners.prepare(self.release.horizon)

    def report(self, *, groups: bool = True) -> TenantReport:
        """What there is to see now; groups of learners are compared only with `groups`."""
        return {
            "learners": len(self.learners.labels),
            "decisions": {"total": sum(self.chosen_by.values()), **dict(sorted(self.chosen_by.items()))},
            "fallback": self.fallback.report(),
            "override": self.override.report(),
            "deferral": self.deferral.report(),
            "shadows": {version: rates.report() for version, rates in self.shadows.items()},
            "decoupling": {"threshold": THRESHOLD, **self.decoupling.report()},
            "costs_on": "realised" if self.release.tutor.realised else "expected",
            "costs": self.costs(),
            "floors": self.costs_of_lessons.floors(self.release),
            "equity": self.equity() if groups else {},
            "labels_left_out": self.learners.labels_left_out,
        }

    def costs(self) -> dict[str, CostReport]:
        """Each cost beside its budget."""
        return self.costs_of_lessons.report(self.release)

    def equity(self) -> dict[str, EquityReport]:
        """For each label, the measures of its groups, and how far they lie apart."""
        return self.learners.equity(self.release.horizon, self.bounds)

    def alarms(self) -> list[Alarm]:
        """The gaps between groups that a person should look at."""
        return [
            {"label": label, "measure": measure, **gap}
            for label, comparison in self.equity().items()
            for measure, gap in comparison["gaps"].items()
            if gap["verdict"] == "alarm"
        ]

    def curves(self, span: str, now: int) -> dict[str, list[float | None]]:
        """How rates and costs moved over one of `SPANS`: a column each, beside that of `time` in seconds.

        A cost is what a session of the whole horizon costs at the pace of the time.
        """
        columns: dict[str, list[float | None]] = {name: [] for name in ("time", *CURVES, *COSTS)}
        whole = horizon_weight(self.release)
        for begins, sums in self.series.buckets(span, now):
            columns["time"].append(begins / 1000)
            for name, value in _rates(sums or {}, whole, self.release.tutor.realised).items():
                columns[name].append(value)
        return columns


def _rates(sums: Sums, whole: float, realised: bool) -> dict[str, float | None]:
    def ratio(part: str, of: float, times: float = 1.0) -> float | None:
        return times * sums.get(part, 0) / of if of else None

    answers, decisions = sums.get("answers", 0), sums.get("decisions", 0)
    own = decisions - sums.get("teacher", 0)
    weight = sums.get(sum_name("weight", realised), 0)
    return {
        "decoupling": ratio("decoupled", answers),
        "right": ratio("right", answers),
        "gain": ratio("gained", answers),
        "fallback": ratio("failed", own),
        "override": ratio("teacher", decisions),
        "deferral": ratio("deferred", own),
        **{name: ratio(sum_name(name, realised), weight, whole) for name in COSTS},
    }
