"""Lists of learners and of their classes, quick also where there are a hundred thousand."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, Row, Select, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.serve.problems import Unavailable
from mccpo.serve.record import rows
from mccpo.serve.record.chain import rfc3339
from mccpo.serve.record.keyring import Keyring
from mccpo.serve.record.rows import Identity
from mccpo.serve.record.schema import LEARNER, STANDING
from mccpo.serve.service.messages import ClassView

Classes: TypeAlias = Collection[str] | None
"""Those whose learners are asked for, by their label `class`; None for all learners, of a class or not."""
FEW = 2_000
"""Learners who are looked up one by one. Of more, the list of all has a page's worth near its beginning, as a rule."""
MOST_CLASSES = 200
"""The most classes that are listed: those of which a learner was last heard."""


def in_classes(keyring: Keyring, tenant: str, classes: Classes) -> list[ColumnElement[bool]]:
    """The conditions on a row of a learner: of the tenant, and of one of the classes."""
    return [LEARNER.c.tenant == tenant, *of_classes(keyring, tenant, classes)]


def of_classes(keyring: Keyring, tenant: str, classes: Classes) -> list[ColumnElement[bool]]:
    """The condition on a row of a learner to be of one of the classes of a tenant; none, where all are asked for."""
    if classes is None:
        return []
    return [LEARNER.c.class_hash.in_([rows.class_hash(keyring, tenant, each) for each in classes])]


async def list_learners(
    connection: AsyncConnection,
    keyring: Keyring,
    tenant: str,
    among: Collection[str] | None,
    skip: int,
    limit: int,
    classes: Classes = None,
) -> list[Identity]:
    """A tenant's learners, the most recently active first: those with the ids `among`, or all."""
    # Read backwards along the index of standings, so that the first page needs no sorting. A standing has the tenant
    # of its learner: asked for both, SQLite would begin with all learners of the tenant, and sort them.
    query = select(STANDING.c.learner, STANDING.c.active).where(
        STANDING.c.tenant == tenant, STANDING.c.erased.is_(False)
    )
    if classes is not None:
        query = query.join(LEARNER, STANDING.c.learner == LEARNER.c.id).where(*of_classes(keyring, tenant, classes))
    ordered = query.order_by(STANDING.c.active.desc(), STANDING.c.learner.desc())
    if among is None:
        page: Sequence[str] = (await connection.execute(ordered.offset(skip).limit(limit))).scalars().all()
    elif len(among) > FEW:
        page = await _along(connection, ordered, among, skip, limit)
    else:
        page = await _sorted_by_activity(connection, query, among, skip, limit)
    found = {row.id: row for row in await rows.select_rows(connection, LEARNER, "id", page, LEARNER.c.erased.is_(None))}
    return [identity_from_row(found[id], keyring) for id in page if id in found]


async def _along(
    connection: AsyncConnection, ordered: Select[Any], among: Collection[str], skip: int, limit: int
) -> list[str]:
    """A page of many learners: along the list of all, until there are enough."""
    found: list[str] = []
    async with connection.stream(ordered) as standings:
        async for chunk in standings.partitions(rows.CHUNK):
            found += [row.learner for row in chunk if row.learner in among]
            if len(found) >= skip + limit:
                break
            await asyncio.sleep(0)  # others need not wait for all of them
    return found[skip : skip + limit]


async def _sorted_by_activity(
    connection: AsyncConnection, query: Select[Any], among: Collection[str], skip: int, limit: int
) -> list[str]:
    """A page of few learners: each is looked up, wherever it stands in the list of all."""
    wanted, standings = list(among), []
    for start in range(0, len(wanted), rows.CHUNK):
        theirs = STANDING.c.learner.in_(wanted[start : start + rows.CHUNK])
        standings += (await connection.execute(query.where(theirs))).all()
    standings.sort(key=lambda row: (row.active, row.learner), reverse=True)
    return [row.learner for row in standings[skip : skip + limit]]


async def list_classes(
    connection: AsyncConnection, keyring: Keyring, tenant: str, classes: Classes = None
) -> list[ClassView]:
    """The classes of a tenant by name, each counted in the database: only one learner of each is unsealed."""
    joined = LEARNER.join(STANDING, STANDING.c.learner == LEARNER.c.id)
    counts = (
        select(
            func.min(LEARNER.c.id).label("one"),
            func.count().label("learners"),
            func.count(STANDING.c.session).label("in_session"),
            func.count(STANDING.c.decision).label("waiting"),
            func.max(STANDING.c.active).label("active"),
        )
        .select_from(joined)
        .where(*in_classes(keyring, tenant, classes), LEARNER.c.class_hash.is_not(None))
        .group_by(LEARNER.c.class_hash)
        .order_by(func.max(STANDING.c.active).desc())
        .limit(MOST_CLASSES)
    )
    found = (await connection.execute(counts)).all()
    members = await rows.select_rows(connection, LEARNER, "id", [row.one for row in found])
    names = {row.id: (identity_from_row(row, keyring).labels or {})[rows.CLASS] for row in members}
    views = [ClassView(names[row.one], row.learners, row.in_session, row.waiting, rfc3339(row.active)) for row in found]
    return sorted(views, key=lambda view: view.name)


def identity_from_row(row: Row[Any], keyring: Keyring) -> Identity:
    """Who a learner is by a row; `Unavailable` if it is damaged."""
    try:
        return rows.identity_from_row(row, keyring)
    except (ValueError, TypeError) as error:
        raise Unavailable(damaged_text(row.id)) from error


def damaged_text(learner: str) -> str:
    """What is told of a learner whose rows are damaged."""
    return f"what is kept of {learner} is damaged; `mccpo verify` says more"
