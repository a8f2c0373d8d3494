"""The live set as the database keeps it, so that a restart goes on with what was loaded while the service ran.

The releases themselves are in the database as well. To come back, no folder of a run is needed: only that what is kept
of each is still there, and still has its hash.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.errors import InputError
from mccpo.serve.policy.releases import Releases
from mccpo.serve.record import rows
from mccpo.serve.record.schema import LIVE

_RESTORE = "restore the database from a copy, or serve the run with a database of its own"


class Kept(NamedTuple):
    """The live set, and the version that the service was started with when it was kept."""

    named: str
    live: Releases


async def keep(connection: AsyncConnection, named: str, live: Releases) -> None:
    """Keeps a live set in the place of the one before, and all of its releases."""
    places = {"current": live.current, "previous": live.previous, "shadow": live.shadow}
    await rows.write_releases(connection, [one for one in places.values() if one is not None])
    versions = {place: None if one is None else one.version for place, one in places.items()}
    await connection.execute(delete(LIVE))
    await connection.execute(insert(LIVE), {"one": 1, "named": named, "share": live.share, **versions})


async def kept(connection: AsyncConnection) -> Kept | None:
    """The live set that was kept, None where none was; refuses one whose releases are not what they were."""
    row = (await connection.execute(select(LIVE))).one_or_none()
    if row is None:
        return None
    versions = [row.current, row.previous, row.shadow]
    try:
        found = await rows.read_releases(connection, {one for one in versions if one is not None})
    except InputError as error:
        raise InputError(f"what is live cannot come back: {error.what}", fix=_RESTORE) from error
    if missing := [one for one in versions if one is not None and one not in found]:
        raise InputError(f"the release {missing[0]} is live, and no longer in the database", fix=_RESTORE)
    current, previous, shadow = (None if one is None else found[one] for one in versions)
    assert current is not None  # the column is never null
    return Kept(row.named, Releases(current, previous, shadow, row.share))


def resumed(before: Kept | None, given: Releases) -> Releases:
    """The live set of a service that starts with `given`.

    Started with the same release as the last time, it goes on where it was. Another release takes over from the one
    that decided, as if it had been loaded. A set that names more than the release to decide is taken as it is.
    """
    if before is None or given.previous is not None or given.shadow is not None:
        return given
    return before.live if before.named == given.current.version else before.live.load(given.current)
