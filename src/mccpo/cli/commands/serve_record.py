"""What `mccpo serve` is told of the record: where it is, where its keyring is, and where its anchors go."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from mccpo.errors import InputError

if TYPE_CHECKING:
    from mccpo.serve.record import Store


@dataclass(frozen=True, kw_only=True)
class Anchoring:
    """The flags that say where the end of the record is written, for others to keep; each is a flag of the command."""

    anchor_file: Annotated[
        Path | None, Parameter(help="Add the end of the record to this file every now and then, a line each.")
    ] = None
    anchor_every: Annotated[
        float, Parameter(help="The seconds between two anchors, in the log and the file; none while nothing happens.")
    ] = 3600.0
    sign: Annotated[
        Path | None, Parameter(help="The private key to sign anchors with, as mccpo signing-key makes it.")
    ] = None


def record_store(database: str, keyring: Path | None, keys: Path) -> Store:
    """The record. What all processes of a record on a server share is the file of keys: the keyring lies beside it."""
    from mccpo.serve.record import Store, keyring_beside

    store = Store(database, keyring=keyring)
    return store if store.keyring_path is not None else Store(database, keyring=keyring_beside(keys))


def check_anchor_file(path: Path | None) -> Path | None:
    """The file of anchors, if it can be added to."""
    if path is not None:
        try:
            path.open("ab").close()
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror or error}", fix="name another file") from error
    return path
