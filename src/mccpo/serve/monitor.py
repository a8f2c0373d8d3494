"""What happens to learners as they are taught: how often, at what cost, and whether to all groups alike.

A monitor is told what happens, in the order of the record, and keeps sums and one small row per learner. It decides
nothing and writes nothing, and what it knows can be had again by telling it the record from the start.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from mccpo.serve import equity
from mccpo.serve.equity import Followed
from mccpo.serve.history import History, Sums
from mccpo.serve.pricing import price
from mccpo.serve.release import Release
from mccpo.serve.standing import Standing

THRESHOLD = 0.005
"""A right answer that raises mastery by no more is decoupled from learning; the same as in an audit of logs."""
COSTS = ("c2", "c3", "c4")
"""Too little gain; too little demand; engagement without gain."""
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


@dataclass(frozen=True, slots=True)
class Spending:
    """What sessions cost, discounted: sums over sessions of costs x, weights w and their products."""

    sessions: int = 0
    x: Float[np.ndarray, " costs"] = field(default_factory=lambda: np.zeros(len(COSTS)))
    w: float = 0.0
    xx: Float[np.ndarray, " costs"] = field(default_factory=lambda: np.zeros(len(COSTS)))
    xw: Float[np.ndarray, " costs"] = field(default_factory=lambda: np.zeros(len(COSTS)))
    ww: float = 0.0

    def with_sessions(
        self, costs: Float[np.ndarray, "sessions costs"], weights: Float[np.ndarray, " sessions"]
    ) -> Spending:
        """These sums with those of more sessions."""
        return Spending(
            self.sessions + len(weights),
            self.x + costs.sum(axis=0),
            self.w + float(weights.sum()),
            self.xx + (costs * costs).sum(axis=0),
            self.xw + weights @ costs,
            self.ww + float(weights @ weights),
        )


@dataclass(slots=True)
class _Session:
    """A session that is open: its discounted costs, and the sum of their weights."""

    costs: Float[np.ndarray, " costs"]
    weight: float = 0.0


class Monitor:
    """Watches the learners of one tenant. Costs are set beside the budgets of `release`, the one that decides."""

    def __init__(self, release: Release, bounds: Mapping[str, float] = BOUNDS) -> None:
        self.release = release
        self.bounds = dict(bounds)
        self.by: Counter[str] = Counter()
        self.fallback, self.override, self.decoupling = Share(), Share(), Share()
        self.history = History()
        self._spent = Spending()
        self._open: dict[str, _Session] = {}
        self._places: dict[str, int] = {}
        self._labels: dict[str, Mapping[str, str]] = {}
        self._rows = _empty(64, len(release.concepts))

    def registered(self, learner: str, labels: Mapping[str, str]) -> None:
        """A learner comes, or has new labels."""
        self._place(learner)
        self._labels[learner] = dict(labels)

    def erased(self, learner: str) -> None:
        """A learner's labels are gone; what happened still counts for all."""
        self._labels.pop(learner, None)

    def decided(
        self, learner: str, session: str, release: Release, standing: Standing, action: int, by: str, at: int = 0
    ) -> None:
        """A release chose an action, or a teacher did, for a learner who stood as `standing` says; `at`: when."""
        self.by[by] += 1
        self.override.add(by == "teacher")
        if by != "teacher":
            self.fallback.add(by == "fallback")
        spent = self._spend(session, release, standing, action)
        self.history.add(at, **{by: 1}, **spent)
        ready = release.curriculum.ready(standing.K, release.theta)
        place = self._place(learner)
        self._rows.unlocked[place, ready & (self._rows.unlocked[place] < 0)] = self._rows.decisions[place]
        self._rows.decisions[place] += 1
        self._rows.withheld[place] += 1.0 - ready.mean()

    def answered(self, learner: str, *, correct: bool, before: float, after: float, at: int = 0) -> None:
        """An outcome updated mastery; `at`: when."""
        decoupled = correct and after - before <= THRESHOLD
        self.decoupling.add(decoupled)
        self.history.add(at, answers=1, right=correct, decoupled=decoupled, gained=after - before)
        place = self._place(learner)
        self._rows.answers[place] += 1
        self._rows.gained[place] += after - before

    def ended(self, session: str) -> None:
        """A session is over."""
        if (spent := self._open.pop(session, None)) is not None:
            self._spent = self._spent.with_sessions(spent.costs[None], np.array([spent.weight]))

    def report(self) -> dict[str, Any]:
        """What there is to see now."""
        return {
            "learners": len(self._places),
            "decisions": {"total": sum(self.by.values()), **dict(sorted(self.by.items()))},
            "fallback": self.fallback.as_dict(),
            "override": self.override.as_dict(),
            "decoupling": {"threshold": THRESHOLD, **self.decoupling.as_dict()},
            "costs": self.costs(),
            "equity": self.equity(),
        }

    def costs(self) -> dict[str, Any]:
        """Each cost beside its budget.

        `session` is the mean over sessions, open ones as far as they have come. As sessions are shorter or longer than
        those of training, `full` says what a session of the whole horizon costs at that pace, with its interval; it is
        `full` that is comparable with the budget.
        """
        sessions = list(self._open.values())
        costs = np.array([one.costs for one in sessions]).reshape(-1, len(COSTS))
        spent = self._spent.with_sessions(costs, np.array([one.weight for one in sessions]))
        return {name: self._cost(spent, place) for place, name in enumerate(COSTS)}

    def equity(self) -> dict[str, Any]:
        """For each label, what each of its groups meets with, and how far they lie apart."""
        used = Counter(name for labels in self._labels.values() for name in labels)
        names = sorted(name for name, _ in used.most_common(MOST_LABELS))
        return {name: equity.compare(self._groups(name), self.release.horizon, self.bounds) for name in names}

    def curves(self, span: str, now: int) -> dict[str, list[float | None]]:
        """How rates and costs moved over a span of `history.SPANS`: a column each, beside that of `time` in seconds.

        A cost is what a session of the whole horizon costs at the pace of the time.
        """
        columns: dict[str, list[float | None]] = {name: [] for name in ("time", *CURVES, *COSTS)}
        for begins, sums in self.history.spells(span, now):
            columns["time"].append(begins / 1000)
            for name, value in _rates(sums or {}, self._whole).items():
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

    def _spend(self, session: str, release: Release, standing: Standing, action: int) -> Sums:
        priced = price(release, standing, action)
        spent = self._open.setdefault(session, _Session(np.zeros(len(COSTS))))
        weight = release.tutor.gamma**standing.t
        costs = {name: weight * getattr(priced, name) for name in COSTS}
        spent.costs += np.array(list(costs.values()))
        spent.weight += weight
        return {"weight": weight, **costs}

    def _cost(self, spent: Spending, place: int) -> dict[str, Any]:
        x, xx, xw = (float(each[place]) for each in (spent.x, spent.xx, spent.xw))
        pace = equity.ratio_of_sums(spent.sessions, x, spent.w, xx, xw, spent.ww)
        whole = self._whole
        full = whole * x / spent.w if spent.w else None
        # Budgets of costs that went by what answers happened to bring are no measure for costs by what they should.
        budget = None if self.release.tutor.realised else self.release.budgets.get(COSTS[place])
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

    def _groups(self, label: str) -> dict[str, Followed]:
        members: dict[str, list[int]] = {}
        for learner, labels in self._labels.items():
            if label in labels and self._rows.decisions[self._places[learner]]:
                members.setdefault(labels[label], []).append(self._places[learner])
        shown = sorted(((-len(places), name) for name, places in members.items() if len(places) >= equity.SMALLEST))
        return {name: self._rows.only(np.array(members[name])) for _, name in shown[: equity.MOST_GROUPS]}

    def _place(self, learner: str) -> int:
        place = self._places.setdefault(learner, len(self._places))
        if place >= len(self._rows.decisions):
            more = _empty(len(self._rows.decisions), self._rows.unlocked.shape[1])
            self._rows = Followed(*(np.concatenate(pair) for pair in zip(self._rows, more, strict=True)))
        return place


def _rates(sums: Sums, whole: float) -> dict[str, float | None]:
    def ratio(part: str, of: float, times: float = 1.0) -> float | None:
        return times * sums.get(part, 0) / of if of else None

    answers, own = sums.get("answers", 0), sums.get("policy", 0) + sums.get("fallback", 0)
    return {
        "decoupling": ratio("decoupled", answers),
        "right": ratio("right", answers),
        "gain": ratio("gained", answers),
        "fallback": ratio("fallback", own),
        "override": ratio("teacher", own + sums.get("teacher", 0)),
        **{name: ratio(name, sums.get("weight", 0), whole) for name in COSTS},
    }


def _empty(learners: int, concepts: int) -> Followed:
    return Followed(
        decisions=np.zeros(learners, np.int64),
        withheld=np.zeros(learners),
        answers=np.zeros(learners, np.int64),
        gained=np.zeros(learners),
        unlocked=np.full((learners, concepts), -1, np.int32),
    )
