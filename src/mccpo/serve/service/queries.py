"""Queries of the record, each over a connection that the caller holds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.errors import InputError
from mccpo.serve.policy import gate
from mccpo.serve.policy.learner_state import mastery
from mccpo.serve.policy.release import Release
from mccpo.serve.problems import Gone, Missing, Unavailable
from mccpo.serve.record import rows
from mccpo.serve.record.chain import Event, rfc3339
from mccpo.serve.record.keyring import Keyring
from mccpo.serve.record.learner_history import LearnerHistory
from mccpo.serve.record.rows import DecisionRow, Identity
from mccpo.serve.record.schema import DECISION, EVENT, LEARNER, STANDING
from mccpo.serve.service.messages import ConceptState, DecisionView, PresenceView, StateView
from mccpo.serve.service.roll import Classes, damaged_text, identity_from_row, in_classes
from mccpo.serve.service.views import decision_view, learner_view

_REPORTED = ("correct", "hints", "seconds", "counted", "late", "before", "after")
_DECIDED = (
    "session",
    "activity",
    "by",
    "reason",
    "propensity",
    "release",
    "supersedes",
    "redraw",
    "shadow",
    "certificate",
)
_DEFERRED = '"by":"deferred","chance":'
"""What the text of a deferred decision holds, and of no other: events are canonical, and a shadow's answer goes on
otherwise."""
EXPORTED = ("learner", "concept", "item", "order", "time", *_REPORTED, "decision", *_DECIDED)
"""The columns of an export, besides a `group_…` for each label."""


async def read_identity(connection: AsyncConnection, keyring: Keyring, tenant: str, learner: str) -> Identity:
    """Who a learner of a tenant is."""
    for row in await rows.select_rows(connection, LEARNER, "id", [learner], LEARNER.c.tenant == tenant):
        if row.erased is not None:
            raise Gone(f"the learner {learner} was erased")
        return identity_from_row(row, keyring)
    raise Missing(f"there is no learner {learner}")


async def read_history(
    connection: AsyncConnection, tenant: str, learner: str, releases: dict[str, Release]
) -> LearnerHistory:
    """The history of a learner of a tenant; its release is added to `releases`."""
    await check_learner(connection, tenant, learner, erased=False)
    return (await read_histories(connection, [learner], releases))[learner]


async def read_histories(
    connection: AsyncConnection, learners: Collection[str], releases: dict[str, Release]
) -> dict[str, LearnerHistory]:
    """The histories of learners; `Unavailable` if one is not there or damaged."""
    stored = {row.learner: row for row in await rows.select_rows(connection, STANDING, "learner", learners)}
    histories = {}
    for learner in learners:
        try:
            row = stored[learner]
            if row.release not in releases:
                releases |= await rows.read_releases(connection, [row.release])
            histories[learner] = rows.history_from_row(row, len(releases[row.release].actions))
        except (InputError, KeyError, ValueError, TypeError) as error:
            raise Unavailable(damaged_text(learner)) from error
    return histories


def presence_view(identity: Identity, history: LearnerHistory, release: Release) -> PresenceView:
    """A learner in a list, by a history with what is known now."""
    known = mastery(release, history.state)
    mastered = sum(gate.trusted(release.opening, known, name) >= release.opening.mastered for name in known)
    return PresenceView(
        learner_view(identity), rfc3339(history.active), history.session, mastered, len(history.state.K)
    )


def state_view(history: LearnerHistory, release: Release) -> StateView:
    """A learner's state as the gate sees it, by a history with what is known now.

    Each concept is ready, or locked by named prerequisites.
    """
    known = mastery(release, history.state)
    concepts = []
    for concept, times in zip(release.concepts, history.state.practised.tolist(), strict=True):
        missing = gate.unmet(release.prerequisites, release.opening, known, concept)
        unmet = {name: known[name] for name in missing}
        counted = gate.trusted(release.opening, known, concept)
        concepts.append(ConceptState(concept, known[concept], counted, times, not missing, unmet))
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


async def check_learner(connection: AsyncConnection, tenant: str, learner: str, *, erased: bool = True) -> None:
    """Refuses a learner who is not a tenant's; an erased one still is, and so are their decisions, unless `erased` is
    False."""
    matching = await rows.select_rows(connection, LEARNER, "id", [learner], LEARNER.c.tenant == tenant)
    if not matching:
        raise Missing(f"there is no learner {learner}")
    if not erased and matching[0].erased is not None:
        raise Gone(f"the learner {learner} was erased")


async def list_decisions(
    connection: AsyncConnection,
    keyring: Keyring,
    tenant: str,
    *,
    ids: Collection[str] | None = None,
    learner: str | None = None,
    after: int = 0,
    before: int | None = None,
    limit: int = 1,
    newest: bool = False,
    classes: Classes = None,
) -> list[DecisionView]:
    """Decisions of a tenant in the order of the record, or the newest first, with outcomes and teachers' reasons."""
    query = select(DECISION).where(DECISION.c.tenant == tenant, DECISION.c.number > after)
    if ids is not None:
        query = query.where(DECISION.c.id.in_(ids))
    if before is not None:
        query = query.where(DECISION.c.number < before)
    if classes is not None:
        members = select(LEARNER.c.id).where(*in_classes(keyring, tenant, classes))
        query = query.where(DECISION.c.learner.in_(members))
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
    notes = {note.number: note for note in await rows.read_notes(connection, keyring, "number", taken)}
    return [
        decision_view(
            events[decision.number],
            outcome=events.get(decision.outcome or 0),
            note=notes.get(decision.number),
            shadow=True,
        )
        for decision in decisions
    ]


