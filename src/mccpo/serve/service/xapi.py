"""xAPI 1.0.3 and 2.0: outcomes come in as statements, decisions go out as statements.

A statement with `result.success` reports an outcome, whatever its verb. It names its decision by the extension
`urn:mccpo:decision` of its context, as the statement of the decision had it: a platform hands the context back. Without
it, the outcome is that of the learner's open decision, if its concept is the one that the statement names, if any.

A decision is written as `launched`, with what off-policy evaluation needs in its extensions; its outcome as
`answered`. `mccpo audit LOG --format xapi --map concept=context.extensions.urn:mccpo:concept` reads both back. Ids
are derived from the decision's, so writing it twice makes no second statement.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote
from uuid import NAMESPACE_URL, UUID, uuid5

from mccpo.errors import InputError

VERSION = "1.0.3"
VERSIONS = {"1.0": VERSION, "2.0": "2.0.0"}
"""The versions of xAPI that are spoken, by what those who ask for one begin with."""
URN = "urn:mccpo:"
"""What our own extensions and activities begin with."""
HOME = "urn:mccpo:learners"
"""The home of learners' accounts, unless a platform has its own."""
LONGEST = 256
"""The longest text that is taken over from a statement."""
_VERBS = "http://adlnet.gov/expapi/verbs/"
_MOST_SECONDS = 1e9
_DURATION = re.compile(r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d+)?)S)?)?")
_UNITS = (604_800.0, 86_400.0, 3_600.0, 60.0, 1.0)


class ReportedOutcome(NamedTuple):
    """An outcome as a statement reports it.

    - `statement`: its id, by which a repeated statement is recognised; None where it has none.
    - `learner`: the name that the tenant knows the learner by.
    - `decision`, `concept`: what it is the outcome of, as far as the statement says.
    """

    statement: str | None
    learner: str
    decision: str | None
    concept: str | None
    correct: bool
    hints: int | None
    seconds: float | None


class DecisionDetails(NamedTuple):
    """A decision to be written as a statement: what was chosen for whom, and when (RFC 3339), with its certificate."""

    decision: str
    learner: str
    session: str
    at: str
    concept: str
    activity: str
    certificate: Mapping[str, Any]


class OutcomeDetails(NamedTuple):
    """The outcome of a decision, to be written as a statement."""

    at: str
    correct: bool
    hints: int | None = None
    seconds: float | None = None


def outcomes_of(body: object) -> list[ReportedOutcome]:
    """The outcomes in one statement or a list; statements without one are passed over, wrong ones refused."""
    statements = body if isinstance(body, list) else [body]
    outcomes = (outcome_of(statement, f"statement {number}") for number, statement in enumerate(statements, start=1))
    return [outcome for outcome in outcomes if outcome is not None]


def outcome_of(statement: object, what: str = "the statement") -> ReportedOutcome | None:
    """The outcome that a statement reports, or None where it reports none."""
    if not isinstance(statement, dict):
        raise InputError(f"{what} is not a JSON object", fix="give statements of xAPI")
    if _at(statement, "verb", "id") == f"{_VERBS}voided":
        raise InputError(f"{what} voids another", fix="an outcome that counted stands: leave it out")
    result = statement.get("result")
    if not isinstance(result, dict) or result.get("success") is None:
        return None
    if not isinstance(result["success"], bool):
        raise InputError(f"{what} has the success {result['success']!r}", fix="give true or false")
    extensions = _at(statement, "context", "extensions")
    return ReportedOutcome(
        statement=_id(statement.get("id"), what),
        learner=_learner(statement.get("actor"), what),
        decision=_text(_entry(extensions, "decision"), f"{what}: its decision"),
        concept=_text(_entry(extensions, "concept"), f"{what}: its concept"),
        correct=result["success"],
        hints=_hints(_entry(result.get("extensions"), "hints"), what),
        seconds=_seconds(result.get("duration"), what),
    )


