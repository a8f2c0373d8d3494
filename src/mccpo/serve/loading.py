"""Lays on the desk what a batch of requests refers to, with a handful of statements for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.serve import rows
from mccpo.serve.commands import Lapse, Request
from mccpo.serve.course import Course
from mccpo.serve.desk import Desk
from mccpo.serve.messages import BeginSession, EndSession, Erase, Next, Outcome, Override, Register
from mccpo.serve.record import Broken
from mccpo.serve.release import Release
from mccpo.serve.schema import DECISION, EVENT, LEARNER, REPLY, SESSION, STANDING


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
    desk.courses = {learner: known[learner] for learner in learners if learner in known}
    await _courses(connection, desk, learners - desk.courses.keys(), releases)
    courses = [desk.courses.get(request.learner) for _, request in asked if isinstance(request, Next)]
    waiting = {one.decision for one in courses if one is not None and one.decision is not None}
    await _decisions(connection, desk, waiting)
    again = {one.number for one in desk.decisions.values() if one.id in waiting}
    again |= {one.outcome for one in desk.decisions.values() if one.outcome is not None}
    for row in await rows.rows_of(connection, EVENT, "number", again):
        with suppress(Broken):
            desk.events[row.number] = rows.event_of(row)


async def _decisions(connection: AsyncConnection, desk: Desk, ids: set[str]) -> None:
    for row in await rows.rows_of(connection, DECISION, "id", ids - desk.decisions.keys()):
        desk.decisions[row.id] = rows.Decided._make(row)


async def _identities(connection: AsyncConnection, desk: Desk, asked: list[tuple[str, Request]]) -> None:
    names = {(tenant, request.name) for tenant, request in asked if isinstance(request, Register)}
    erased = {request.learner for _, request in asked if isinstance(request, Erase)}
    found = await rows.identities_named(connection, names)
    found += map(rows.identity_of, await rows.rows_of(connection, LEARNER, "id", erased))
    for one in found:
        desk.lay_identity(one)


async def _courses(connection: AsyncConnection, desk: Desk, learners: set[str], releases: dict[str, Release]) -> None:
    found = await rows.rows_of(connection, STANDING, "learner", learners)
    unknown = {row.release for row in found} - releases.keys()
    if unknown:
        releases |= await rows.read_releases(connection, unknown)
    for row in found:
        if row.release in releases:
            desk.courses[row.learner] = rows.course_of(row, len(releases[row.release].actions))
