"""All that the service knows of a learner, and how each event changes it.

`apply_event` is the only way in which a history changes, both when an event is written and when the record is replayed.
What is served is therefore what the events say. It depends on nothing but the event and the releases, so today's
settings cannot change what happened yesterday. All releases of one record have the same curriculum and activities.

Mastery and practice counts carry over from session to session. The clock t, the last action, the frontier and the open
decision start anew. Where a release with other parameters decides, mastery is restated: the session that begins under
it says what the answers so far mean by these parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from mccpo.serve.policy import gate, learner_state
from mccpo.serve.policy.learner_state import LearnerState
from mccpo.serve.policy.release import Release
from mccpo.serve.record.chain import BrokenRecord, Event


class LearnerHistory(NamedTuple):
    """A learner as of the last event about them.

    - `release`: the version that the state refers to; `state`: mastery, counts, and the clock of the session.
    - `session`: the open one; `began`: when the last one did.
    - `active`: when the learner was last heard of, which is when `state` was last known to be right. What was forgotten
      since then is not in it yet: `forgotten` says what is known later.
    - `decision`: the one of this session that waits for its outcome.
    - `draws`: the decisions that were drawn since the learner's last answer or a teacher's choice.
    """

    learner: str
    tenant: str
    release: str
    state: LearnerState
    session: str | None
    began: int
    active: int
    decision: str | None
    erased: bool = False
    draws: int = 0


def apply_event(history: LearnerHistory | None, event: Event, releases: Mapping[str, Release]) -> LearnerHistory:
    """The history after an event; `BrokenRecord` where the event cannot have happened to it."""
    content = event.content
    if event.kind == "learner":
        if history is not None:
            raise BrokenRecord("registers a learner who is registered")
        release = _release(releases, content["release"])
        return LearnerHistory(
            event.learner,
            event.tenant,
            release.version,
            learner_state.initial_state(release),
            None,
            event.at,
            event.at,
            None,
        )
    if history is None or history.erased:
        raise BrokenRecord("is about a learner who is not there")
    if history.tenant != event.tenant:
        raise BrokenRecord("is of another tenant than its learner")
    match event.kind:
        case "labels":
            return history
        case "session":
            return _session(history, event, releases)
        case "decision" | "override":
            return _decided(history, event, _release(releases, content["release"]))
        case "outcome":
            return _answered(history, event, _release(releases, history.release))
        case "erasure":
            return history._replace(session=None, decision=None, erased=True)
        case "release":
            raise BrokenRecord("is about a learner, and says which releases are live")


def needs_restating(history: LearnerHistory, release: Release, releases: Mapping[str, Release]) -> bool:
    """Whether a release believes other things of learners than the one that a history's mastery was estimated by."""
    before = None if history.release == release.version else releases.get(history.release)
    if before is None:
        return False
    return not all(map(np.array_equal, before.learner[:4], release.learner[:4]))  # K0, eta, guess and slip


def restated_mastery(past: Iterable[Event], release: Release) -> Float[np.ndarray, " concepts"]:
    """The mastery of a learner by a release's parameters, had it been there from the start.

    `past` are the learner's events in order: their sessions and outcomes count, as far as they did.
    """
    state = learner_state.initial_state(release)
    for event in past:
        content = event.content
        if event.kind == "session" and content["change"] == "began":
            state = learner_state.new_session(release, state, content["away"], content["forgetting"])
        elif event.kind == "outcome" and content["counted"]:
            state = learner_state.forget(release, state, content.get("away", 0.0), content.get("forgetting"))
            concept, activity = content["concept"], content["activity"]
            state = learner_state.after_outcome(release, state, concept, content["correct"], activity)
    return state.K


def same_history(first: LearnerHistory, second: LearnerHistory, tolerance: float = 1e-12) -> bool:
    """Whether two histories are equal, up to the last bits in which machines may differ."""
    a, b = first.state, second.state
    return (
        first._replace(state=b) == second._replace(state=b)
        and (a.t, a.last) == (b.t, b.last)
        and a.K.shape == b.K.shape
        and bool(np.all(np.abs(a.K - b.K) <= tolerance))  # false where one of them is NaN
        and np.array_equal(a.practised, b.practised)
        and (a.previous is b.previous or _equal(a.previous, b.previous))
    )


def _equal(first: np.ndarray | None, second: np.ndarray | None) -> bool:
    return first is not None and second is not None and np.array_equal(first, second)