def statement_of(
    decision: DecisionDetails, outcome: OutcomeDetails | None = None, *, home: str = HOME, version: str = VERSION
) -> dict[str, Any]:
    """The statement of a decision, or, with its outcome, that of its answer."""
    kind = "decision" if outcome is None else "outcome"
    statement: dict[str, Any] = {
        "id": str(uuid5(NAMESPACE_URL, f"{URN}{kind}:{decision.decision}")),
        "version": version,
        "actor": {"objectType": "Agent", "account": {"homePage": home, "name": decision.learner}},
        "verb": _verb("launched" if outcome is None else "answered"),
        "object": _activity(
            f"{_iri('concept', decision.concept)}:{quote(decision.activity, safe='')}", decision.activity
        ),
        "context": {
            "contextActivities": {"category": [_activity(_iri("concept", decision.concept), decision.concept)]},
            "extensions": _extensions(decision),
        },
        "timestamp": decision.at if outcome is None else outcome.at,
    }
    if outcome is not None:
        statement["result"] = _result(outcome)
    return statement


def _extensions(decision: DecisionDetails) -> dict[str, Any]:
    certificate = decision.certificate
    told = ("by", "propensity", "release", "theta", "confidence", "chance", "bound", "wanted", "prerequisites")
    values = {name: certificate.get(name) for name in told}
    own = {
        "decision": decision.decision,
        "session": decision.session,
        "concept": decision.concept,
        "activity": decision.activity,
    }
    return {URN + name: value for name, value in (own | values).items() if value is not None}


def _result(outcome: OutcomeDetails) -> dict[str, Any]:
    result: dict[str, Any] = {"success": outcome.correct}
    if outcome.seconds is not None:
        result["duration"] = f"PT{outcome.seconds:.2f}S"  # xAPI compares durations to a hundredth
    if outcome.hints is not None:
        result["extensions"] = {f"{URN}hints": outcome.hints}
    return result


def _verb(name: str) -> dict[str, Any]:
    return {"id": _VERBS + name, "display": {"en": name}}


def _iri(kind: str, name: str) -> str:
    return f"{URN}{kind}:{quote(name, safe='')}"


def _activity(iri: str, name: str) -> dict[str, Any]:
    return {"objectType": "Activity", "id": iri, "definition": {"name": {"und": name}}}


def _at(statement: object, *keys: str) -> Any:
    for key in keys:
        statement = statement.get(key) if isinstance(statement, dict) else None
    return statement


def _entry(extensions: object, name: str) -> Any:
    return extensions.get(URN + name) if isinstance(extensions, dict) else None


def _id(value: object, what: str) -> str | None:
    if value is None:
        return None
    try:
        return str(UUID(value if isinstance(value, str) else ""))
    except ValueError as error:
        raise InputError(f"{what} has the id {str(value)[:LONGEST]!r}", fix="give a UUID, or none") from error


def _learner(actor: object, what: str) -> str:
    """Who it was, by the one of the four identifiers of xAPI that is there."""
    named = _at(actor, "account", "name")
    if named is None and isinstance(actor, dict):
        named = next((actor[key] for key in ("mbox", "mbox_sha1sum", "openid") if actor.get(key)), None)
    name = _text(named, f"{what}: its actor")
    if name is None:
        raise InputError(f"{what} does not say who it was", fix="give the actor an account, an mbox or an openid")
    return name.removeprefix("mailto:")


def _text(value: object, what: str) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST:
        raise InputError(f"{what} is no text of 1 to {LONGEST} letters", fix="correct it")
    return value


def _hints(value: object, what: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 1_000_000:
        raise InputError(f"{what} has no number of hints", fix="give a whole number from 0 on")
    return value


def _seconds(value: object, what: str) -> float | None:
    """The seconds of an ISO 8601 duration."""
    if value is None:
        return None
    match = _DURATION.fullmatch(value) if isinstance(value, str) and len(value) <= LONGEST else None
    if match is None or not any(match.groups()):
        raise InputError(f"{what} has no duration", fix="give one of ISO 8601, such as PT12.5S")
    parts = (float((part or "0").replace(",", ".")) for part in match.groups())
    total = math.fsum(unit * part for unit, part in zip(_UNITS, parts, strict=True))
    if total > _MOST_SECONDS:
        raise InputError(f"{what} took {total:g} seconds", fix=f"give at most {_MOST_SECONDS:g}")
    return total
