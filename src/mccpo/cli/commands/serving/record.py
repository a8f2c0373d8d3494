"""What `mccpo serve` is told of the record: where it is, its keys and keyring, and where its anchors go."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from mccpo.cli.commands.keys import DATABASE
from mccpo.errors import InputError

if TYPE_CHECKING:
    from mccpo.serve.access import KeyFile
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


def key_file_of(run: Path, record: str, keys: Path | None, *, no_keys: bool) -> KeyFile:
    """The keys that are asked for. There must be one, unless the caller has said that there shall be none."""
    from mccpo.serve.access import KeyFile, keys_beside
    from mccpo.serve.record import parse_url

    if keys is not None and no_keys:
        raise InputError("--keys and --no-keys contradict each other", fix="give one of them")
    url = parse_url(record)
    if url.get_backend_name() != "sqlite" and keys is None and not no_keys:
        raise InputError(
            "a record on a server has no file of keys beside it", fix="name one with --keys FILE, or give --no-keys"
        )
    beside = Path(url.database or "") if url.get_backend_name() == "sqlite" else run / DATABASE
    path = keys or keys_beside(beside)
    if path.exists() and path.stat().st_mode & stat.S_IWOTH:
        raise InputError(f"everybody on this machine may write keys into {path}", fix=f"chmod 600 {path}")
    file = KeyFile(path, optional=no_keys)
    if no_keys and file.asks:
        raise InputError(f"there are keys in {path}, which --no-keys would pass over", fix="leave --no-keys out")
    if not no_keys and not len(file):
        which = f"--keys {keys}" if keys is not None else f"--run {run}"
        none = "no key in it works any more" if file.all() else "it holds none"
        raise InputError(
            f"every request needs a key of {path}, and {none}",
            fix=f"make one with `mccpo keys create {which} --role admin`, or serve this machine alone with --no-keys",
        )
    return file


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
