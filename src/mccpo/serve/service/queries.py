"""Queries of the record, each over a connection that the caller holds."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection, Sequence
from typing import Any

import numpy as np
from sqlalchemy import Row, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.errors import InputError
from mccpo.serve.policy import gate
from mccpo.serve.policy.learner_state import mastery
from mccpo.serve.policy.release import Release
from mccpo.serve.problems import Gone, Missing, Unavailable
from mccpo.serve.record import rows
from mccpo.serve.record.chain import Event, rfc3339
from mccpo.serve.record.learner_history import LearnerHistory
from mccpo.serve.record.rows import DecisionRow, Identity, NoteRow
from mccpo.serve.record.schema import DECISION, EVENT, LEARNER, NOTE, STANDING
from mccpo.serve.service.messages import ConceptState, DecisionView, LearnerView, PresenceView, StateView
from mccpo.serve.service.views import decision_view

_REPORTED = ("correct", "hints", "seconds", "counted", "late", "before", "after")
_DECIDED = ("session", "activity", "by", "reason", "propensity", "release", "supersedes", "shadow", "certificate")
_DEFERRED = '"by":"deferred","chance":'
"""What the text of a deferred decision holds, and of no other: events are canonical, and a shadow's answer goes on
otherwise."""
EXPORTED = ("learner", "concept", "item", "order", "time", *_REPORTED, "decision", *_DECIDED)
"""The columns of an export, besides a `group_…` for each label."""


async def read_identity(connection: AsyncConnection, tenant: str, learner: str) -> Identity:
    """Who a learner of a tenant is."""
    for row in await rows.select_rows(connection, LEARNER, "id", [learner], LEARNER.c.tenant == tenant):
        if row.erased is not None:
            raise Gone(f"the learner {learner} was erased")
        return identity_from_row(row)
    raise Missing(f"there is no learner {learner}")


def identity_from_row(row: Row[Any]) -> Identity:
    """Who a learner is by a row; `Unavailable` if it is damaged."""
    try:
        return rows.identity_from_row(row)
    except (ValueError, TypeError) as error:
        raise Unavailable(_damaged(row.id)) from error


def _damaged(learner: str) -> str:
    return f"what is kept of {learner} is damaged; `mccpo verify` says more"


async def read_history(
    connection: AsyncConnection, tenant: str, learner: str, releases: dict[str, Release]
) -> LearnerHistory:
    """The history of a learner of a tenant; its release is added to `releases`."""
    await read_identity(connection, tenant, learner)
    try:
        row = (await rows.select_rows(connection, STANDING, "learner", [learner]))[0]
        if row.release not in releases:
            releases |= await rows.read_releases(connection, [row.release])
        return rows.history_from_row(row, len(releases[row.release].actions))
    except (InputError, IndexError, KeyError, ValueError, TypeError) as error:
        raise Unavailable(_damaged(learner)) from error


def learner_view(identity: Identity) -> LearnerView:
    return LearnerView(identity.id, identity.name or "", identity.labels or {}, rfc3339(identity.registered))


async def list_presences(
    connection: AsyncConnection, tenant: str, least: float, part: str, skip: int, limit: int
) -> list[PresenceView]:
    """A tenant's learners whose name contains `part`, the most recently active first."""
    columns = (STANDING.c.mastery, STANDING.c.active, STANDING.c.session)
    query = select(LEARNER, *columns).join(STANDING, STANDING.c.learner == LEARNER.c.id)
    query = query.where(LEARNER.c.tenant == tenant, LEARNER.c.erased.is_(None))
    if part:
        query = query.where(LEARNER.c.name.icontains(part, autoescape=True))
    query = query.order_by(STANDING.c.active.desc(), LEARNER.c.id)
    presences = []
    for row in await connection.execute(query.offset(skip).limit(limit)):
        K = np.frombuffer(row.mastery, "<f8")
        mastered = int((least <= K).sum())
        learner = learner_view(identity_from_row(row))
        presences.append(PresenceView(learner, rfc3339(row.active), row.session, mastered, len(K)))
    return presences


def state_view(history: LearnerHistory, release: Release) -> StateView:
    """A learner's state as the gate sees it: each concept is ready, or locked by named prerequisites."""
    known = mastery(release, history.state)
    concepts = []
    for concept, times in zip(release.concepts, history.state.practised.tolist(), strict=True):
        missing = gate.unmet(release.prerequisites, release.opening, known, concept)
        unmet = {name: known[name] for name in missing}
        concepts.append(ConceptState(concept, known[concept], times, not missing, unmet))
    return StateView(
        learner=history.learner,
        session=history.session,
        decision=history.decision,
        t=history.state.t,
        horizon=release.horizon,
        theta=release.theta,
        confidence=release.opening.confidence,
        mastered=release.opening.mastered,
        release=release.version,
        concepts=tuple(concepts),
    )


