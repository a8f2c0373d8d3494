"""What a tutor promises, by its certificates, and what nobody can promise of it; in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mccpo.experiments.certification.certify import shortfall
from mccpo.experiments.problem import FREE
from mccpo.runs.results import Bound, Certificate, Results, Row, Rows

REMEMBERING = ("zpdes",)
"""Of the rules that a policy is compared with, those that go by the whole episode, which a service does not keep."""
WORDS = {
    "learning": "learning (ΔK, discounted)",
    "learning-total": "learning (ΔK)",
    "mastered": "mastered concepts",
    "engagement": "engagement",
    "c2": "the cost of too little progress (c2)",
    "c3": "the cost of too little demand (c3)",
    "c4": "the cost of engagement without learning (c4)",
}


@dataclass(frozen=True)
class Promise:
    """One thing that was asked for, with which learners, whether it is promised, and the sentence that says so."""

    about: str
    learners: str
    kept: bool
    text: str

    def as_json(self) -> dict[str, Any]:
        """The promise as plain values."""
        return dict(vars(self))


def promises_of(certificates: Sequence[Certificate]) -> list[Promise]:
    """All that certificates say, one promise for each floor, each budget and readiness."""
    return [promise for certificate in certificates for promise in _promises(certificate)]


def _promises(certificate: Certificate) -> Iterator[Promise]:
    who = certificate.on or "the learners it was made for"
    for name, bound in certificate.floors.items():
        text = f"{WORDS.get(name, name)} is at least {_number(bound.bound)} an episode, the floor is "
        yield _promise(name, who, bound, text + _number(bound.budget))
    for name, bound in certificate.budgets.items():
        text = f"{WORDS.get(name, name)} is at most {_number(bound.bound)} an episode, the budget is "
        yield _promise(name, who, bound, text + _number(bound.budget))
    if (ready := certificate.prerequisite) is not None:
        if ready.structural:
            yield Promise("ready", who, True, "every lesson is on a concept that the learner is ready for")
        else:
            text = (
                f"at most {_share(ready.bound)} of lessons are on a concept that the learner is not ready for in truth"
            )
            yield _promise("ready", who, ready, f"{text}, the limit is {_share(ready.budget)}")


def _promise(about: str, who: str, bound: Bound, text: str) -> Promise:
    kept = bound.passed is not False
    if kept:
        return Promise(about, who, True, text)
    mean = _share(bound.mean) if about == "ready" else _number(bound.mean)
    more = "no number of episodes would do" if bound.episodes_needed is None else f"{bound.episodes_needed:,} would do"
    return Promise(about, who, False, f"{text}; the mean over episodes is {mean}, {more}")


def better_rules(rows: Rows, method: str, most_unready: float | None) -> list[str]:
    """The rules that meet all that was asked for, readiness too, where the policy does not or returns less.

    The one that returns most comes first.
    """
    own, kept = rows[method]["return"].mean, meets_all(rows[method], most_unready)
    found = [
        name
        for name, row in rows.items()
        if name not in (method, FREE) and meets_all(row, most_unready) and (not kept or row["return"].mean > own)
    ]
    return sorted(found, key=lambda name: -rows[name]["return"].mean)


def in_its_place(rows: Rows, method: str, most_unready: float | None) -> list[str]:
    """The rules of `better_rules` that can be served: those that remember nothing of the episode."""
    return [name for name in better_rules(rows, method, most_unready) if name not in REMEMBERING]


def meets_all(row: Row, most_unready: float | None) -> bool:
    """Whether a method meets floors and budgets in every seed, and is unready in truth no more often than it may be."""
    unready = row["true_violation_rate"].mean if "true_violation_rate" in row else 0.0
    return row["satisfaction_strict"].mean == 1 and (most_unready is None or unready <= most_unready)


def not_promised(
    results: Results, method: str, most_unready: float | None, *, seen: str, sources: Sequence[str] = ()
) -> Iterator[str]:
    """What is not promised, whatever the certificate says; `seen` says where learners are from, `prior` if nowhere."""
    unmet = results.settings[0].supplement.unmet
    if unmet is not None:
        yield f"what was asked for: {unmet.what}; {unmet.fix}"
    rows = results.settings[0].rows
    for name in better_rules(rows, method, most_unready):
        also = "also meets" if meets_all(rows[method], most_unready) else "meets"
        yield (
            f"to be better than a simple rule: {name} {also} all that was asked for, and returns "
            f"{rows[name]['return'].mean:.4g}, {method} {rows[method]['return'].mean:.4g}"
        )
    if seen == "answers":
        yield "that learners to come are like those who answered, and each of them as knowledge tracing has it"
    elif seen == "logs":
        yield "that learners to come are like those of the logs"
    else:
        yield (
            "that your learners are like those of the prior: there are no logs, so what they know, learn, guess and "
            f"slip on is drawn from what {len(sources)} public logs span ({', '.join(sources)})"
        )
    yield "that the graph is right: readiness is counted by its edges (docs/graphs.md shows what wrong edges do)"


def failure(certificates: Sequence[Certificate]) -> str | None:
    """What stands in the way of the certificate in the environment of training; None where it passed."""
    return shortfall(certificates[0])


def compared(rows: Rows, most_unready: float | None) -> dict[str, dict[str, Any]]:
    """What each method returns, teaches and does against readiness, and whether it meets all that was asked for."""
    told = ("return", "learning", "dK", "mastered", "true_violation_rate")
    return {
        name: {metric: row[metric].mean for metric in told if metric in row}
        | {"meets_all": meets_all(row, most_unready)}
        for name, row in rows.items()
    }


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4g}"


def _share(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2%}"
