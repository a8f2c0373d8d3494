"""Repeats answers for their idempotency keys, rebuilt from the record.

What is stored under a key is the number of the answer's event, and whether the answer repeated an earlier one.
Everything else is in the event, or in the request, which is the same. So no word about a learner is stored twice, and
tampering with a stored reply cannot make the service say what never happened.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from mccpo.serve.problems import Unavailable
from mccpo.serve.record.chain import Event, rfc3339
from mccpo.serve.record.reply_reference import ReplyReference
from mccpo.serve.record.rows import NoteRow, ReplyRow, SessionRow
from mccpo.serve.service import messages as msg
from mccpo.serve.service.unit_of_work import RequestWork
from mccpo.serve.service.views import decision_view, learner_view, outcome_view, session_view


def reply_reference(answer: msg.Answer) -> ReplyReference:
    """What to store of an answer that a request has just produced."""
    if isinstance(answer, msg.LearnerView):
        return ReplyReference(answer.number, not answer.new)
    if isinstance(answer, msg.SessionView):
        return ReplyReference(answer.number, False)
    return ReplyReference(answer.number, not isinstance(answer, msg.ErasureView) and answer.again)


def rebuild_answer(request: Any, reply: ReplyRow, work: RequestWork) -> msg.Answer:
    """The answer to a request that was carried out before."""
    try:
        reference = ReplyReference.parse(reply.answer)
        event = None if reference.number is None else work.unit.events[reference.number]
        if event is not None and (event.tenant, event.learner) != (work.tenant, reply.learner):
            raise ValueError("is about somebody else")
        return _rebuild(request, event, reference.again, work)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise Unavailable("what is kept under this idempotency key is damaged; `mccpo verify` says more") from error


@singledispatch
def _rebuild(request: Any, event: Event | None, again: bool, work: RequestWork) -> msg.Answer:  # noqa: ARG001
    raise TypeError(f"no request that is kept: {request!r}")


@_rebuild.register
def _(request: msg.Register, event: Event | None, again: bool, work: RequestWork) -> msg.LearnerView:
    identity = work.unit.learner_named(work.tenant, request.name)
    if identity is None:
        raise LookupError(request.name)
    return learner_view(identity._replace(labels=request.labels), event, new=not again)


@_rebuild.register
def _(request: msg.BeginSession, event: Event, again: bool, work: RequestWork) -> msg.SessionView:  # noqa: ARG001
    _check_event(event, "session", learner=request.learner)
    return session_view(SessionRow(event.content["session"], event.tenant, event.learner, event.at), event)


@_rebuild.register
def _(request: msg.EndSession, event: Event | None, again: bool, work: RequestWork) -> msg.SessionView:  # noqa: ARG001
    return session_view(work.unit.sessions[request.session], event)


@_rebuild.register
def _(request: msg.Next, event: Event, again: bool, work: RequestWork) -> msg.DecisionView:  # noqa: ARG001
    _check_event(event, "decision", "override", learner=request.learner)
    return decision_view(event, again=again)


@_rebuild.register
def _(request: msg.Override, event: Event, again: bool, work: RequestWork) -> msg.DecisionView:  # noqa: ARG001
    _check_event(event, "override", learner=request.learner)
    note = NoteRow(event.number, event.learner, request.teacher, request.reason, salt="")
    return decision_view(event, again=again, note=note)


@_rebuild.register
def _(request: msg.Outcome, event: Event, again: bool, work: RequestWork) -> msg.OutcomeView:  # noqa: ARG001
    _check_event(event, "outcome", learner=event.learner)
    if event.content["decision"] != request.decision:
        raise ValueError("is the outcome of another decision")
    return outcome_view(event, again=again)


@_rebuild.register
def _(request: msg.Erase, event: Event, again: bool, work: RequestWork) -> msg.ErasureView:  # noqa: ARG001
    _check_event(event, "erasure", learner=request.learner)
    return msg.ErasureView(event.learner, event.number, rfc3339(event.at), event.content["cause"], event.hash)


def _check_event(event: Event, *kinds: str, learner: str) -> None:
    if event.kind not in kinds or event.learner != learner:
        raise ValueError("is another event than was answered")
