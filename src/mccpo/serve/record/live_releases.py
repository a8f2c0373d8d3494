"""The live releases as the database stores them, so that a restart continues with what was loaded while it ran.

The database also holds the releases themselves. Restoring them needs no run folder, only their rows with the same hash.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.errors import InputError
from mccpo.serve.policy.releases import Releases
from mccpo.serve.record import rows, writes
from mccpo.serve.record.schema import LIVE

_RESTORE = "restore the database from a copy, or serve the run with a database of its own"


class StoredReleases(NamedTuple):
    """The live set, and the version that the service was started with when it was stored."""

    named: str
    live: Releases


async def write_live_releases(connection: AsyncConnection, named: str, live: Releases) -> None:
    """Stores a live set in place of the one before, and all of its releases."""
    by_role = {"current": live.current, "previous": live.previous, "shadow": live.shadow}
    await writes.write_releases(connection, [release for release in by_role.values() if release is not None])
    versions = {role: None if release is None else release.version for role, release in by_role.items()}
    await connection.execute(delete(LIVE))
    await connection.execute(insert(LIVE), {"one": 1, "named": named, "share": live.share, **versions})


async def read_live_releases(connection: AsyncConnection) -> StoredReleases | None:
    """The stored live set, None if there is none; refuses one whose releases are missing or damaged."""
    row = (await connection.execute(select(LIVE))).one_or_none()
    if row is None:
        return None
    versions = [row.current, row.previous, row.shadow]
    try:
        stored = await rows.read_releases(connection, {version for version in versions if version is not None})
    except InputError as error:
        raise InputError(f"what is live cannot come back: {error.what}", fix=_RESTORE) from error
    if missing := [version for version in versions if version is not None and version not in stored]:
        raise InputError(f"the release {missing[0]} is live, and no longer in the database", fix=_RESTORE)
    current, previous, shadow = (None if version is None else stored[version] for version in versions)
    assert current is not None  # the column is never null
    return StoredReleases(row.named, Releases(current, previous, shadow, row.share))


def resume_releases(before: StoredReleases | None, given: Releases) -> Releases:
    """The live set of a service that starts with `given`.

    Started with the same release as last time, the service continues where it was. Another release takes over from the
    one that decided, as if it had been loaded. A given set with a previous or shadow release is used as it is.
    """
    if before is None or given.previous is not None or given.shadow is not None:
        return given
    return before.live if before.named == given.current.version else before.live.load(given.current)
