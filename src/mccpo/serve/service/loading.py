"""Loads what a batch of requests refers to, with a handful of database queries for all of them."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress

from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.errors import InputError
from mccpo.serve.policy.release import Release
from mccpo.serve.record import rows
from mccpo.serve.record.chain import BrokenRecord
from mccpo.serve.record.keyring import Keyring
from mccpo.serve.record.learner_history import LearnerHistory, needs_restating
from mccpo.serve.record.reply_reference import ReplyReference
from mccpo.serve.record.schema import DECISION, EVENT, LEARNER, REPLY, SESSION, STANDING
from mccpo.serve.service.commands import Request
from mccpo.serve.service.messages import BeginSession, EndSession, Erase, Next, Outcome, Override, Register
from mccpo.serve.service.sessions import Lapse
from mccpo.serve.service.unit_of_work import UnitOfWork

log = logging.getLogger("mccpo.serve")


async def load_unit_of_work(
    connection: AsyncConnection,
    unit: UnitOfWork,
    requests: Collection[tuple[str, Request]],
    replies: Collection[str],
    cached: Mapping[str, LearnerHistory],
    releases: dict[str, Release],
    keyring: Keyring,
) -> None:
    """Fills a unit of work for requests, each with its tenant, and for the ids of the replies they may repeat.

    Histories are taken from `cached`, or read; the releases that they refer to are added to `releases`. Missing or
    damaged rows are left out: only the requests that need them fail.
    """
    unit.replies = await replies_in(connection, replies)
    sessions = {request.session for _, request in requests if isinstance(request, EndSession)}
    for row in await rows.select_rows(connection, SESSION, "id", sessions):
        unit.sessions[row.id] = rows.SessionRow._make(row)
    await _load_decisions(
        connection, unit, {request.decision for _, request in requests if isinstance(request, Outcome)}
    )
    await _load_identities(connection, unit, requests, keyring)
    learners = {
        request.learner
        for _, request in requests
        if isinstance(request, BeginSession | Next | Override | Erase | Lapse)
    }
    learners |= {session.learner for session in unit.sessions.values()}
    learners |= {decision.learner for decision in unit.decisions.values()}
    learners |= unit.identities.keys()
    unit.learners = learners
    unit.histories = {learner: cached[learner] for learner in learners if learner in cached}
    await _load_histories(connection, unit, learners - unit.histories.keys(), releases)
    await _load_events(connection, unit, requests, keyring)
    await _load_pasts(connection, unit)
    statements = [
        (tenant, request.statement)
        for tenant, request in requests
        if isinstance(request, Outcome) and request.statement
    ]
    for decision in await rows.decisions_by_statement(connection, statements):
        unit.add_decision(decision)


async def replies_in(connection: AsyncConnection, ids: Collection[str]) -> dict[str, rows.ReplyRow]:
    """The stored replies with these ids."""
    return {row.id: rows.ReplyRow._make(row) for row in await rows.select_rows(connection, REPLY, "id", ids)}


async def _load_events(
    connection: AsyncConnection, unit: UnitOfWork, requests: Iterable[tuple[str, Request]], keyring: Keyring
) -> None:
    """Loads the events that answers may repeat: open decisions, reported outcomes, and those of stored replies."""
    histories = [unit.histories.get(request.learner) for _, request in requests if isinstance(request, Next | Override)]
    open_ids = {history.decision for history in histories if history is not None and history.decision is not None}
    await _load_decisions(connection, unit, open_ids)
    numbers = {decision.number for decision in unit.decisions.values() if decision.id in open_ids}
    if any(isinstance(request, Override) for _, request in requests):
        for note in await rows.read_notes(connection, keyring, "number", numbers):
            unit.notes[note.number] = note
    numbers |= {decision.outcome for decision in unit.decisions.values() if decision.outcome is not None}
    numbers |= _event_numbers(unit.replies.values())
    for row in await rows.select_rows(connection, EVENT, "number", numbers):
        with suppress(BrokenRecord):
            unit.events[row.number] = rows.event_from_row(row)


async def _load_pasts(connection: AsyncConnection, unit: UnitOfWork) -> None:
    """Loads the sessions and outcomes of learners whose mastery may have to be restated."""
    learners = [
        learner
        for learner, history in unit.histories.items()
        if needs_restating(history, unit.live.current, unit.releases)
    ]
    unit.pasts = {learner: [] for learner in learners}
    for begin in range(0, len(learners), rows.CHUNK):
        chosen = EVENT.c.learner.in_(learners[begin : begin + rows.CHUNK])
        async for row in rows.events_after(connection, 0, chosen, EVENT.c.kind.in_(("session", "outcome"))):
            unit.pasts[row.learner].append(rows.event_from_row(row))


def _event_numbers(replies: Iterable[rows.ReplyRow]) -> set[int]:
    """The numbers of the events that stored replies refer to."""
    numbers = set()
    for reply in replies:
        with suppress(ValueError):
            numbers.add(ReplyReference.parse(reply.answer).number or 0)
    return numbers


async def _load_decisions(connection: AsyncConnection, unit: UnitOfWork, ids: set[str]) -> None:
    for row in await rows.select_rows(connection, DECISION, "id", ids - unit.decisions.keys()):
        unit.decisions[row.id] = rows.DecisionRow._make(row)


async def _load_identities(
    connection: AsyncConnection, unit: UnitOfWork, requests: Iterable[tuple[str, Request]], keyring: Keyring
) -> None:
    names = {(tenant, request.name) for tenant, request in requests if isinstance(request, Register)}
    erased = {request.learner for _, request in requests if isinstance(request, Erase)}
    registered = await rows.learners_named(connection, keyring, names)
    named = [(row, name) for (_, name), row in registered.items()]
    for row, name in [*named, *((row, None) for row in await rows.select_rows(connection, LEARNER, "id", erased))]:
        try:
            unit.add_identity(rows.identity_from_row(row, keyring))
        except (ValueError, TypeError):
            log.error("the name and labels of %s are damaged", row.id)  # registering again or erasing replaces them
            slot = row.slot if row.slot is not None and keyring.has_key(row.id, row.slot) else None
            unit.add_identity(rows.Identity(row.id, row.tenant, name, None, row.registered, row.erased, slot=slot))


async def _load_histories(
    connection: AsyncConnection, unit: UnitOfWork, learners: set[str], releases: dict[str, Release]
) -> None:
    history_rows = await rows.select_rows(connection, STANDING, "learner", learners)
    for version in {row.release for row in history_rows} - releases.keys():
        with suppress(InputError):
            releases |= await rows.read_releases(connection, [version])
    for row in history_rows:
        try:
            unit.histories[row.learner] = rows.history_from_row(row, len(releases[row.release].actions))
        except (KeyError, ValueError, TypeError) as error:
            log.error("what is kept of %s is damaged: %r", row.learner, error)
            unit.damaged[row.learner] = row.tenant
