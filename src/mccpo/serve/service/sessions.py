"""How sessions begin and end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mccpo.serve.record.chain import new_id
from mccpo.serve.record.learner_history import LearnerHistory, away_seconds, restated_mastery
from mccpo.serve.record.rows import SessionRow
from mccpo.serve.service.unit_of_work import RequestWork


@dataclass(frozen=True, slots=True)
class Lapse:
    """Ends the session of a learner if it has timed out; the service asks this of itself."""

    learner: str


def begin_session(work: RequestWork, history: LearnerHistory) -> SessionRow:
    """Records the begin of a session."""
    id = new_id("ses")
    content: dict[str, Any] = {
        "session": id,
        "change": "began",
        "release": work.unit.live.current.version,
        "away": away_seconds(history, work.now),
        "forgetting": work.unit.terms.forgetting,
    }
    if work.restates(history):
        content["restated"] = restated_mastery(work.past(history.learner), work.unit.live.current).tolist()
    event = work.append("session", history.learner, content)
    session = SessionRow(id, work.tenant, history.learner, event.at)
    work.write("sessions", session.id, session)
    return session


def end_session(work: RequestWork, history: LearnerHistory, cause: str) -> SessionRow:
    """Records the end of the open session; one that has timed out ends as `timeout`, whatever the `cause`."""
    cause = "timeout" if cause in ("asked", "next") and timed_out(work, history) else cause
    content = {"session": history.session, "change": "ended", "cause": cause}
    event = work.append("session", history.learner, content)
    session = SessionRow(str(history.session), work.tenant, history.learner, history.began, event.at, cause)
    work.write("sessions", session.id, session)
    return session


def timed_out(work: RequestWork, history: LearnerHistory) -> bool:
    """Whether the learner has made no request for so long that the session is over."""
    return work.unit.terms.session_expired(history, work.now)


def end_if_timed_out(work: RequestWork, learner: str) -> SessionRow | None:
    """Ends the learner's session if it has timed out."""
    history = work.history(learner)
    if history.session is None or not timed_out(work, history):
        return None
    return end_session(work, history, "timeout")


def in_session(work: RequestWork, learner: str) -> LearnerHistory:
    """The history of a learner with an open session; begins one if there is none.

    A session under a release with other parameters ends: the next begins with mastery as they have it.
    """
    end_if_timed_out(work, learner)
    if work.history(learner).session is not None and work.restates(work.history(learner)):
        end_session(work, work.history(learner), "release")
    if work.history(learner).session is None:
        begin_session(work, work.history(learner))
    return work.history(learner)
