"""Answers that are given again for their idempotency keys: rebuilt from the record, so that nothing else need be kept.

What is kept under a key is the number of the event that the answer tells, and whether it repeated an earlier one. All
else is in the event, or in the request, which is the same: no word about a learner is kept twice, and whoever changes
what is kept cannot make the service say what never happened.
"""

from __future__ import annotations

import json
from functools import singledispatch
from typing import Any, NamedTuple

from mccpo.serve.record.chain import Event, canonical, told
from mccpo.serve.record.rows import Note, Reply
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
from mccpo.serve.service.problems import Unavailable
from mccpo.serve.service.unit_of_work import Work
from mccpo.serve.service.views import decision_view, outcome_view, session_view


class Reference(NamedTuple):
    """What is kept of an answer: the number of its event, if it has one, and whether it repeated an earlier answer."""

    number: int | None
    again: bool

    def __str__(self) -> str:
        return canonical(self._asdict())


def reference(answer: Answer, work: Work) -> Reference:
    """What to keep of an answer that a work has just come to."""
    if isinstance(answer, LearnerView):
        return Reference(None, not answer.new)
    if isinstance(answer, SessionView):
        return Reference(None if answer.ended else work.happened[-1].event.number, False)
    return Reference(answer.number, not isinstance(answer, ErasureView) and answer.again)


def reference_of(text: str) -> Reference:
    """What was kept; ValueError where it is nothing that `reference` could have been."""
    content = json.loads(text)
    if not isinstance(content, dict) or content.keys() != set(Reference._fields):
        raise ValueError("is not in the form of a reply")
    found = Reference(**content)
    if type(found.number) not in (int, type(None)) or type(found.again) is not bool:
        raise ValueError("is not in the form of a reply")
    return found


def retold(request: Any, kept: Reply, work: Work) -> Answer:
    """The answer to a request that was carried out before."""
    try:
        found = reference_of(kept.answer)
        event = None if found.number is None else work.desk.events[found.number]
        if event is not None and (event.tenant, event.learner) != (work.tenant, kept.learner):
            raise ValueError("is about somebody else")
        return _retold(request, event, found.again, work)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise Unavailable("what is kept under this idempotency key is damaged; `mccpo verify` says more") from error


@singledispatch
def _retold(request: Any, event: Event | None, again: bool, work: Work) -> Answer:  # noqa: ARG001
    raise TypeError(f"no request that is kept: {request!r}")


@_retold.register
def _(request: Register, event: Event | None, again: bool, work: Work) -> LearnerView:  # noqa: ARG001
    known = work.desk.named(work.tenant, request.name)
    if known is None:
        raise LookupError(request.name)
    return LearnerView(known.id, request.name, dict(request.labels), told(known.registered), new=not again)


@_retold.register
def _(request: BeginSession, event: Event, again: bool, work: Work) -> SessionView:  # noqa: ARG001
    _check(event, "session", learner=request.learner)
    return SessionView(event.content["session"], event.learner, told(event.at))


@_retold.register
def _(request: EndSession, event: Event | None, again: bool, work: Work) -> SessionView:  # noqa: ARG001
    return session_view(work.desk.sessions[request.session])


@_retold.register
def _(request: Next, event: Event, again: bool, work: Work) -> DecisionView:  # noqa: ARG001
    _check(event, "decision", "override", learner=request.learner)
    return decision_view(event, again=again)


@_retold.register
def _(request: Override, event: Event, again: bool, work: Work) -> DecisionView:  # noqa: ARG001
    _check(event, "override", learner=request.learner)
    note = Note(event.number, event.learner, request.teacher, request.reason, salt="")
    return decision_view(event, again=again, note=note)


@_retold.register
def _(request: Outcome, event: Event, again: bool, work: Work) -> OutcomeView:  # noqa: ARG001
    _check(event, "outcome", learner=event.learner)
    if event.content["decision"] != request.decision:
        raise ValueError("is the outcome of another decision")
    return outcome_view(event, again=again)


@_retold.register
def _(request: Erase, event: Event, again: bool, work: Work) -> ErasureView:  # noqa: ARG001
    _check(event, "erasure", learner=request.learner)
    return ErasureView(event.learner, event.number, told(event.at), event.content["cause"])


def _check(event: Event, *kinds: str, learner: str) -> None:
    if event.kind not in kinds or event.learner != learner:
        raise ValueError("is another event than was told")
