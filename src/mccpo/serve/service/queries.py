"""What is read from the record, as answers."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from contextlib import AsyncExitStack
from typing import Any

import numpy as np
from sqlalchemy import Row, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.errors import InputError
from mccpo.serve.policy import gate
from mccpo.serve.policy.release import Release
from mccpo.serve.record import rows
from mccpo.serve.record.chain import told
from mccpo.serve.record.learner_history import Course
from mccpo.serve.record.learner_state import mastery
from mccpo.serve.record.rows import Decided, Identity, Note
from mccpo.serve.record.schema import DECISION, EVENT, LEARNER, NOTE, STANDING
from mccpo.serve.record.store import Store, cause
from mccpo.serve.service.messages import ConceptState, DecisionView, LearnerView, PresenceView, StateView
from mccpo.serve.service.problems import Gone, Missing, Unavailable
from mccpo.serve.service.views import decision_view

_REPORTED = ("correct", "hints", "seconds", "counted", "late", "before", "after")
_DECIDED = ("session", "activity", "by", "reason", "propensity", "release", "supersedes", "shadow", "certificate")
EXPORTED = ("learner", "concept", "item", "order", "time", *_REPORTED, "decision", *_DECIDED)
"""The columns of an export, besides a `group_…` for each label."""


class Reading:
    """A connection to read by; a database that fails makes the service unavailable, not faulty."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> AsyncConnection:
        try:
            return await self._stack.enter_async_context(self._store.reading())
        except (SQLAlchemyError, OSError, RuntimeError) as error:
            raise Unavailable(f"the database failed: {cause(error)}") from error

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        await self._stack.__aexit__(kind, error, trace)
        if isinstance(error, SQLAlchemyError):
            raise Unavailable(f"the database failed: {cause(error)}") from error


async def identity(connection: AsyncConnection, tenant: str, learner: str) -> Identity:
    """Who a learner of a tenant is."""
    for row in await rows.rows_of(connection, LEARNER, "id", [learner], LEARNER.c.tenant == tenant):
        if row.erased is not None:
            raise Gone(f"the learner {learner} was erased")
        return who(row)
    raise Missing(f"there is no learner {learner}")


def who(row: Row[Any]) -> Identity:
    """Who a learner is by a row; what is damaged cannot be told."""
    try:
        return rows.identity_of(row)
    except (ValueError, TypeError) as error:
        raise Unavailable(_damaged(row.id)) from error


def _damaged(learner: str) -> str:
    return f"what is kept of {learner} is damaged; `mccpo verify` says more"


async def course(connection: AsyncConnection, tenant: str, learner: str, releases: dict[str, Release]) -> Course:
    """The course of a learner of a tenant; its release is added to `releases`."""
    await identity(connection, tenant, learner)
    try:
        row = (await rows.rows_of(connection, STANDING, "learner", [learner]))[0]
        if row.release not in releases:
            releases |= await rows.read_releases(connection, [row.release])
        return rows.course_of(row, len(releases[row.release].actions))
    except (InputError, IndexError, KeyError, ValueError, TypeError) as error:
        raise Unavailable(_damaged(learner)) from error


def learner_view(one: Identity) -> LearnerView:
    return LearnerView(one.id, one.name or "", one.labels or {}, told(one.registered))


async def presences(
    connection: AsyncConnection, tenant: str, theta: float, part: str, skip: int, limit: int
) -> list[PresenceView]:
    """A tenant's learners whose name has `part` in it, who was heard of last first."""
    columns = (STANDING.c.mastery, STANDING.c.active, STANDING.c.session)
    query = select(LEARNER, *columns).join(STANDING, STANDING.c.learner == LEARNER.c.id)
    query = query.where(LEARNER.c.tenant == tenant, LEARNER.c.erased.is_(None))
    if part:
        query = query.where(LEARNER.c.name.icontains(part, autoescape=True))
    query = query.order_by(STANDING.c.active.desc(), LEARNER.c.id)
    found = []
    for row in await connection.execute(query.offset(skip).limit(limit)):
        K = np.frombuffer(row.mastery, "<f8")
        mastered = int((theta <= K).sum())
        found.append(PresenceView(learner_view(who(row)), told(row.active), row.session, mastered, len(K)))
    return found


