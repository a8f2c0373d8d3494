"""The live releases as the record has them: the last event about releases says which they are, and how they got there.

So a restart continues with what was loaded while it ran, and every process that serves the record decides by the same.
The database also holds the releases themselves. Restoring them needs no run folder, only their rows with the same hash.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.errors import InputError
from mccpo.serve.policy.release import Release
from mccpo.serve.policy.releases import Releases
from mccpo.serve.record import rows, writes
from mccpo.serve.record.chain import BrokenRecord, Event, Head, seal_event
from mccpo.serve.record.schema import EVENT, HEAD, LIVE

ReleaseChange: TypeAlias = Literal["started", "loaded", "rolled back", "shadowed", "shadow ended"]
ROLES = ("current", "previous", "shadow")
_RESTORE = "restore the database from a copy, or serve the run with a database of its own"


class StoredReleases(NamedTuple):
    """The live set, and the version that the service was started with when it was stored.

    `number` is that of the event that says so; None in a record from before there were such events.
    """

    named: str
    live: Releases
    number: int | None = None


def release_pins(live: Releases) -> dict[str, Any]:
    """A live set as an event has it: each release by its hash, with what opens its gate."""
    by_role = {role: getattr(live, role) for role in ROLES}
    return {role: None if release is None else pin_of(release) for role, release in by_role.items()} | {
        "share": float(live.share)
    }


def pin_of(release: Release) -> dict[str, Any]:
    """A release as events name it: by its hash, with what opens its gate."""
    deferral = release.deferral
    return {
        "version": release.version,
        "sha256": release.digest,
        "theta": float(release.theta),
        "confidence": None if release.opening.confidence is None else float(release.opening.confidence),
        "defer_below": None if deferral is None else float(deferral.below),
    }


async def record_releases(
    connection: AsyncConnection,
    head: Head,
    now: int,
    change: ReleaseChange,
    stored: StoredReleases,
    key: Mapping[str, str] | None,
) -> Event:
    """Puts on record that a set is live from here on, and stores its releases."""
    by_role = [getattr(stored.live, role) for role in ROLES]
    await writes.write_releases(connection, [release for release in by_role if release is not None])
    content = {"change": change, "named": stored.named, **release_pins(stored.live), "key": key}
    event = seal_event(head, now, "release", "", "", content)
    await writes.write_events(connection, [event])
    await connection.execute(update(HEAD).values(live=event.number))
    return event


async def read_live_releases(
    connection: AsyncConnection, number: int | None, known: Mapping[str, Release]
) -> StoredReleases | None:
    """The live set that an event says, None if there is none; refuses one whose releases are missing or changed.

    `known` are releases that need not be read again.
    """
    try:
        said = await (_read_old(connection) if number is None else _read_event(connection, number))
        if said is None:
            return None
        versions = {role: None if said[role] is None else said[role]["version"] for role in ROLES}
        missing = {version for version in versions.values() if version is not None and version not in known}
        releases = {**known, **await rows.read_releases(connection, missing)}
    except (InputError, BrokenRecord) as error:
        raise InputError(f"live releases cannot be restored: {getattr(error, 'what', error)}", fix=_RESTORE) from error
    live: dict[str, Release] = {}
    for role, version in versions.items():
        if version is not None and version not in releases:
            raise InputError(f"the release {version} is live, and no longer in the database", fix=_RESTORE)
        if version is not None and number is not None and pin_of(releases[version]) != said[role]:
            raise InputError(f"the release {version} is not the one that event {number} names", fix=_RESTORE)
        if version is not None:
            live[role] = releases[version]
    return StoredReleases(said["named"], Releases(**live, share=said["share"]), number)


async def _read_event(connection: AsyncConnection, number: int) -> Mapping[str, Any]:
    for row in await rows.select_rows(connection, EVENT, "number", [number]):
        event = rows.event_from_row(row)
        if event.kind == "release":
            return event.content
    raise BrokenRecord(f"event {number} says nothing about releases")


async def _read_old(connection: AsyncConnection) -> Mapping[str, Any] | None:
    row = (await connection.execute(select(LIVE))).one_or_none()
    if row is None:
        return None
    versions = {role: row._mapping[role] for role in ROLES}
    pins = {role: None if version is None else {"version": version} for role, version in versions.items()}
    return {"named": row.named, "share": row.share, **pins}


def resume_releases(before: StoredReleases | None, given: Releases) -> Releases:
    """The live set of a service that starts with `given`.

    Started with the same release as last time, the service continues where it was. Another release takes over from the
    one that decided, as if it had been loaded. A given set with a previous or shadow release is used as it is.
    """
    if before is None or given.previous is not None or given.shadow is not None:
        return given
    return before.live if before.named == given.current.version else before.live.load(given.current)
