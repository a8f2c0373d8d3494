"""Turns events and rows into answers."""

from __future__ import annotations

from mccpo.serve.record.chain import Event, outcome_fields, rfc3339
from mccpo.serve.record.rows import NoteRow, SessionRow
from mccpo.serve.service.messages import DecisionView, OutcomeView, SessionView


def decision_view(
    event: Event,
    *,
    again: bool = False,
    outcome: Event | None = None,
    note: NoteRow | None = None,
    shadow: bool = False,
) -> DecisionView:
    """The decision of an event; a teacher's reason comes from the note, as long as there is one.

    With `shadow` it includes what the shadow release would have done, which only auditors may see.
    """
    content, certificate = event.content, event.content["certificate"]
    return DecisionView(
        id=content["decision"],
        number=event.number,
        learner=event.learner,
        session=content["session"],
        at=rfc3339(event.at),
        concept=content["concept"],
        activity=content["activity"],
        by=certificate["by"],
        reason=certificate["reason"] if note is None else note.reason,
        propensity=certificate["propensity"],
        release=content["release"],
        certificate=certificate,
        again=again,
        outcome=None if outcome is None else {**outcome.content, "number": outcome.number, "at": rfc3339(outcome.at)},
        teacher=None if note is None else note.teacher,
        key=content.get("key"),
        supersedes=content.get("supersedes"),
        shadow=content.get("shadow") if shadow else None,
    )


def outcome_view(event: Event, *, again: bool = False) -> OutcomeView:
    """The outcome of an event."""
    return OutcomeView(**outcome_fields(event), again=again)


def session_view(session: SessionRow) -> SessionView:
    ended = None if session.ended is None else rfc3339(session.ended)
    return SessionView(session.id, session.learner, rfc3339(session.began), ended, session.cause)  # type: ignore[arg-type]
