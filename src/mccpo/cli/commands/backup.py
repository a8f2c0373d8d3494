"""`mccpo backup`, `restore` and `downgrade`: a record to a file while it is served, and the ways back."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from cyclopts import Parameter

from mccpo.cli.commands.verify import read_given_anchors
from mccpo.cli.console.output import JsonFlag, emit

if TYPE_CHECKING:
    from mccpo.serve.record import BackupResult, RestoreResult

RecordArgument: TypeAlias = Annotated[
    str, Parameter(help="The database of the service: a file, sqlite:///FILE, or postgresql://…")
]


def backup(
    database: RecordArgument,
    /,
    *,
    out: Annotated[Path, Parameter(help="The new file of the backup; nothing is overwritten.")],
    keyring: Annotated[
        Path | None, Parameter(help="The file with the keys that names are sealed with; beside the record by default.")
    ] = None,
    keyring_copy: Annotated[
        Path | None,
        Parameter(help="Copy the keys there as well, in the place of an earlier copy; keep them apart from backups."),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Back up the record of a service, which may go on meanwhile, to one file.

    The backup is the record as of one moment. It is replayed before it is put in place, as `mccpo verify` would; a
    record that does not hold is not backed up (exit 3). Keep the anchor that is printed. Names in the backup are
    sealed: without the keyring nobody reads them, and whoever is erased later is erased from the backup, too.
    """
    result = asyncio.run(_back_up(database, out, keyring, keyring_copy))
    told = {
        "backup": str(out),
        "anchor": f"{result.head.number}:{result.head.hash}",
        "at": result.verdict.last,
        "events": result.verdict.events,
        "learners": result.verdict.learners,
        "keyring_copy": None if result.keyring is None else str(result.keyring),
    }
    text = f"backed up to {out}: {told['events']:,} events up to {told['at']}, all verified\nanchor {told['anchor']}"
    copied = "" if result.keyring is None else f"\nthe keys to names are copied to {result.keyring}: keep them apart"
    emit(told, as_json=json, text=text + copied)


def downgrade(
    database: RecordArgument,
    /,
    *,
    to: Annotated[str, Parameter(help="The version of the tables that the earlier mccpo made: 0007.")],
    json: JsonFlag = False,
) -> None:
    """Take the tables of a record back, so that an earlier mccpo can serve it again; no event is lost.

    Stop the service first, and back up. The earlier mccpo opens the record as its own; the later one upgrades it again.
    """
    from mccpo.serve.record import Store

    store = Store(database)
    asyncio.run(store.downgrade(to))
    emit({"database": store.name, "tables": to}, as_json=json, text=f"{store.name} has the tables of {to} now")


async def _back_up(database: str, out: Path, keyring: Path | None, keyring_copy: Path | None) -> BackupResult:
    from mccpo.serve.record import Store, back_up

    store = Store(database, keyring=keyring)
    await store.open(create=False)
    try:
        return await back_up(store, out, keyring_copy=keyring_copy)
    finally:
        await store.close()


def restore(
    backup: Annotated[Path, Parameter(help="The file that mccpo backup wrote.")],
    /,
    *,
    to: Annotated[str, Parameter(help="A new file, or an empty database: postgresql://…; nothing is overwritten.")],
    keyring: Annotated[
        Path | None, Parameter(help="The keyring of the record, or the newest copy of it; put beside a new file.")
    ] = None,
    anchor: Annotated[
        str | None, Parameter(help="NUMBER:HASH, or a file of anchors, which the backup must hold; see mccpo verify.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Restore a record from a backup, to the same kind of database or the other.

    The backup is replayed first, as `mccpo verify` would; one that does not hold is not restored (exit 3). Learners who
    were erased after the backup was made stay erased: their keys are gone, and the service puts it on record when it
    starts.
    """
    from mccpo.redaction import redact

    result = asyncio.run(_restore(backup, to, keyring, anchor))
    told = {
        "record": redact(to),
        "anchor": f"{result.head.number}:{result.head.hash}",
        "at": result.verdict.last,
        "events": result.verdict.events,
        "learners": result.verdict.learners,
        "keyring": None if result.keyring is None else str(result.keyring),
        "erased_since": result.erased,
    }
    emit(told, as_json=json, text=lambda: "\n".join(_lines(result, told["record"], str(told["anchor"]))))


def _lines(result: RestoreResult, record: object, anchor: str) -> list[str]:
    verdict = result.verdict
    lines = [f"restored to {record}: {verdict.events:,} events up to {verdict.last}, all verified"]
    if result.erased:
        lines.append(f"{result.erased:,} learners were erased after this backup was made, and stay so")
    if result.keyring is None:
        where = "name it with --keyring" if result.needed is None else f"put it at {result.needed}"
        lines.append(f"the service needs the keyring, with the keys to names: {where}")
    else:
        lines.append(f"keyring {result.keyring}")
    lines.append(f"not known: whether there were events after {verdict.head.number}; compare it with a newer anchor")
    return [*lines, f"anchor {anchor}"]


async def _restore(backup: Path, to: str, keyring: Path | None, anchor: str | None) -> RestoreResult:
    from mccpo.serve.record import numbers_and_hashes
    from mccpo.serve.record import restore as restore_record

    anchors = numbers_and_hashes(read_given_anchors(anchor, None))
    return await restore_record(backup, to, keyring=keyring, anchors=anchors)
