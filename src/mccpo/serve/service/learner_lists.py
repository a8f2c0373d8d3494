"""Lists of learners and of their classes, quick also where there are a hundred thousand."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, Row, func, select
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
    part: str,
    skip: int,
    limit: int,
    classes: Classes = None,
) -> list[Identity]:
    """A tenant's learners whose name contains `part`, the most recently active first."""
    query = select(LEARNER).join(STANDING, STANDING.c.learner == LEARNER.c.id).where(LEARNER.c.erased.is_(None))
    # Read backwards along the index of standings, so that the first page needs no sorting. A standing has the tenant
    # of its learner: asked for both, SQLite would begin with all learners of the tenant, and sort them.
    query = query.where(
        STANDING.c.tenant == tenant, STANDING.c.erased.is_(False), *of_classes(keyring, tenant, classes)
    )
    query = query.order_by(STANDING.c.active.desc(), STANDING.c.learner.desc())
    if not part and classes is None:
        return await _page_of_learners(connection, keyring, tenant, skip, limit)
    if not part:
        return [identity_from_row(row, keyring) for row in await connection.execute(query.offset(skip).limit(limit))]
    # The database cannot look into names: they are read one after the other, until there are enough.
    wanted, matching = part.casefold(), 0
    found: list[Identity] = []
    async with connection.stream(query) as learners:
        async for chunk in learners.partitions(rows.CHUNK):
            for row in chunk:
                identity = identity_from_row(row, keyring)
                if wanted in (identity.name or "").casefold():
                    matching += 1
                    found += [identity] if matching > skip else []
                if len(found) == limit:
                    return found
            await asyncio.sleep(0)  # others need not wait for all of them
    return found


async def _page_of_learners(
    connection: AsyncConnection, keyring: Keyring, tenant: str, skip: int, limit: int
) -> list[Identity]:
    """A page of all learners: what is skipped is read from the standings alone."""
    page = select(STANDING.c.learner).where(STANDING.c.tenant == tenant, STANDING.c.erased.is_(False))
    page = page.order_by(STANDING.c.active.desc(), STANDING.c.learner.desc()).offset(skip).limit(limit)
    ids = (await connection.execute(page)).scalars().all()
    found = {row.id: row for row in await rows.select_rows(connection, LEARNER, "id", ids, LEARNER.c.erased.is_(None))}
    return [identity_from_row(found[id], keyring) for id in ids if id in found]


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
