"""Backs up a record while it is being written to, and restores it.

A backup is itself a record, in one SQLite file, whichever database it was taken from: `verify` reads it, and it can be
restored to either. It is read in one transaction, and so is the record of one moment. Names in it are sealed: the keys
are in the keyring, which is copied apart, so that a backup holds nothing of whoever is erased later.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Table, func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.errors import GateFailed, InputError
from mccpo.files import replacing, write_bytes
from mccpo.serve.record.chain import Head
from mccpo.serve.record.rows import CHUNK
from mccpo.serve.record.schema import HEAD, METADATA, VISIT
from mccpo.serve.record.store import Store
from mccpo.serve.record.verification import Verdict, verify

_COPIED = [table for table in METADATA.sorted_tables if table is not VISIT]
"""Visits to the pages end with the service that they were made to."""


class BackupResult(NamedTuple):
    """What was backed up; `keyring` is where the keys were copied to, if they were."""

    head: Head
    verdict: Verdict
    keyring: Path | None


class RestoreResult(NamedTuple):
    """What was restored.

    - `keyring`: the file with the keys to the names, None if there is none yet; `needed` is where it is looked for.
    - `erased`: how many learners were erased after the backup was made, and have no keys any more.
    """

    head: Head
    verdict: Verdict
    keyring: Path | None
    needed: Path | None
    erased: int


async def back_up(store: Store, out: Path, *, keyring_copy: Path | None = None) -> BackupResult:
    """Writes a backup of an open record to a new file, which is there only once all of it has been verified."""
    if keyring_copy is not None and not store.has_keyring:
        raise InputError(f"there is no keyring of {store.name} to copy", fix="name it with --keyring FILE")
    with _new_file(out) as scratch:
        head = await _copy(store, Store(str(scratch)))
        verdict = await _verified(Store(str(scratch), keyring=store.keyring_path), head, f"the record {store.name}")
    if keyring_copy is not None:  # after the record, so that it has the keys of all who are in the backup
        write_bytes(keyring_copy, store.keyring.path.read_bytes(), private=True)
    return BackupResult(head, verdict, keyring_copy)


async def restore(
    backup: Path, database: str, *, keyring: Path | None = None, anchors: Collection[tuple[int, str]] = ()
) -> RestoreResult:
    """Fills a new file or an empty database from a backup that has been verified; touches nothing else before."""
    target = Store(database)
    source = Store(str(backup), keyring=keyring or _existing(target.keyring_path))
    if not source.is_sqlite:
        raise InputError(f"{backup} is no backup", fix="name the file that `mccpo backup` wrote")
    await source.open(create=False)
    try:
        if keyring is not None and not source.has_keyring:
            raise InputError(f"{keyring} is not the keyring of {backup}", fix="name the one that belongs to it")
        if _existing(target.keyring_path) is not None and not source.has_keyring:
            raise InputError(f"{target.keyring_path} is the keyring of another record", fix="restore to another place")
        verdict = await verify(source, anchors=anchors)
        if verdict.wrong is not None:
            raise GateFailed(f"the backup {backup} does not hold: {verdict.wrong}")
        if target.is_sqlite:
            with _new_file(Path(target.name)) as scratch:
                head = await _copy(source, Store(str(scratch)))
        else:
            head = await _copy(source, target)
        used = _place_keyring(source.keyring.path, target) if source.has_keyring else None
        return RestoreResult(head, verdict, used, target.keyring_path, verdict.keys_erased)
    finally:
        await source.close()


def _existing(path: Path | None) -> Path | None:
    return path if path is not None and path.exists() else None


def _place_keyring(keyring: Path, target: Store) -> Path:
    """Puts a keyring beside a restored file, unless it is there; on a server it stays where it is."""
    place = target.keyring_path
    if place is None:
        return keyring
    if not place.exists():
        write_bytes(place, keyring.read_bytes(), private=True)
    return place


@contextmanager
def _new_file(path: Path) -> Iterator[Path]:
    """A file that is put in place once it is whole, and not in the place of another."""
    _refuse_existing(path)
    with replacing(path, private=True) as scratch:
        yield scratch
        _refuse_existing(path)


def _refuse_existing(path: Path) -> None:
    if path.exists():
        raise InputError(f"{path} is there already", fix="name a new file: nothing is overwritten")


async def _copy(source: Store, target: Store) -> Head:
    """Copies all tables as of one moment, and checks that nothing was lost on the way; returns the head."""
    async with source.reading() as reading, target.filling() as writing:
        for table in _COPIED:
            async with reading.stream(select(table)) as stored:
                async for chunk in stored.mappings().partitions(CHUNK):
                    await writing.execute(insert(table), [dict(row) for row in chunk])
        counts = [[await _count(connection, table) for table in _COPIED] for connection in (reading, writing)]
        if counts[0] != counts[1]:
            raise GateFailed(f"{target.name} has other rows than {source.name}")
        row = (await writing.execute(select(HEAD))).one()
        return Head(row.number, row.hash, row.at)


async def _count(connection: AsyncConnection, table: Table) -> int:
    return int((await connection.execute(select(func.count()).select_from(table))).scalar_one())


async def _verified(copy: Store, head: Head, what: str) -> Verdict:
    """Replays a copy; raises unless all of it holds, up to the head."""
    await copy.open(create=False)
    try:
        verdict = await verify(copy, anchors=[(head.number, head.hash)])
    finally:
        await copy.close()
    if verdict.wrong is not None:
        raise GateFailed(f"{what} does not hold, and is not backed up: {verdict.wrong}")
    return verdict
