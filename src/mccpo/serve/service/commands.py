"""What each request does, worked out in memory: it looks at the desk, puts events on record, and answers.

A request for a learner who has no session, or one that was left for too long, begins a session first. Two requests for
the next activity of one learner get the same decision, until its outcome is reported, a teacher overrides it, the
session ends, or its concept is no longer ready: nothing is served, for the first time or again, that the gate of now
keeps shut.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from mccpo.errors import InputError
from mccpo.serve.policy import gate
from mccpo.serve.policy.decision import Decision, Refusal, decide
from mccpo.serve.policy.decision import override as overridden
from mccpo.serve.policy.releases import look_on
from mccpo.serve.record.chain import Event, commitment, new_id, told
from mccpo.serve.record.learner_history import Course, decision_concept, mastery_of
from mccpo.serve.record.learner_state import learnt, mastery
from mccpo.serve.record.rows import Decided, Identity, Note, Sitting
from mccpo.serve.service.messages import (
    Answer,
    BeginSession,
    DecisionView,
    EndSession,
    Erase,
    ErasureView,
    LearnerView,
    Next,
    Outcome,
    OutcomeView,
    Override,
    Register,
    SessionView,
)
from mccpo.serve.service.problems import Conflict, Missing, Unavailable, Unprocessable
from mccpo.serve.service.unit_of_work import Work
from mccpo.serve.service.views import decision_view, outcome_view, session_view


@dataclass(frozen=True, slots=True)
class Lapse:
    """Ends the session of a learner, if it has been left for too long; the service asks this of itself."""

    learner: str


Request = Lapse | Register | BeginSession | EndSession | Next | Outcome | Override | Erase


@singledispatch
def perform(request: Any, work: Work) -> Answer | None:  # noqa: ARG001 - those that are registered use it
    """Carries out a request on a work of its own; raises `Problem` where it is refused."""
    raise TypeError(f"no request: {request!r}")


@perform.register
def _(request: Register, work: Work) -> LearnerView:
    labels = dict(request.labels)
    known = work.desk.named(work.tenant, request.name)
    if known is None:
        known = Identity(new_id("lrn"), work.tenant, request.name, labels, 0, salt=secrets.token_hex(16))
        event = work.append("learner", known.id, {"release": work.desk.live.current.version, "who": known.seal})
        work.write("identities", known.id, known._replace(registered=event.at))
        return LearnerView(known.id, request.name, labels, told(event.at), new=True)
    if known.labels != labels:
        known = known._replace(labels=labels, salt=secrets.token_hex(16))
        work.append("labels", work.course(known.id).learner, {"who": known.seal})
        work.write("identities", known.id, known)
    return LearnerView(known.id, request.name, labels, told(known.registered))


@perform.register
def _(request: BeginSession, work: Work) -> SessionView:
    course = work.course(request.learner)
    if course.session is not None:
        _end(work, course, "timeout" if _over(course, work) else "next")
    return session_view(_begin(work, work.course(request.learner)))


@perform.register
def _(request: EndSession, work: Work) -> SessionView:
    sitting = work.desk.sessions.get(request.session)
    if sitting is None or sitting.tenant != work.tenant:
        raise Missing(f"there is no session {request.session}")
    course = work.course(sitting.learner)
    if course.session != sitting.id:  # it has ended: asking again changes nothing
        return session_view(sitting)
    return session_view(_end(work, course, "timeout" if _over(course, work) else "asked"))


@perform.register
def _(request: Next, work: Work) -> DecisionView:
    course = _present(work, request.learner)
    if course.decision is not None and _ready(work, course, decision_concept(course, work.desk.live.current)):
        waiting = _open(work, course)
        if waiting is None:
            raise Unavailable(f"what is kept of {course.decision} is damaged; `mccpo verify` says more")
        return decision_view(waiting, again=True)
    release, uniform = work.desk.live.current, work.desk.draw()
    try:
        chosen = decide(release, course.standing, uniform, timeout=work.desk.terms.decide_seconds)
    except Refusal as error:
        raise Unavailable(f"no decision can be taken: {error}") from error
    content = _content(course, chosen)
    if course.decision is not None:  # it was open, and is shut by now
        content["supersedes"] = course.decision
    shadow = work.desk.live.shadow_for(course.learner)
    if shadow is not None:
        content["shadow"] = look_on(shadow, course.standing, uniform, chosen, timeout=work.desk.terms.decide_seconds)
    return decision_view(_decided(work, work.append("decision", course.learner, content)))


@perform.register
def _(request: Override, work: Work) -> DecisionView:
    course = _present(work, request.learner)
    try:
        chosen = overridden(work.desk.live.current, course.standing, request.concept, request.activity)
    except (Refusal, InputError) as error:
        raise Unprocessable(str(error)) from error
    same = _same_override(request, chosen, course, work)
    if same is not None:
        return same
    salt = secrets.token_hex(16)
    words = commitment(salt, request.teacher, request.reason)
    content = _content(course, chosen) | {"supersedes": course.decision, "words": words, "key": request.key}
    event = _decided(work, work.append("override", course.learner, content))
    note = Note(event.number, course.learner, request.teacher, request.reason, salt)
    work.write("notes", event.number, note)
    return decision_view(event, note=note)


@perform.register
def _(request: Outcome, work: Work) -> OutcomeView:
    _check_outcome(request)
    decided = work.desk.decisions.get(request.decision)
    if decided is None or decided.tenant != work.tenant:
        raise Missing(f"there is no decision {request.decision}")
    _check_statement(request, work)
    course = work.course(decided.learner)
    if decided.outcome is not None:
        return _repeated(request, work.desk.events[decided.outcome])
    if course.session is not None and _over(course, work):
        _end(work, course, "timeout")
        course = work.course(decided.learner)
    event = work.append("outcome", decided.learner, _judged(request, decided, course, work))
    work.write("decisions", decided.id, decided._replace(outcome=event.number, statement=request.statement))
    return outcome_view(event)


@perform.register
def _(request: Lapse, work: Work) -> SessionView | None:
    course = work.course(request.learner)
    return session_view(_end(work, course, "timeout")) if course.session is not None and _over(course, work) else None


@perform.register
def _(request: Erase, work: Work) -> ErasureView | None:
    course = work.course(request.learner)
    if request.cause == "retention" and not _forgotten(course, work):  # who was listed may have come back since
        return None
    if course.session is not None:
        _end(work, course, "erased")
    event = work.append("erasure", course.learner, {"cause": request.cause, "key": request.key})
    identity = work.desk.identities[course.learner]
    work.write("identities", identity.id, identity._replace(name=None, labels=None, salt=None, erased=event.at))
    work.erased.append(course.learner)
    return ErasureView(course.learner, event.number, told(event.at), request.cause)


def check_again(answer: Answer, work: Work) -> None:
    """Refuses to give an answer once more that names a concept which is no longer ready."""
    if isinstance(answer, DecisionView) and not _ready(work, work.course(answer.learner), answer.concept):
        raise Conflict(
            f"the learner is not ready for {answer.concept!r} any more, which this idempotency key was answered; "
            "ask again without it, or with another"
        )


def _present(work: Work, learner: str) -> Course:
    """The course of a learner within a session that is not over; one begins where there is none."""
    course = work.course(learner)
    if course.session is not None and not _over(course, work):
        return course
    if course.session is not None:
        _end(work, course, "timeout")
    _begin(work, work.course(learner))
    return work.course(learner)


def _ready(work: Work, course: Course, concept: str) -> bool:
    """Whether the gate of the release that decides now lets a concept through."""
    release = work.desk.live.current
    return gate.holds(release.prerequisites, release.theta, mastery(release, course.standing), concept)


def _open(work: Work, course: Course) -> Event | None:
    """The event of the decision that waits for its outcome; None where there is none, or it cannot be read."""
    decided = work.desk.decisions.get(course.decision or "")
    return None if decided is None else work.desk.events.get(decided.number)


def _same_override(request: Override, chosen: Decision, course: Course, work: Work) -> DecisionView | None:
    """The override that is open, where the same teacher asks for the same in the same words; else None."""
    event = _open(work, course)
    note = None if event is None else work.desk.notes.get(event.number)
    if event is None or note is None or (note.teacher, note.reason) != (request.teacher, request.reason):
        return None
    asked = {"concept": chosen.concept, "activity": chosen.activity, "key": request.key}
    alike = asked == {name: event.content.get(name) for name in asked}
    return decision_view(event, again=True, note=note) if alike else None


def _forgotten(course: Course, work: Work) -> bool:
    """Whether a learner was not heard of for as long as retention says."""
    kept = work.desk.terms.retention_seconds
    return kept is not None and work.now - course.active > kept * 1000


def _over(course: Course, work: Work) -> bool:
    return work.now - course.active > work.desk.terms.session_seconds * 1000


def _begin(work: Work, course: Course) -> Sitting:
    content = {
        "session": new_id("ses"),
        "change": "began",
        "release": work.desk.live.current.version,
        "away": (work.now - course.active) / 1000,
        "forgetting": work.desk.terms.forgetting,
    }
    event = work.append("session", course.learner, content)
    sitting = Sitting(content["session"], work.tenant, course.learner, event.at)  # type: ignore[arg-type]
    work.write("sessions", sitting.id, sitting)
    return sitting


def _end(work: Work, course: Course, cause: str) -> Sitting:
    event = work.append("session", course.learner, {"session": course.session, "change": "ended", "cause": cause})
    sitting = Sitting(str(course.session), work.tenant, course.learner, course.began, event.at, cause)
    work.write("sessions", sitting.id, sitting)
    return sitting


def _content(course: Course, chosen: Decision) -> dict[str, Any]:
    return {
        "decision": new_id("dec"),
        "session": course.session,
        "release": chosen.certificate["release"],
        "concept": chosen.concept,
        "activity": chosen.activity,
        "certificate": chosen.certificate,
    }


def _decided(work: Work, event: Event) -> Event:
    content = event.content
    decided = Decided(
        content["decision"], event.number, work.tenant, event.learner, event.at, content["concept"], content["activity"]
    )
    work.write("decisions", decided.id, decided)
    return event


def _check_outcome(request: Outcome) -> None:
    if not isinstance(request.correct, bool):
        raise Unprocessable("correct is true or false")
    if request.hints is not None and (isinstance(request.hints, bool) or not 0 <= request.hints < 2**31):
        raise Unprocessable("hints is a number of at least 0")
    if request.seconds is not None and not (math.isfinite(request.seconds) and request.seconds >= 0):
        raise Unprocessable("seconds is a finite number of at least 0")


def _check_statement(request: Outcome, work: Work) -> None:
    """Refuses a statement that has told of another decision: whoever sends one again means the same outcome."""
    if request.statement is None:
        return
    told_of = work.desk.statements.get((work.tenant, request.statement), request.decision)
    if told_of != request.decision:
        raise Conflict(f"the statement {request.statement} has reported the outcome of {told_of}; it counts once")


def _judged(request: Outcome, decided: Decided, course: Course, work: Work) -> dict[str, Any]:
    """What goes on record of an outcome: what was reported, whether it counts, and what mastery becomes of it."""
    release = work.desk.releases[course.release]
    late = work.now - decided.at > work.desk.terms.late_seconds * 1000
    before = mastery_of(course, release, decided.concept)
    after = before
    if not late:
        updated = learnt(release, course.standing, decided.concept, request.correct, decided.activity)
        after = float(updated.K[release.curriculum.index(decided.concept)])
    return ({} if request.statement is None else {"statement": request.statement}) | {
        "decision": decided.id,
        "concept": decided.concept,
        "activity": decided.activity,
        "correct": request.correct,
        "hints": request.hints,
        "seconds": None if request.seconds is None else float(request.seconds),
        "counted": not late,
        "late": late,
        "before": before,
        "after": after,
        "key": request.key,
    }


def _repeated(request: Outcome, event: Event) -> OutcomeView:
    known = event.content
    alike = (known["correct"], known["hints"]) == (request.correct, request.hints)
    if not alike or not _same_seconds(request, known["seconds"]):
        raise Conflict(f"another outcome of {request.decision} is on record, and outcomes are not changed")
    return outcome_view(event, again=True)


def _same_seconds(request: Outcome, known: float | None) -> bool:
    """Whether an outcome took as long as is on record; durations of xAPI are compared to a hundredth."""
    if request.statement is None or request.seconds is None or known is None:
        return request.seconds == known
    return abs(request.seconds - known) < 0.01