def _session(history: LearnerHistory, event: Event, releases: Mapping[str, Release]) -> LearnerHistory:
    content = event.content
    if content["change"] == "ended":
        if history.session is None or content["session"] != history.session:
            raise BrokenRecord("ends a session that is not open")
        return history._replace(session=None, decision=None)
    if content["change"] != "began" or history.session is not None:
        raise BrokenRecord("begins a session while another is open")
    _check_away(history, event)
    release = _release(releases, content["release"])
    known = history.state
    if "restated" in content:
        known = known._replace(K=np.array(content["restated"], np.float64))
        if known.K.shape != history.state.K.shape:
            raise BrokenRecord("restates the mastery of another curriculum")
    state = learner_state.new_session(release, known, content["away"], content["forgetting"])
    return history._replace(
        release=release.version, state=state, session=content["session"], began=event.at, active=event.at
    )


def _decided(history: LearnerHistory, event: Event, release: Release) -> LearnerHistory:
    content = event.content
    if history.session is None or content["session"] != history.session:
        raise BrokenRecord("is taken outside the open session")
    _check_superseded(history, event, release)
    state = learner_state.after_decision(
        release, history.state, release.action(content["concept"], content["activity"])
    )
    return history._replace(
        release=release.version,
        state=state,
        decision=content["decision"],
        active=event.at,
        draws=_draws(history, event),
    )


def _draws(history: LearnerHistory, event: Event) -> int:
    """How many draws there were without an answer, this decision among them; events of old records do not say."""
    redraw = event.content.get("redraw")
    if event.kind == "override" or redraw is None:
        return 0
    if redraw != history.draws:
        raise BrokenRecord(f"says that {redraw} draws before it had no answer, and {history.draws} had none")
    return history.draws + 1


def _check_superseded(history: LearnerHistory, event: Event, release: Release) -> None:
    """That an open decision is given up only for a teacher's, or when its concept is no longer ready."""
    superseded = event.content.get("supersedes")
    if superseded != history.decision:
        raise BrokenRecord(f"supersedes {superseded} while {history.decision} is open")
    if event.kind == "override" or history.decision is None:
        return
    known = learner_state.mastery(release, history.state)
    if gate.holds(release.prerequisites, release.opening, known, open_decision_concept(history, release)):
        raise BrokenRecord(f"supersedes {history.decision}, which was ready and would have been served again")


def open_decision_concept(history: LearnerHistory, release: Release) -> str:
    """The concept of the decision that waits for its outcome, which is the last one taken."""
    if history.state.last is None:
        raise BrokenRecord("has an open decision, and none was taken")
    return release.actions[history.state.last][0]


def _answered(history: LearnerHistory, event: Event, release: Release) -> LearnerHistory:
    content = event.content
    concept = content["concept"]
    if content["counted"] is content["late"]:
        raise BrokenRecord("counts although it came too late, or does not although it did not")
    old = "away" not in content  # an outcome of an old record: it kept what is known from being forgotten
    if not old:
        _check_away(history, event)
    before = history if old else forgotten(history, release, content["away"], content["forgetting"])
    after = before
    if content["counted"]:
        state = learner_state.after_outcome(release, before.state, concept, content["correct"], content["activity"])
        after = before._replace(state=state)
    _check_mastery(concept, content["before"], mastery_of(before, release, concept))
    _check_mastery(concept, content["after"], mastery_of(after, release, concept))
    still_open = None if content["decision"] == history.decision else history.decision
    if not (old or content["counted"]):  # what does not count changes nothing of what is known, and since when
        return history._replace(decision=still_open)
    return after._replace(decision=still_open, active=event.at, draws=0)


def away_seconds(history: LearnerHistory, at: int) -> float:
    """The seconds by which a learner has been away from any session at a time; 0 in a session."""
    return 0.0 if history.session is not None else (at - history.active) / 1000


def forgotten(history: LearnerHistory, release: Release, away: float, forgetting: float | None) -> LearnerHistory:
    """A history after some seconds away."""
    return history._replace(state=learner_state.forget(release, history.state, away, forgetting))


def _check_away(history: LearnerHistory, event: Event) -> None:
    if event.content["away"] != away_seconds(history, event.at):
        raise BrokenRecord("counts another time away than that since the learner was last heard of")


def mastery_of(history: LearnerHistory, release: Release, concept: str) -> float:
    """The mastery of a concept, as of a history."""
    return float(history.state.K[release.curriculum.index(concept)])


def _check_mastery(concept: str, said: float, derived: float) -> None:
    if not abs(said - derived) <= 1e-12:
        raise BrokenRecord(f"says that the mastery of {concept!r} was {said}, and it was {derived}")


def _release(releases: Mapping[str, Release], version: str) -> Release:
    if version not in releases:
        raise BrokenRecord(f"refers to the release {version}, which is not on record")
    return releases[version]
