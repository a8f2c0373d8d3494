"""Turns events and rows into answers."""

from __future__ import annotations

from typing import Any

from mccpo.serve.record.chain import Event, outcome_fields, rfc3339
from mccpo.serve.record.rows import Identity, NoteRow, SessionRow
from mccpo.serve.service.messages import DecisionView, LearnerView, OutcomeView, SessionView


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
        outcome=None if outcome is None else _told_outcome(outcome),
        teacher=None if note is None else note.teacher,
        key=content.get("key"),
        supersedes=content.get("supersedes"),
        redraw=content.get("redraw"),
        shadow=content.get("shadow") if shadow else None,
        hash=event.hash,
    )


def learner_view(identity: Identity, event: Event | None = None, *, new: bool = False) -> LearnerView:
    """A learner, and the event by which they were registered or labelled just now, if they were."""
    number, hash = (None, None) if event is None else (event.number, event.hash)
    name, labels, registered = identity.name or "", identity.labels or {}, rfc3339(identity.registered)
    return LearnerView(identity.id, name, labels, registered, new, number, hash)


def _told_outcome(event: Event) -> dict[str, Any]:
    return {**event.content, "number": event.number, "at": rfc3339(event.at), "hash": event.hash}


def outcome_view(event: Event, *, again: bool = False) -> OutcomeView:
    """The outcome of an event."""
    return OutcomeView(**outcome_fields(event), again=again, hash=event.hash)


def session_view(session: SessionRow, event: Event | None = None) -> SessionView:
    """A session, and the event by which it was begun or ended just now, if it was."""
    ended = None if session.ended is None else rfc3339(session.ended)
    number, hash = (None, None) if event is None else (event.number, event.hash)
    began = rfc3339(session.began)
    return SessionView(session.id, session.learner, began, ended, session.cause, number, hash)  # type: ignore[arg-type]
