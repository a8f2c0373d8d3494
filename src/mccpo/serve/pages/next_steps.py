"""What the monitor sees, in a teacher's words, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mccpo.serve.monitor.report import MonitorReport, RateReport

WORDS = {
    "c2": "too little progress",
    "c3": "too little challenge",
    "c4": "busy without learning",
    "learning": "progress",
    "mastered": "concepts mastered",
    "engagement": "engagement",
}
"""What costs and floors are called on the pages."""
ENOUGH = 50
"""Decisions or answers below which a rate says nothing."""
OFTEN = 0.05
"""The share of fallbacks, or of right answers without a gain, beyond which somebody should look."""

_ABOVE = {
    "c2": "Learners work, and gain less than they could. See on the page of decisions who practises the same again and "
    "again, and choose something new for them. If most do, ask for another release.",
    "c3": "Activities are easier than learners can manage. Choose harder ones for those who are ahead. If most are, "
    "ask for another release.",
    "c4": "Learners are engaged in what teaches them little. Look at what they do most on the page of decisions, and "
    "choose other concepts for them.",
}
_BELOW = {
    "learning": "Learners gain less than was promised. Look first at those with the fewest concepts mastered, on the "
    "page of learners.",
    "mastered": "Fewer concepts are mastered in a session than was promised. Longer sessions help; so does another "
    "release.",
    "engagement": "Learners are less engaged than was promised. Ask them why, before you change anything.",
}


class Step(NamedTuple):
    """What is the matter, and what to do about it."""

    what: str
    do: str


def next_steps(report: MonitorReport) -> list[Step]:
    """What there is to do, the most important first; groups that lie apart have alarms of their own."""
    return list(_steps(report))


def _steps(report: MonitorReport) -> Iterator[Step]:
    if _often(report["fallback"]):
        yield Step(
            "The policy often fails.",
            "A safe rule chose in its place, so no learner is harmed. Tell whoever runs the service: its log says why.",
        )
    for name, cost in report["costs"].items():
        if cost["within"] is False:
            yield Step(f"{WORDS[name].capitalize()}.", _ABOVE[name])
    for name, floor in report["floors"].items():
        if floor["within"] is False:
            yield Step(f"{WORDS[name].capitalize()}: less than promised.", _BELOW[name])
    if _often(report["decoupling"]):
        yield Step(
            "Right answers that teach nothing.",
            "Learners often answer what they know already. Choose something new for those whose concepts are mastered.",
        )


def _often(rate: RateReport) -> bool:
    return rate["of"] >= ENOUGH and (rate["recent"] or 0.0) > OFTEN
