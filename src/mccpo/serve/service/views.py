"""Events as answers."""

from __future__ import annotations

from mccpo.serve.record.chain import Event, told
from mccpo.serve.record.rows import Note, Sitting
from mccpo.serve.service.messages import DecisionView, OutcomeView, SessionView


def decision_view(
    event: Event,
    *,
    again: bool = False,
    outcome: Event | None = None,
    note: Note | None = None,
    shadow: bool = False,
) -> DecisionView:
    """A decision as its event tells it; a teacher's reason comes from the note, as long as there is one.

    With `shadow` it says what the release that looks on would have done, which is for those who audit alone.
    """
    content, certificate = event.content, event.content["certificate"]
    return DecisionView(
        id=content["decision"],
        number=event.number,
        learner=event.learner,
        session=content["session"],
        at=told(event.at),
        concept=content["concept"],
        activity=content["activity"],
        by=certificate["by"],
        reason=certificate["reason"] if note is None else note.reason,
        propensity=certificate["propensity"],
        release=content["release"],
        certificate=certificate,
        again=again,
        outcome=None if outcome is None else {**outcome.content, "number": outcome.number, "at": told(outcome.at)},
        teacher=None if note is None else note.teacher,
        key=content.get("key"),
        supersedes=content.get("supersedes"),
        shadow=content.get("shadow") if shadow else None,
    )


def outcome_view(event: Event, *, again: bool = False) -> OutcomeView:
    """An outcome as its event tells it."""
    given = {name: value for name, value in event.content.items() if name not in ("activity", "statement", "key")}
    return OutcomeView(number=event.number, learner=event.learner, at=told(event.at), again=again, **given)


def session_view(sitting: Sitting) -> SessionView:
    ended = None if sitting.ended is None else told(sitting.ended)
    return SessionView(sitting.id, sitting.learner, told(sitting.began), ended, sitting.cause)  # type: ignore[arg-type]