async def check_learner(connection: AsyncConnection, tenant: str, learner: str) -> None:
    """Refuses a learner who is not a tenant's; an erased one still is, and so are their decisions."""
    if not await rows.select_rows(connection, LEARNER, "id", [learner], LEARNER.c.tenant == tenant):
        raise Missing(f"there is no learner {learner}")


async def list_decisions(
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
    decisions = [DecisionRow._make(row) for row in await connection.execute(query.order_by(order).limit(limit))]
    taken = [decision.number for decision in decisions]
    reported = [decision.outcome for decision in decisions if decision.outcome is not None]
    event_rows = await rows.select_rows(connection, EVENT, "number", taken + reported)
    events = {row.number: rows.event_from_row(row) for row in event_rows}
    notes = {row.number: NoteRow._make(row) for row in await rows.select_rows(connection, NOTE, "number", taken)}
    return [
        decision_view(
            events[decision.number],
            outcome=events.get(decision.outcome or 0),
            note=notes.get(decision.number),
            shadow=True,
        )
        for decision in decisions
    ]


async def list_deferred(connection: AsyncConnection, tenant: str, *, after: int = 0, limit: int) -> list[DecisionView]:
    """The decisions of a tenant that were deferred and are still open, in the order of the record."""
    # Step by step from what is open now, which is little: one statement may search all decisions there ever were.
    waits = (STANDING.c.tenant == tenant) & STANDING.c.decision.is_not(None)
    opened = (await connection.execute(select(STANDING.c.decision).where(waits))).scalars().all()
    taken = await rows.select_rows(connection, DECISION, "id", opened, DECISION.c.number > after)
    ids = {row.number: row.id for row in taken}
    events = await rows.select_rows(connection, EVENT, "number", ids, EVENT.c.text.contains(_DEFERRED))
    first = sorted(row.number for row in events)[:limit]
    if not first:
        return []
    return await list_decisions(
        connection, tenant, ids=[ids[number] for number in first], after=first[0] - 1, limit=limit
    )


async def export_rows(connection: AsyncConnection, decisions: Sequence[DecisionView]) -> list[dict[str, Any]]:
    """Decisions as rows of a log, with the canonical table's column names; labels become its groups."""
    learners = await rows.select_rows(connection, LEARNER, "id", {decision.learner for decision in decisions})
    labels = {row.id: identity_from_row(row).labels or {} for row in learners}
    exported = []
    for decision in decisions:
        outcome = decision.outcome or {}
        row = {
            "learner": decision.learner,
            "concept": decision.concept,
            "item": f"{decision.concept}/{decision.activity}",
            "order": decision.number,
            "time": decision.at,
            **{name: outcome.get(name) for name in _REPORTED},
            "decision": decision.id,
            **{name: getattr(decision, name) for name in _DECIDED},
        }
        exported.append(row | {f"group_{name}": value for name, value in labels.get(decision.learner, {}).items()})
    return exported


async def label_names(connection: AsyncConnection, tenant: str) -> list[str]:
    """The names of all labels that learners of a tenant have."""
    labelled = (LEARNER.c.tenant == tenant) & LEARNER.c.labels.is_not(None)
    texts = (await connection.execute(select(LEARNER.c.labels).where(labelled).distinct())).scalars()
    return sorted({name for text in texts for name in json.loads(text)})


async def export_learner(connection: AsyncConnection, tenant: str, learner: str, state: StateView) -> dict[str, Any]:
    """All that is stored about a learner: identity, state, every event, and teachers' words about them."""
    identity = await read_identity(connection, tenant, learner)
    events = [
        {"number": event.number, "at": rfc3339(event.at), "kind": event.kind, **event.content}
        async for event in _events(connection, learner)
    ]
    notes = await rows.select_rows(connection, NOTE, "learner", [learner])
    return {
        "learner": learner_view(identity),
        "state": state,
        "events": events,
        "notes": [{"number": row.number, "teacher": row.teacher, "reason": row.reason} for row in notes],
    }


async def _events(connection: AsyncConnection, learner: str) -> AsyncIterator[Event]:
    async for row in rows.events_after(connection, 0, EVENT.c.learner == learner):
        yield rows.event_from_row(row)
