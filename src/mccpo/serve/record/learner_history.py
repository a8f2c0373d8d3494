"""The course of a learner: all that the service knows of one, and how each event changes it.

`follow` is the only way in which a course changes, when an event is written and when the record is replayed: what is
served is by construction what the events say. It takes nothing but the event and the releases, so that no setting of
today changes what happened yesterday. All releases of one record have the same curriculum and activities.

From session to session, mastery and the times each concept was practised are carried. The clock t, the last action, the
frontier and the open decision begin anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from mccpo.serve.policy import gate
from mccpo.serve.policy.release import Release
from mccpo.serve.record import learner_state as standings
from mccpo.serve.record.chain import Broken, Event
from mccpo.serve.record.learner_state import Standing


class Course(NamedTuple):
    """Where a learner is.

    - `release`: the version that the standing is told in; `standing`: mastery, counts, and the clock of the session.
    - `session`: the open one; `began`: when the last one did; `active`: when the learner was last heard of.
    - `decision`: the one of this session that waits for its outcome.
    """

    learner: str
    tenant: str
    release: str
    standing: Standing
    session: str | None
    began: int
    active: int
    decision: str | None
    erased: bool = False


def follow(course: Course | None, event: Event, releases: Mapping[str, Release]) -> Course:
    """The course after an event; `Broken` where the event cannot have happened to it."""
    content = event.content
    if event.kind == "learner":
        if course is not None:
            raise Broken("registers a learner who is registered")
        release = _release(releases, content["release"])
        return Course(
            event.learner, event.tenant, release.version, standings.begin(release), None, event.at, event.at, None
        )
    if course is None or course.erased:
        raise Broken("is about a learner who is not there")
    if course.tenant != event.tenant:
        raise Broken("is of another tenant than its learner")
    match event.kind:
        case "labels":
            return course
        case "session":
            return _session(course, event, releases)
        case "decision" | "override":
            return _decided(course, event, _release(releases, content["release"]))
        case "outcome":
            return _answered(course, event, _release(releases, course.release))
        case "erasure":
            return course._replace(session=None, decision=None, erased=True)


def same(one: Course, other: Course, tolerance: float = 1e-12) -> bool:
    """Whether two courses are equal, but for the last bits in which machines may differ."""
    a, b = one.standing, other.standing
    return (
        one._replace(standing=b) == other._replace(standing=b)
        and (a.t, a.last) == (b.t, b.last)
        and a.K.shape == b.K.shape
        and bool(np.all(np.abs(a.K - b.K) <= tolerance))  # not so where one is NaN
        and np.array_equal(a.practised, b.practised)
        and (a.previous is b.previous or _equal(a.previous, b.previous))
    )


def _equal(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    return one is not None and other is not None and np.array_equal(one, other)


def _session(course: Course, event: Event, releases: Mapping[str, Release]) -> Course:
    content = event.content
    if content["change"] == "ended":
        if course.session is None or content["session"] != course.session:
            raise Broken("ends a session that is not open")
        return course._replace(session=None, decision=None)
    if content["change"] != "began" or course.session is not None:
        raise Broken("begins a session while another is open")
    if content["away"] != (event.at - course.active) / 1000:
        raise Broken("counts another time away than that since the learner was last heard of")
    release = _release(releases, content["release"])
    standing = standings.renew(release, course.standing, content["away"], content["forgetting"])
    return course._replace(
        release=release.version, standing=standing, session=content["session"], began=event.at, active=event.at
    )


def _decided(course: Course, event: Event, release: Release) -> Course:
    content = event.content
    if course.session is None or content["session"] != course.session:
        raise Broken("is taken outside the open session")
    _check_superseded(course, event, release)
    standing = standings.taken(release, course.standing, release.action(content["concept"], content["activity"]))
    return course._replace(release=release.version, standing=standing, decision=content["decision"], active=event.at)


def _check_superseded(course: Course, event: Event, release: Release) -> None:
    """That an open decision is given up only for a teacher's, or when its concept is no longer ready."""
    superseded = event.content.get("supersedes")
    if superseded != course.decision:
        raise Broken(f"supersedes {superseded} while {course.decision} is open")
    if event.kind == "override" or course.decision is None:
        return
    known = standings.mastery(release, course.standing)
    if gate.holds(release.prerequisites, release.theta, known, decision_concept(course, release)):
        raise Broken(f"supersedes {course.decision}, which was ready and would have been served again")


def decision_concept(course: Course, release: Release) -> str:
    """The concept of the decision that waits for its outcome: it is the last that was taken."""
    if course.standing.last is None:
        raise Broken("has an open decision, and none was taken")
    return release.actions[course.standing.last][0]


def _answered(course: Course, event: Event, release: Release) -> Course:
    content = event.content
    concept, standing = content["concept"], course.standing
    if content["counted"] is content["late"]:
        raise Broken("counts although it came too late, or does not although it did not")
    if content["counted"]:
        standing = standings.learnt(release, standing, concept, content["correct"], content["activity"])
    waits = None if content["decision"] == course.decision else course.decision
    after = course._replace(standing=standing, decision=waits, active=event.at)
    _agree(concept, content["before"], mastery_of(course, release, concept))
    _agree(concept, content["after"], mastery_of(after, release, concept))
    return after


def mastery_of(course: Course, release: Release, concept: str) -> float:
    """The mastery of a concept in a course."""
    return float(course.standing.K[release.curriculum.index(concept)])


def _agree(concept: str, said: float, found: float) -> None:
    if not abs(said - found) <= 1e-12:
        raise Broken(f"says that the mastery of {concept!r} was {said}, and it was {found}")


def _release(releases: Mapping[str, Release], version: str) -> Release:
    if version not in releases:
        raise Broken(f"refers to the release {version}, which is not on record")
    return releases[version]
