"""What each request does, worked out in memory: it reads the unit of work, records events, and answers.

A request about a learner without a session, or with one that timed out, begins a session first. Two requests for the
next activity of one learner get the same decision until its outcome is reported, a teacher overrides it, the session
ends, or its concept is no longer ready. The current gate applies to every answer, whether it is new or repeated.
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from functools import singledispatch
from typing import Any

from mccpo.errors import InputError
from mccpo.serve.policy import gate
from mccpo.serve.policy.decision import Decision, Refusal
from mccpo.serve.policy.decision import override as override_decision
from mccpo.serve.policy.learner_state import mastery
from mccpo.serve.problems import Conflict, Missing, Unavailable, Unprocessable
from mccpo.serve.record.chain import Event, commitment, new_id, rfc3339
from mccpo.serve.record.learner_history import LearnerHistory, open_decision_concept
from mccpo.serve.record.rows import DecisionRow, Identity, NoteRow, normal_name
from mccpo.serve.service import messages as msg
from mccpo.serve.service.outcomes import record_outcome
from mccpo.serve.service.sessions import Lapse, begin_session, end_if_timed_out, end_session, in_session
from mccpo.serve.service.unit_of_work import RequestWork
from mccpo.serve.service.views import decision_view, learner_view, session_view

Request = Lapse | msg.Register | msg.BeginSession | msg.EndSession | msg.Next | msg.Outcome | msg.Override | msg.Erase


@singledispatch
def perform(request: Any, work: RequestWork) -> msg.Answer | None:  # noqa: ARG001 - the registered ones use it
    """Carries out a request on its own work; raises `Problem` if it is refused."""
    raise TypeError(f"no request: {request!r}")


@perform.register
def _(request: msg.Register, work: RequestWork) -> msg.LearnerView:
    labels = dict(request.labels)
    identity = work.unit.learner_named(work.tenant, request.name)
    if identity is None:
        name = normal_name(request.name)
        identity = Identity(new_id("lrn"), work.tenant, name, labels, 0, salt=secrets.token_hex(16))
        content = {"release": work.unit.live.current.version, "who": identity.commitment}
        event = work.append("learner", identity.id, content)
        work.write("identities", identity.id, identity._replace(registered=event.at))
        return learner_view(identity._replace(registered=event.at), event, new=True)
    labelled = None
    if identity.labels != labels:
        identity = identity._replace(labels=labels, salt=secrets.token_hex(16))
        labelled = work.append("labels", work.history(identity.id).learner, {"who": identity.commitment})
        work.write("identities", identity.id, identity)
    return learner_view(identity, labelled)


@perform.register
def _(request: msg.BeginSession, work: RequestWork) -> msg.SessionView:
    history = work.history(request.learner)
    if history.session is not None:
        end_session(work, history, "next")
    session = begin_session(work, work.history(request.learner))
    return session_view(session, work.recorded[-1].event)


@perform.register
def _(request: msg.EndSession, work: RequestWork) -> msg.SessionView:
    session = work.unit.sessions.get(request.session)
    if session is None or session.tenant != work.tenant:
        raise Missing(f"there is no session {request.session}")
    history = work.history(session.learner)
    if history.session != session.id:  # it has ended: asking again changes nothing
        return session_view(session)
    return session_view(end_session(work, history, "asked"), work.recorded[-1].event)


@perform.register
def _(request: msg.Next, work: RequestWork) -> msg.DecisionView:
    history = in_session(work, request.learner)
    if _waits(work, history):
        open_event = _open_decision_event(work, history)
        if open_event is None:
            raise Unavailable(f"what is kept of {history.decision} is damaged; `mccpo verify` says more")
        return decision_view(open_event, again=True)
    try:
        drawn = work.unit.decided(history)
    except Refusal as error:
        raise Unavailable(f"no decision can be taken: {error}") from error
    content = _decision_content(history, drawn.decision) | {"redraw": history.draws}
    if history.decision is not None:  # it is open, and its concept is no longer ready
        content["supersedes"] = history.decision
    if drawn.shadow is not None:
        content["shadow"] = drawn.shadow
    event = work.append("decision", history.learner, content)
    work.write("decisions", content["decision"], DecisionRow.of_event(event))
    return decision_view(event)


def draft_decision(request: msg.Next, work: RequestWork) -> None:
    """Works out what the answer to a request will be if nothing changes until it is carried out; `work` is dropped."""
    history = in_session(work, request.learner)
    if not _waits(work, history):
        with suppress(Refusal):
            work.unit.drafts[history.learner] = work.unit.decided(history)


def _waits(work: RequestWork, history: LearnerHistory) -> bool:
    """Whether a decision waits for its outcome whose concept is still ready."""
    return history.decision is not None and _ready(
        work, history, open_decision_concept(history, work.unit.live.current)
    )


@perform.register
def _(request: msg.Override, work: RequestWork) -> msg.DecisionView:
    history = in_session(work, request.learner)
    try:
        decision = override_decision(work.unit.live.current, history.state, request.concept, request.activity)
    except (Refusal, InputError) as error:
        raise Unprocessable(str(error)) from error
    repeated = _repeated_override(request, decision, history, work)
    if repeated is not None:
        return repeated
    salt = secrets.token_hex(16)
    words = commitment(salt, request.teacher, request.reason)
    content = _decision_content(history, decision) | {"supersedes": history.decision, "words": words}
    event = work.append("override", history.learner, content)
    work.write("decisions", content["decision"], DecisionRow.of_event(event))
    note = NoteRow(event.number, history.learner, request.teacher, request.reason, salt)
    work.write("notes", event.number, note)
    return decision_view(event, note=note)


@perform.register
def _(request: msg.Outcome, work: RequestWork) -> msg.OutcomeView:
    return record_outcome(request, work)


@perform.register
def _(request: Lapse, work: RequestWork) -> msg.SessionView | None:
    session = end_if_timed_out(work, request.learner)
    return None if session is None else session_view(session)


@perform.register
def _(request: msg.Erase, work: RequestWork) -> msg.ErasureView | None:
    history = work.history(request.learner)
    if request.cause == "retention" and not _retention_expired(history, work):  # active again since it was listed
        return None
    if history.session is not None:
        end_session(work, history, "erased")
    event = work.append("erasure", history.learner, {"cause": request.cause})
    identity = work.unit.identities[history.learner]
    work.write("identities", identity.id, identity._replace(name=None, labels=None, salt=None, erased=event.at))
    work.erased.append(history.learner)
    return msg.ErasureView(history.learner, event.number, rfc3339(event.at), request.cause, event.hash)


def check_still_ready(answer: msg.Answer, work: RequestWork) -> None:
    """Refuses to repeat an answer whose concept is no longer ready."""
    if isinstance(answer, msg.DecisionView) and not _ready(work, work.history(answer.learner), answer.concept):
        raise Conflict(
            f"the learner is not ready for {answer.concept!r} any more, which this idempotency key was answered; "
            "ask again without it, or with another"
        )


def _ready(work: RequestWork, history: LearnerHistory, concept: str) -> bool:
    """Whether the gate of the current release lets a concept through, by what is known now."""
    release = work.unit.live.current
    known = mastery(release, work.unit.terms.known_now(history, release, work.now).state)
    return gate.holds(release.prerequisites, release.opening, known, concept)


def _open_decision_event(work: RequestWork, history: LearnerHistory) -> Event | None:
    """The event of the decision that waits for its outcome; None if there is none, or it cannot be read."""
    decision = work.unit.decisions.get(history.decision or "")
    return None if decision is None else work.unit.events.get(decision.number)


def _repeated_override(
    request: msg.Override, decision: Decision, history: LearnerHistory, work: RequestWork
) -> msg.DecisionView | None:
    """The open override, if the same teacher asks for the same in the same words; else None."""
    event = _open_decision_event(work, history)
    note = None if event is None else work.unit.notes.get(event.number)
    if event is None or note is None or (note.teacher, note.reason) != (request.teacher, request.reason):
        return None
    asked = {"concept": decision.concept, "activity": decision.activity, "key": request.key}
    same = asked == {name: event.content.get(name) for name in asked}
    return decision_view(event, again=True, note=note) if same else None


def _retention_expired(history: LearnerHistory, work: RequestWork) -> bool:
    """Whether a learner has made no request for as long as identities are retained."""
    retention = work.unit.terms.retention_seconds
    return retention is not None and work.now - history.active > retention * 1000


def _decision_content(history: LearnerHistory, decision: Decision) -> dict[str, Any]:
    return {
        "decision": new_id("dec"),
        "session": history.session,
        "release": decision.certificate["release"],
        "concept": decision.concept,
        "activity": decision.activity,
        "certificate": decision.certificate,
    }
