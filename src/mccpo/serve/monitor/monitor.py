"""What happens to learners as they are taught: how often, at what cost, and whether to all groups alike.

A monitor is told what happens, in the order of the record, and keeps sums and one small row per learner. It decides
nothing and writes nothing, and what it knows can be had again by telling it the record from the start.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mccpo.serve.monitor import equity
from mccpo.serve.monitor.equity import Followed
from mccpo.serve.monitor.spending import COSTS, Ledger, Spending
from mccpo.serve.monitor.time_series import History, Sums
from mccpo.serve.policy.costs import price
from mccpo.serve.policy.release import Release
from mccpo.serve.record.learner_state import Standing

THRESHOLD = 0.005
"""A right answer that raises mastery by no more is decoupled from learning; the same as in an audit of logs."""
CURVES = ("decoupling", "right", "gain", "fallback", "override")
"""Rates whose course is told."""
RECENT = 1_000
"""Over how many of the last events a recent rate goes."""
MOST_LABELS = 16
"""Labels by which groups are compared, the ones most used."""
BOUNDS: Mapping[str, float] = {"restriction_rate": 0.1, "time_to_unlock": 10.0, "mastery_gain": 0.01}
"""How far groups may lie apart by each measure before there is an alarm."""


@dataclass(slots=True)
class Share:
    """How often something happens: of all times, and of the last ones."""

    count: int = 0
    of: int = 0
    recent: deque[bool] = field(default_factory=lambda: deque(maxlen=RECENT))

    def add(self, happened: bool) -> None:
        self.count += happened
        self.of += 1
        self.recent.append(happened)

    def as_dict(self) -> dict[str, Any]:
        return {
            "count": self.count,
            "of": self.of,
            "rate": self.count / self.of if self.of else None,
            "recent": sum(self.recent) / len(self.recent) if self.recent else None,
        }


@dataclass(slots=True)
class LookedOn:
    """How often a shadow would have done what was served, and how often it gave no answer."""

    agrees: Share = field(default_factory=Share)
    failed: Share = field(default_factory=Share)

    def as_dict(self) -> dict[str, Any]:
        return {"agrees": self.agrees.as_dict(), "failed": self.failed.as_dict()}


class _Lesson(NamedTuple):
    """A lesson whose price waits for its answer: by which release it was chosen, for a learner who stood so."""

    session: str
    release: Release
    standing: Standing
    action: int


class Monitor:
    """Watches the learners of one tenant. Costs are set beside the budgets of `release`, the one that decides.

    A lesson is priced as in the training of the release that chose it: by the gain to be expected of it, at once, or by
    the change of mastery that its answer brought (`realised`), once that is known. The two are kept apart, and those
    are told that the budgets of `release` are about.
    """

    def __init__(self, release: Release, bounds: Mapping[str, float] = BOUNDS) -> None:
        self.release = release
        self.bounds = dict(bounds)
        self.by: Counter[str] = Counter()
        self.fallback, self.override, self.decoupling = Share(), Share(), Share()
        self.shadows: dict[str, LookedOn] = {}
        self.history = History()
        self._ledgers = {False: Ledger(), True: Ledger()}
        self._waiting: dict[str, _Lesson] = {}
        self._waiting_of: dict[str, list[str]] = {}
        self._places: dict[str, int] = {}
        self._labels: dict[str, Mapping[str, str]] = {}
        self._rows = _empty(64, len(release.concepts))

    def came(self, learner: str) -> None:
        """A learner comes, whose labels are told by `registered`."""
        self._place(learner)
        self._labels.setdefault(learner, {})

    def registered(self, learner: str, labels: Mapping[str, str]) -> None:
        """A learner comes, or has new labels."""
        self._place(learner)
        self._labels[learner] = dict(labels)

    def erased(self, learner: str) -> None:
        """A learner is no longer one of those there are; what happened still counts for all."""
        self._labels.pop(learner, None)

    def decided(
        self,
        learner: str,
        session: str,
        release: Release,
        standing: Standing,
        action: int,
        by: str,
        at: int = 0,
        decision: str = "",
    ) -> None:
        """A release chose an action, or a teacher did, for a learner who stood as `standing` says; `at`: when.

        `decision` is the id by which the answer will name it.
        """
        self.by[by] += 1
        self.override.add(by == "teacher")
        if by != "teacher":
            self.fallback.add(by == "fallback")
        self.history.add(at, **{by: 1}, **self._begun(decision, _Lesson(session, release, standing, action)))
        ready = release.curriculum.ready(standing.K, release.theta)
        place = self._place(learner)
        self._rows.unlocked[place, ready & (self._rows.unlocked[place] < 0)] = self._rows.decisions[place]
        self._rows.decisions[place] += 1
        self._rows.withheld[place] += 1.0 - ready.mean()

    def looked_on(self, shadow: Mapping[str, Any]) -> None:
        """A shadow was asked what it would have done; `shadow` is what the record keeps of it."""
        found = self.shadows.setdefault(shadow["release"], LookedOn())
        found.failed.add("failed" in shadow)
        if "failed" not in shadow:
            found.agrees.add(shadow["agrees"])

    def answered(
        self, learner: str, *, correct: bool, before: float, after: float, at: int = 0, decision: str = ""
    ) -> None:
        """The outcome of a decision updated mastery; `at`: when."""
        decoupled = correct and after - before <= THRESHOLD
        self.decoupling.add(decoupled)
        lesson = self._waiting.pop(decision, None)
        spent = {} if lesson is None else self._spend(lesson, after - before)
        self.history.add(at, answers=1, right=correct, decoupled=decoupled, gained=after - before, **spent)
        place = self._place(learner)
        self._rows.answers[place] += 1
        self._rows.gained[place] += after - before

    def ended(self, session: str) -> None:
        """A session is over. A lesson of it that still waits for its answer stays without a price."""
        for decision in self._waiting_of.pop(session, ()):
            self._waiting.pop(decision, None)
        for ledger in self._ledgers.values():
            ledger.end(session)

    def report(self) -> dict[str, Any]:
        """What there is to see now."""
        return {
            "learners": len(self._labels),
            "decisions": {"total": sum(self.by.values()), **dict(sorted(self.by.items()))},
            "fallback": self.fallback.as_dict(),
            "override": self.override.as_dict(),
            "shadows": {version: found.as_dict() for version, found in self.shadows.items()},
            "decoupling": {"threshold": THRESHOLD, **self.decoupling.as_dict()},
            "costs_on": "realised" if self.release.tutor.realised else "expected",
            "costs": self.costs(),
            "equity": self.equity(),
            "labels_left_out": max(0, len({name for one in self._labels.values() for name in one}) - MOST_LABELS),
        }

    def costs(self) -> dict[str, Any]:
        """Each cost beside its budget.

        `session` is the mean over sessions, open ones as far as they have come. As sessions are shorter or longer than
        those of training, `full` says what a session of the whole horizon costs at that pace, with its interval; it is
        `full` that is comparable with the budget.
        """
        spent = self._ledgers[self.release.tutor.realised].total()
        return {name: self._cost(spent, place) for place, name in enumerate(COSTS)}

    def equity(self) -> dict[str, Any]:
        """For each label, what each of its groups meets with, and how far they lie apart.

        `left_out` counts the groups that are not compared: those of too few learners, and the smallest of too many.
        """
        used = Counter(name for labels in self._labels.values() for name in labels)
        names = sorted(name for name, _ in used.most_common(MOST_LABELS))
        return {name: self._compared(name) for name in names}

    def curves(self, span: str, now: int) -> dict[str, list[float | None]]:
        """How rates and costs moved over a span of `history.SPANS`: a column each, beside that of `time` in seconds.

        A cost is what a session of the whole horizon costs at the pace of the time.
        """
        columns: dict[str, list[float | None]] = {name: [] for name in ("time", *CURVES, *COSTS)}
        for begins, sums in self.history.spells(span, now):
            columns["time"].append(begins / 1000)
            for name, value in _rates(sums or {}, self._whole, self.release.tutor.realised).items():
                columns[name].append(value)
        return columns

    def alarms(self) -> list[dict[str, Any]]:
        """The gaps between groups that call for a person to look."""
        return [
            {"label": label, "measure": measure, **gap}
            for label, found in self.equity().items()
            for measure, gap in found["gaps"].items()
            if gap["verdict"] == "alarm"
        ]

    def _begun(self, decision: str, lesson: _Lesson) -> Sums:
        """Prices a lesson, or lets it wait for the answer that it is priced by."""
        if not lesson.release.tutor.realised:
            return self._spend(lesson, None)
        self._waiting[decision] = lesson
        self._waiting_of.setdefault(lesson.session, []).append(decision)
        return {}

    def _spend(self, lesson: _Lesson, gain: float | None) -> Sums:
        release, realised = lesson.release, lesson.release.tutor.realised
        priced = price(release, lesson.standing, lesson.action, gain)
        weight = release.tutor.gamma**lesson.standing.t
        costs = {name: weight * getattr(priced, name) for name in COSTS}
        self._ledgers[realised].spend(lesson.session, np.array(list(costs.values())), weight)
        return {_sum_name(name, realised): amount for name, amount in ({"weight": weight} | costs).items()}

    def _cost(self, spent: Spending, place: int) -> dict[str, Any]:
        x, xx, xw = (float(each[place]) for each in (spent.x, spent.xx, spent.xw))
        pace = equity.ratio_of_sums(spent.sessions, x, spent.w, xx, xw, spent.ww)
        whole = self._whole
        full = whole * x / spent.w if spent.w else None
        budget = self.release.budgets.get(COSTS[place])
        return {
            "session": x / spent.sessions if spent.sessions else None,
            "full": full,
            "interval": None if pace is None else [whole * end for end in pace.interval()],
            "budget": budget,
            "within": None if full is None or budget is None else full <= budget,
        }

    @property
    def _whole(self) -> float:
        """The weight of a session of the whole horizon."""
        return float(np.sum(self.release.tutor.gamma ** np.arange(self.release.horizon)))

    def _compared(self, label: str) -> dict[str, Any]:
        members: dict[str, list[int]] = {}
        for learner, labels in self._labels.items():
            if label in labels and self._rows.decisions[self._places[learner]]:
                members.setdefault(labels[label], []).append(self._places[learner])
        large = sorted(((-len(places), name) for name, places in members.items() if len(places) >= equity.SMALLEST))
        groups = {name: self._rows.only(np.array(members[name])) for _, name in large[: equity.MOST_GROUPS]}
        left_out = {"too_small": len(members) - len(large), "too_many": len(large) - len(groups)}
        return equity.compare(groups, self.release.horizon, self.bounds) | {"left_out": left_out}

    def _place(self, learner: str) -> int:
        place = self._places.setdefault(learner, len(self._places))
        if place >= len(self._rows.decisions):
            more = _empty(len(self._rows.decisions), self._rows.unlocked.shape[1])
            self._rows = Followed(*(np.concatenate(pair) for pair in zip(self._rows, more, strict=True)))
        return place


def _sum_name(name: str, realised: bool) -> str:
    """What a sum of the history is called: those by the one way of pricing are kept apart from those by the other."""
    return f"realised_{name}" if realised else name


def _rates(sums: Sums, whole: float, realised: bool) -> dict[str, float | None]:
    def ratio(part: str, of: float, times: float = 1.0) -> float | None:
        return times * sums.get(part, 0) / of if of else None

    answers, own = sums.get("answers", 0), sums.get("policy", 0) + sums.get("fallback", 0)
    weight = sums.get(_sum_name("weight", realised), 0)
    return {
        "decoupling": ratio("decoupled", answers),
        "right": ratio("right", answers),
        "gain": ratio("gained", answers),
        "fallback": ratio("fallback", own),
        "override": ratio("teacher", own + sums.get("teacher", 0)),
        **{name: ratio(_sum_name(name, realised), weight, whole) for name in COSTS},
    }


def _empty(learners: int, concepts: int) -> Followed:
    return Followed(
        decisions=np.zeros(learners, np.int64),
        withheld=np.zeros(learners),
        answers=np.zeros(learners, np.int64),
        gained=np.zeros(learners),
        unlocked=np.full((learners, concepts), -1, np.int32),
    )
