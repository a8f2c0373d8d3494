"""What an audit found, as sentences: the page and the terminal say the same."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from mccpo.logs.audit import LENIENT, SIGNAL, STRICT, Audit, Curve, Population, Rate, Share

POPULATIONS: Mapping[Population, str] = {"all": "all interactions", "episodes": "retained episodes"}
SHARES: Mapping[Share, str] = {
    "interactions": "of all interactions",
    "judged": "of those judged",
    "correct": "of right answers",
}


class PaperPrevalence(NamedTuple):
    """The prevalence that the paper reports for a data set."""

    data: str
    events: int
    analysed: int

    @property
    def rate(self) -> float:
        return self.events / self.analysed


class AuditSubject(NamedTuple):
    """What was audited: its name, how the episodes were chosen, and what the paper reports of it, if anything."""

    name: str
    minimum: int
    most: int | None
    hours_ahead: float = 0.0
    paper: PaperPrevalence | None = None
    models: Mapping[str, str] = {}
    """How each model's mastery was worked out, by its name."""

    @property
    def episodes(self) -> str:
        most = "all of them" if self.most is None else f"at most {self.most:,} of them"
        return f"learners with at least {self.minimum} interactions, {most}"


def percent(rate: float | None) -> str:
    """A share in per cent: to a tenth, with more digits below one per cent.

    >>> percent(0.123), percent(0.00123)
    ('12.3 %', '0.12 %')
    """
    if rate is None:
        return "–"
    hundred = 100 * rate
    if rate <= 0 or rate >= 1 or hundred >= 0.995:
        text = f"{math.floor(hundred * 10) / 10 if 99.9 < hundred < 100 else hundred:.1f}"
        return f"{text.removesuffix('.0') if rate in (0, 1) else text} %"
    if hundred < 1e-4:
        return "under 0.0001 %"
    return f"{hundred:.{1 - math.floor(math.log10(hundred))}f} %"


def interval(rate: Rate) -> str:
    """The interval of a rate: `26.1 to 26.9 %`.

    >>> from mccpo.logs.audit import rate_of
    >>> interval(rate_of([1, 3, 2], [40, 40, 40]))
    '1.0 to 21.0 %'
    """
    if rate.low is None or rate.high is None:
        return "no interval"
    return f"{percent(rate.low).removesuffix(' %')} to {percent(rate.high)}"


def points(difference: float) -> str:
    """A difference of rates, in points of per cent."""
    return f"{100 * difference:+.1f}".replace("-", "−").replace("+0.0", "0.0").replace("−0.0", "0.0")


def plain(threshold: float) -> str:
    """A threshold to two digits, never as a power of ten."""
    return f"{float(f'{threshold:.2g}'):.6f}".rstrip("0").rstrip(".")


def headline(audit: Audit) -> str:
    """The finding in one sentence."""
    rate, measure = audit.rate(), audit.measure(audit.main)
    if rate.rate is None:
        return "No interaction could be judged."
    size = "not at all" if not measure.threshold else f"by at most {measure.threshold:g}"
    what = (
        "with which the platform registered no gain of mastery"
        if audit.main == SIGNAL
        else f"that raises mastery, as {measure.named} estimates it, {size}"
    )
    known = f" (95 % interval {interval(rate)})" if rate.low is not None else " (of one learner, so without interval)"
    found = (
        f"{percent(rate.rate)} of interactions{known} are a right answer {what}: {rate.events:,} of {rate.analysed:,}."
    )
    return f"{found} {_caution(audit)}".rstrip()


def _caution(audit: Audit) -> str:
    """That the rate is one of many, where a threshold made it; empty for the platform's signal, which has none."""
    curve = audit.curve(audit.main)
    if curve is None:
        return ""
    ends = [rate.rate for at, rate in zip(curve.thresholds, curve.rates, strict=True) if at in (STRICT, LENIENT)]
    if None in ends:
        return ""
    return (
        f"This number depends on its threshold: at {STRICT:g} it is {percent(ends[0])}, at {LENIENT:g} it is "
        f"{percent(ends[-1])}. Another model gives another one."
    )


