"""What an outcome does: whether it is well formed, whether it counts, and what mastery becomes."""

from __future__ import annotations

import math
from typing import Any

from mccpo.serve.policy.learner_state import after_outcome
from mccpo.serve.problems import Conflict, Missing, Unprocessable
from mccpo.serve.record.chain import Event
from mccpo.serve.record.learner_history import LearnerHistory, away_seconds, mastery_of
from mccpo.serve.record.rows import DecisionRow
from mccpo.serve.service.messages import Outcome, OutcomeView
from mccpo.serve.service.sessions import end_if_timed_out
from mccpo.serve.service.unit_of_work import RequestWork
from mccpo.serve.service.views import outcome_view


def record_outcome(request: Outcome, work: RequestWork) -> OutcomeView:
    """Records an outcome; repeats the answer if the same one is on record."""
    _check_form(request)
    decision = work.unit.decisions.get(request.decision)
    if decision is None or decision.tenant != work.tenant:
        raise Missing(f"there is no decision {request.decision}")
    _check_statement(request, work)
    work.history(decision.learner)  # who is erased or damaged is refused
    if decision.outcome is not None:
        return _repeat(request, work.unit.events[decision.outcome])
    end_if_timed_out(work, decision.learner)
    content = _content(request, decision, work.history(decision.learner), work)
    event = work.append("outcome", decision.learner, content)
    work.write("decisions", decision.id, decision._replace(outcome=event.number, statement=request.statement))
    return outcome_view(event)


def _check_form(request: Outcome) -> None:
    if not isinstance(request.correct, bool):
        raise Unprocessable("correct is true or false")
    if request.hints is not None and (isinstance(request.hints, bool) or not 0 <= request.hints < 2**31):
        raise Unprocessable("hints is a number of at least 0")
    if request.seconds is not None and not (math.isfinite(request.seconds) and request.seconds >= 0):
        raise Unprocessable("seconds is a finite number of at least 0")


def _check_statement(request: Outcome, work: RequestWork) -> None:
    """Refuses an xAPI statement that has reported the outcome of another decision: one statement counts once."""
    if request.statement is None:
        return
    reported = work.unit.statements.get((work.tenant, request.statement), request.decision)
    if reported != request.decision:
        raise Conflict(f"the statement {request.statement} has reported the outcome of {reported}; it counts once")


def _content(request: Outcome, decision: DecisionRow, history: LearnerHistory, work: RequestWork) -> dict[str, Any]:
    """The content of the event: what was reported, whether it counts, and the mastery before and after."""
    release, terms = work.unit.releases[history.release], work.unit.terms
    late = work.now - decision.at > terms.late_seconds * 1000
    known = terms.known_now(history, release, work.now)
    before = mastery_of(known, release, decision.concept)
    after = before
    if not late:
        updated = after_outcome(release, known.state, decision.concept, request.correct, decision.activity)
        after = float(updated.K[release.curriculum.index(decision.concept)])
    return ({} if request.statement is None else {"statement": request.statement}) | {
        "decision": decision.id,
        "concept": decision.concept,
        "activity": decision.activity,
        "correct": request.correct,
        "hints": request.hints,
        "seconds": None if request.seconds is None else float(request.seconds),
        "counted": not late,
        "late": late,
        "before": before,
        "after": after,
        "away": away_seconds(history, work.now),
        "forgetting": terms.forgetting,
    }


def _repeat(request: Outcome, event: Event) -> OutcomeView:
    recorded = event.content
    same = (recorded["correct"], recorded["hints"]) == (request.correct, request.hints)
    if not same or not _same_seconds(request, recorded["seconds"]):
        raise Conflict(f"another outcome of {request.decision} is on record, and outcomes are not changed")
    return outcome_view(event, again=True)


def _same_seconds(request: Outcome, recorded: float | None) -> bool:
    """Whether an outcome took as long as the recorded one; xAPI compares durations to a hundredth."""
    if request.statement is None or request.seconds is None or recorded is None:
        return request.seconds == recorded
    return abs(request.seconds - recorded) < 0.01