async def list_deferred(
    connection: AsyncConnection, keyring: Keyring, tenant: str, *, after: int = 0, limit: int, classes: Classes = None
) -> list[DecisionView]:
    """The decisions of a tenant that were deferred and are still open, in the order of the record."""
    # Step by step from what is open now, which is little: one statement may search all decisions there ever were.
    waits = (STANDING.c.tenant == tenant) & STANDING.c.decision.is_not(None)
    if classes is not None:
        waits &= STANDING.c.learner.in_(select(LEARNER.c.id).where(*in_classes(keyring, tenant, classes)))
    opened = (await connection.execute(select(STANDING.c.decision).where(waits))).scalars().all()
    taken = await rows.select_rows(connection, DECISION, "id", opened, DECISION.c.number > after)
    ids = {row.number: row.id for row in taken}
    events = await rows.select_rows(connection, EVENT, "number", ids, EVENT.c.text.contains(_DEFERRED))
    first = sorted(row.number for row in events)[:limit]
    if not first:
        return []
    return await list_decisions(
        connection, keyring, tenant, ids=[ids[number] for number in first], after=first[0] - 1, limit=limit
    )


async def export_rows(
    connection: AsyncConnection, keyring: Keyring, decisions: Sequence[DecisionView]
) -> list[dict[str, Any]]:
    """Decisions as rows of a log, with the canonical table's column names; labels become its groups."""
    learners = await rows.select_rows(connection, LEARNER, "id", {decision.learner for decision in decisions})
    labels = {row.id: identity_from_row(row, keyring).labels or {} for row in learners}
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


async def label_names(connection: AsyncConnection, keyring: Keyring, tenant: str) -> list[str]:
    """The names of all labels that learners of a tenant have."""
    names: set[str] = set()
    async with connection.stream(select(LEARNER).where(LEARNER.c.tenant == tenant)) as learners:
        async for chunk in learners.partitions(rows.CHUNK):
            for row in chunk:
                names |= (identity_from_row(row, keyring).labels or {}).keys()
            await asyncio.sleep(0)  # others need not wait for all of them
    return sorted(names)


async def export_learner(
    connection: AsyncConnection, keyring: Keyring, tenant: str, learner: str, state: StateView
) -> dict[str, Any]:
    """All that is stored about a learner: identity, state, every event, and teachers' words about them."""
    identity = await read_identity(connection, keyring, tenant, learner)
    events = [
        {"number": event.number, "at": rfc3339(event.at), "kind": event.kind, **event.content}
        async for event in _events(connection, learner)
    ]
    notes = sorted(await rows.read_notes(connection, keyring, "learner", [learner]))
    return {
        "learner": learner_view(identity),
        "state": state,
        "events": events,
        "notes": [{"number": row.number, "teacher": row.teacher, "reason": row.reason} for row in notes],
    }


async def _events(connection: AsyncConnection, learner: str) -> AsyncIterator[Event]:
    async for row in rows.events_after(connection, 0, EVENT.c.learner == learner):
        yield rows.event_from_row(row)
