"""Replays the events of one learner: derives again every state, gate and certificate, and what the tables must hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from mccpo.errors import InputError
from mccpo.serve.policy.decision import recheck
from mccpo.serve.policy.release import Release
from mccpo.serve.record.chain import BrokenRecord, Event
from mccpo.serve.record.consistency import ExpectedRows
from mccpo.serve.record.learner_history import LearnerHistory, apply_event, restated_mastery
from mccpo.serve.record.rows import DecisionRow, SessionRow

TOLERANCE = 1e-12
"""As far as machines may differ in a mastery."""


@dataclass
class LearnerReplay:
    """What the events of one learner say so far; `broken` once one of them does not hold."""

    releases: Mapping[str, Release]
    history: LearnerHistory | None = None
    expected: ExpectedRows = field(default_factory=ExpectedRows)
    broken: bool = False
    past: list[Event] = field(default_factory=list)

    def replay(self, event: Event) -> str | None:
        """Applies an event; says what of it cannot be derived from the events before it, None if all can."""
        try:
            wrong = self._decision_error(event) or self._restating_error(event)
            if wrong is None:
                if event.kind in ("session", "outcome"):
                    self.past.append(event)
                self.history = apply_event(self.history, event, self.releases)
                _EXPECTED[event.kind](event, self.expected)
        except BrokenRecord as finding:
            wrong = str(finding)
        except (InputError, KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            wrong = f"cannot be read ({error!r})"
        self.broken = self.broken or wrong is not None
        return wrong

    def _decision_error(self, event: Event) -> str | None:
        """What of a decision's gate and certificate cannot be derived again."""
        if event.kind not in ("decision", "override"):
            return None
        content = event.content
        release = self.releases.get(content["release"])
        if self.history is None or release is None:
            return "is about a learner, or by a release, that is not on record"
        certificate = content["certificate"]
        if (certificate["by"] == "teacher") is not (event.kind == "override"):
            return f"is a {event.kind} by {certificate['by']!r}"
        return recheck(release, self.history.state, content["concept"], content["activity"], certificate)

    def _restating_error(self, event: Event) -> str | None:
        """What of a restated mastery cannot be derived again from the answers."""
        if "restated" not in event.content:
            return None
        derived = restated_mastery(self.past, self.releases[event.content["release"]])
        said = np.array(event.content["restated"], np.float64)
        same = said.shape == derived.shape and bool(np.all(np.abs(said - derived) <= TOLERANCE))
        return None if same else "restates a mastery that does not follow from the answers"


# ---- what each kind of event says of the other tables


def _on_learner(event: Event, expected: ExpectedRows) -> None:
    expected.registered[event.learner] = event.tenant, event.at
    _on_labels(event, expected)


def _on_labels(event: Event, expected: ExpectedRows) -> None:
    if "who" in event.content:  # old records do not commit to names
        expected.identities[event.learner] = event.content["who"]


def _on_session(event: Event, expected: ExpectedRows) -> None:
    session = event.content["session"]
    if event.content["change"] == "ended":
        ended = expected.sessions[session]._replace(ended=event.at, cause=event.content["cause"])
        expected.sessions[session] = ended
    elif session in expected.sessions:
        raise BrokenRecord(f"begins the session {session} once more")
    else:
        expected.sessions[session] = SessionRow(session, event.tenant, event.learner, event.at)


def _on_decision(event: Event, expected: ExpectedRows) -> None:
    decision = event.content["decision"]
    if decision in expected.decisions:
        raise BrokenRecord(f"takes the decision {decision} once more")
    expected.decisions[decision] = DecisionRow.of_event(event)
    if event.kind == "override":
        expected.words[event.number] = (event.learner, event.content["words"])


def _on_outcome(event: Event, expected: ExpectedRows) -> None:
    content = event.content
    decision = expected.decisions.get(content["decision"])
    if decision is None:
        raise BrokenRecord("reports on a decision that is not on record")
    if decision.outcome is not None:
        raise BrokenRecord(f"reports once more on a decision that event {decision.outcome} has reported on")
    if (decision.concept, decision.activity) != (content["concept"], content["activity"]):
        raise BrokenRecord("is about another activity than was decided")
    reported = decision._replace(outcome=event.number, statement=content.get("statement"))
    expected.decisions[decision.id] = reported


def _on_erasure(event: Event, expected: ExpectedRows) -> None:
    expected.erased[event.learner] = event.at, event.number


_EXPECTED: dict[str, Callable[[Event, ExpectedRows], None]] = {
    "learner": _on_learner,
    "labels": _on_labels,
    "session": _on_session,
    "decision": _on_decision,
    "override": _on_decision,
    "outcome": _on_outcome,
    "erasure": _on_erasure,
}