def moved(audit: Audit) -> str:
    """How far the rate moves with the definition."""
    ranges = []
    for curve in audit.curves:
        ends = [rate.rate for at, rate in zip(curve.thresholds, curve.rates, strict=True) if at in (STRICT, LENIENT)]
        if curve.population == "all" and None not in ends:
            ranges.append(f"from {percent(ends[0])} to {percent(ends[-1])} by {audit.measure(curve.measure).named}")
    if not ranges:
        return "There is one definition here, the platform's: a model of mastery would give others."
    text = f"As the threshold goes from {STRICT:g} to {LENIENT:g}, the rate goes {', and '.join(ranges)}."
    if all(measure.name != SIGNAL for measure in audit.measures):
        return text
    level = audit.rate(SIGNAL).rate
    text += f" By the platform's signal it is {percent(level)}"
    meets = [
        f"a threshold {between} by {audit.measure(curve.measure).named}"
        for curve in audit.curves
        if curve.population == "all" and level is not None and (between := crossing(curve, level)) is not None
    ]
    return f"{text}, as with {' and '.join(meets)}." if meets else f"{text}."


def crossing(curve: Curve, level: float) -> str | None:
    """The threshold at which a curve reaches a rate, told as the two that it lies between."""
    known = [(at, rate.rate) for at, rate in zip(curve.thresholds, curve.rates, strict=True) if rate.rate is not None]
    if not known or not known[0][1] < level <= known[-1][1]:
        return None
    after = next(at for at, (_, rate) in enumerate(known) if rate >= level)
    return f"between {plain(known[after - 1][0])} and {plain(known[after][0])}"


def left_out(audit: Audit) -> list[str]:
    """What the rates leave out, and why."""
    remarks = []
    if audit.without_signal == audit.interactions:
        remarks.append("The platform gives no signal of mastery, so that a gain is what a model of mastery says it is.")
    elif audit.without_signal:
        remarks.append(f"{audit.without_signal:,} interactions have no signal of the platform: it did not judge them.")
    models = [measure for measure in audit.measures if measure.threshold is not None]
    if audit.without_concept and models:
        remarks.append(f"{audit.without_concept:,} interactions name no concept: no model of mastery can judge them.")
    if audit.learners == 1:
        remarks.append("There is one learner: what holds for others cannot be told, and no interval is given.")
    return remarks


def against_paper(audit: Audit, subject: AuditSubject) -> str | None:
    """Our rate over the retained episodes beside the paper's, where it has one."""
    if subject.paper is None:
        return None
    theirs = (
        f"The paper reports {percent(subject.paper.rate)} ({subject.paper.events:,} of {subject.paper.analysed:,} "
        f"interactions) on its retained episodes of {subject.paper.data}"
    )
    if audit.retained is None:
        return f"{theirs}."
    ours = audit.rate(population="episodes", of="interactions")
    text = f"{theirs}; on those retained here it is {percent(ours.rate)} ({ours.events:,} of {ours.analysed:,})."
    at = [
        f"a threshold {between} by {audit.measure(curve.measure).named}"
        for curve in audit.curves
        if curve.population == "episodes" and (between := crossing(curve, subject.paper.rate)) is not None
    ]
    if audit.main == SIGNAL or not at:
        return text
    return f"{text} It gives no threshold; here its rate is that of {' or '.join(at)}."


def audit_json(audit: Audit, subject: AuditSubject) -> dict[str, Any]:
    """The audit as `audit.json` holds it."""
    paper = None if subject.paper is None else {**subject.paper._asdict(), "rate": subject.paper.rate}
    about = {
        "data": subject.name,
        "minimum": subject.minimum,
        "most_episodes": subject.most,
        "hours_ahead": subject.hours_ahead,
        "models": dict(subject.models),
        "paper": paper,
    }
    return about | audit.as_json()