def state_view(course: Course, release: Release) -> StateView:
    """A course in the words of the gate: each concept is ready, or locked by named prerequisites."""
    known = mastery(release, course.standing)
    concepts = []
    for concept, times in zip(release.concepts, course.standing.practised.tolist(), strict=True):
        missing = gate.unmet(release.prerequisites, release.theta, known, concept)
        unmet = {name: known[name] for name in missing}
        concepts.append(ConceptState(concept, known[concept], times, not missing, unmet))
    return StateView(
        learner=course.learner,
        session=course.session,
        decision=course.decision,
        t=course.standing.t,
        horizon=release.horizon,
        theta=release.theta,
        release=release.version,
        concepts=tuple(concepts),
    )


async def check_learner(connection: AsyncConnection, tenant: str, learner: str) -> None:
    """Refuses a learner who is not a tenant's; one who was erased is, and so are the decisions that stay."""
    if not await rows.rows_of(connection, LEARNER, "id", [learner], LEARNER.c.tenant == tenant):
        raise Missing(f"there is no learner {learner}")


async def decisions(
    connection: AsyncConnection,
    tenant: str,
    *,
    ids: Collection[str] | None = None,
    learner: str | None = None,
    after: int = 0,
    before: int | None = None,
    limit: int = 1,
    newest: bool = False,
) -> list[DecisionView]:
    """Decisions of a tenant in the order of the record, or the newest first, with outcomes and teachers' reasons."""
    query = select(DECISION).where(DECISION.c.tenant == tenant, DECISION.c.number > after)
    if ids is not None:
        query = query.where(DECISION.c.id.in_(ids))
    if before is not None:
        query = query.where(DECISION.c.number < before)
    if learner is not None:
        # The events of one learner are found by an index, however many decisions there are of others.
        theirs = select(EVENT.c.number).where(EVENT.c.learner == learner, EVENT.c.kind.in_(("decision", "override")))
        query = query.where(DECISION.c.number.in_(theirs))
    order = DECISION.c.number.desc() if newest else DECISION.c.number
    found = [Decided._make(row) for row in await connection.execute(query.order_by(order).limit(limit))]
    numbers = [one.number for one in found] + [one.outcome for one in found if one.outcome is not None]
    events = {row.number: rows.event_of(row) for row in await rows.rows_of(connection, EVENT, "number", numbers)}
    kept = await rows.rows_of(connection, NOTE, "number", [one.number for one in found])
    notes = {row.number: Note._make(row) for row in kept}
    return [
        decision_view(events[one.number], outcome=events.get(one.outcome or 0), note=notes.get(one.number), shadow=True)
        for one in found
    ]


async def exported(connection: AsyncConnection, chunk: Sequence[DecisionView]) -> list[dict[str, Any]]:
    """Decisions as rows of a log, in the words of the canonical table; labels are its groups."""
    kept = await rows.rows_of(connection, LEARNER, "id", {one.learner for one in chunk})
    labels = {row.id: who(row).labels or {} for row in kept}
    found = []
    for one in chunk:
        outcome = one.outcome or {}
        row = {
            "learner": one.learner,
            "concept": one.concept,
            "item": f"{one.concept}/{one.activity}",
            "order": one.number,
            "time": one.at,
            **{name: outcome.get(name) for name in _REPORTED},
            "decision": one.id,
            **{name: getattr(one, name) for name in _DECIDED},
        }
        found.append(row | {f"group_{name}": value for name, value in labels.get(one.learner, {}).items()})
    return found


async def labels(connection: AsyncConnection, tenant: str) -> list[str]:
    """The names of all labels that learners of a tenant have."""
    mine = (LEARNER.c.tenant == tenant) & LEARNER.c.labels.is_not(None)
    told = (await connection.execute(select(LEARNER.c.labels).where(mine).distinct())).scalars()
    return sorted({name for text in told for name in json.loads(text)})


async def everything(connection: AsyncConnection, tenant: str, learner: str, state: StateView) -> dict[str, Any]:
    """All that is kept about a learner: who they are, where they stand, every event, and words about them."""
    one = await identity(connection, tenant, learner)
    events = [
        {"number": event.number, "at": told(event.at), "kind": event.kind, **event.content}
        async for event in _events(connection, learner)
    ]
    notes = await rows.rows_of(connection, NOTE, "learner", [learner])
    return {
        "learner": learner_view(one),
        "state": state,
        "events": events,
        "notes": [{"number": row.number, "teacher": row.teacher, "reason": row.reason} for row in notes],
    }


async def _events(connection: AsyncConnection, learner: str) -> Any:
    async for row in rows.events_after(connection, 0, EVENT.c.learner == learner):
        yield rows.event_of(row)
