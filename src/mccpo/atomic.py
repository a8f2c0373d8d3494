"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mccpo.errors import InputError


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yields a scratch path beside `path`; on success it takes the place of `path`, on failure it is removed."""
    target = Path(path)
    if target.is_dir():  # told before there is anything to put in place
        raise InputError(f"cannot write {target}: it is a folder", fix="choose another path")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise InputError(
            f"cannot write {target}: {error.strerror or error}", fix="choose a folder that you may write to"
        ) from error
    os.close(handle)
    scratch = Path(name)
    try:
        yield scratch
        _settle(scratch, target)
    finally:
        with suppress(FileNotFoundError):
            scratch.unlink()


def write_bytes(path: str | Path, content: bytes) -> None:
    """Writes `content` to `path` atomically."""
    with replacing(path) as scratch:
        scratch.write_bytes(content)


def write_text(path: str | Path, content: str) -> None:
    """Writes `content` to `path` atomically, as UTF-8."""
    write_bytes(path, content.encode())


def _settle(scratch: Path, target: Path) -> None:
    # A rename is only durable once the bytes are: sync before it, or a crash can leave an empty file of the right name.
    with scratch.open("rb") as handle:
        os.fsync(handle.fileno())
    umask = os.umask(0)
    os.umask(umask)
    scratch.chmod(0o666 & ~umask)
    try:
        scratch.replace(target)
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror or error}", fix="choose another path") from error
