"""Lays on the desk what a batch of requests refers to, with a handful of statements for all of them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress

from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.errors import InputError
from mccpo.serve.policy.release import Release
from mccpo.serve.record import rows
from mccpo.serve.record.chain import Broken
from mccpo.serve.record.learner_history import Course
from mccpo.serve.record.schema import DECISION, EVENT, LEARNER, NOTE, REPLY, SESSION, STANDING
from mccpo.serve.service.commands import Lapse, Request
from mccpo.serve.service.idempotency import reference_of
from mccpo.serve.service.messages import BeginSession, EndSession, Erase, Next, Outcome, Override, Register
from mccpo.serve.service.unit_of_work import Desk

log = logging.getLogger("mccpo.serve")


async def lay_out(
    connection: AsyncConnection,
    desk: Desk,
    requests: Iterable[tuple[str, Request]],
    replies: Iterable[str],
    known: Mapping[str, Course],
    releases: dict[str, Release],
) -> None:
    """Fills a desk for requests, each with its tenant, and for the ids of the replies they may be answered by.

    Courses are taken from `known`, or read; the releases that they refer to are added to `releases`. What is not there,
    or not what was written, is left out: only the requests that need it fail.
    """
    asked = list(requests)
    for row in await rows.rows_of(connection, REPLY, "id", list(replies)):
        desk.replies[row.id] = rows.Reply._make(row)
    sessions = {request.session for _, request in asked if isinstance(request, EndSession)}
    for row in await rows.rows_of(connection, SESSION, "id", sessions):
        desk.sessions[row.id] = rows.Sitting._make(row)
    reported = {request.decision for _, request in asked if isinstance(request, Outcome)}
    await _decisions(connection, desk, reported)
    await _identities(connection, desk, asked)
    learners = {
        request.learner for _, request in asked if isinstance(request, BeginSession | Next | Override | Erase | Lapse)
    }
    learners |= {one.learner for one in desk.sessions.values()} | {one.learner for one in desk.decisions.values()}
    learners |= desk.identities.keys()
    desk.courses = {learner: known[learner] for learner in learners if learner in known}
    await _courses(connection, desk, learners - desk.courses.keys(), releases)
    courses = [desk.courses.get(request.learner) for _, request in asked if isinstance(request, Next | Override)]
    waiting = {one.decision for one in courses if one is not None and one.decision is not None}
    await _decisions(connection, desk, waiting)
    again = {one.number for one in desk.decisions.values() if one.id in waiting}
    if any(isinstance(request, Override) for _, request in asked):
        for row in await rows.rows_of(connection, NOTE, "number", again):
            desk.notes[row.number] = rows.Note._make(row)
    again |= {one.outcome for one in desk.decisions.values() if one.outcome is not None}
    again |= _told_by(desk.replies.values())
    for row in await rows.rows_of(connection, EVENT, "number", again):
        with suppress(Broken):
            desk.events[row.number] = rows.event_of(row)


def _told_by(replies: Iterable[rows.Reply]) -> set[int]:
    """The numbers of the events that replies are told by."""
    found = set()
    for one in replies:
        with suppress(ValueError):
            found.add(reference_of(one.answer).number or 0)
    return found


async def _decisions(connection: AsyncConnection, desk: Desk, ids: set[str]) -> None:
    for row in await rows.rows_of(connection, DECISION, "id", ids - desk.decisions.keys()):
        desk.decisions[row.id] = rows.Decided._make(row)


async def _identities(connection: AsyncConnection, desk: Desk, asked: list[tuple[str, Request]]) -> None:
    names = {(tenant, request.name) for tenant, request in asked if isinstance(request, Register)}
    erased = {request.learner for _, request in asked if isinstance(request, Erase)}
    found = await rows.learners_named(connection, names)
    for row in [*found, *await rows.rows_of(connection, LEARNER, "id", erased)]:
        try:
            desk.lay_identity(rows.identity_of(row))
        except (ValueError, TypeError):
            log.error("the labels of %s are damaged", row.id)  # whoever is registered again or erased loses them
            desk.lay_identity(rows.Identity(row.id, row.tenant, row.name, None, row.registered, row.erased))


async def _courses(connection: AsyncConnection, desk: Desk, learners: set[str], releases: dict[str, Release]) -> None:
    found = await rows.rows_of(connection, STANDING, "learner", learners)
    for version in {row.release for row in found} - releases.keys():
        with suppress(InputError):
            releases |= await rows.read_releases(connection, [version])
    for row in found:
        try:
            desk.courses[row.learner] = rows.course_of(row, len(releases[row.release].actions))
        except (KeyError, ValueError, TypeError) as error:
            log.error("what is kept of %s is damaged: %r", row.learner, error)
            desk.damaged[row.learner] = row.tenant
