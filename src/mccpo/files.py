"""Files that are written whole or not at all, and JSON that any reader takes."""

from __future__ import annotations

import hashlib
import json
import math
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from mccpo.errors import InputError


@contextmanager
def replacing(path: str | Path, *, private: bool = False) -> Iterator[Path]:
    """Yields a scratch path beside `path`; on success it takes the place of `path`, on failure it is removed.

    Only its owner can read what is `private`.
    """
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
        _settle(scratch, target, private=private)
    finally:
        with suppress(FileNotFoundError):
            scratch.unlink()


def write_bytes(path: str | Path, content: bytes, *, private: bool = False) -> None:
    """Writes `content` to `path` atomically; only its owner can read what is `private`."""
    with replacing(path, private=private) as scratch:
        scratch.write_bytes(content)


def write_text(path: str | Path, content: str) -> None:
    """Writes `content` to `path` atomically, as UTF-8."""
    write_bytes(path, content.encode())


def _settle(scratch: Path, target: Path, *, private: bool) -> None:
    # A rename is only durable once the bytes are: sync before it, or a crash can leave an empty file of the right name.
    with scratch.open("rb") as handle:
        os.fsync(handle.fileno())
    umask = os.umask(0)
    os.umask(umask)
    scratch.chmod(0o600 if private else 0o666 & ~umask)
    try:
        scratch.replace(target)
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror or error}", fix="choose another path") from error


def dump_json(value: Any, *, indent: int | None = None) -> str:
    """JSON that any reader takes, in the order given: NaN and infinities become null, arrays become lists."""
    return json.dumps(_plain(value), ensure_ascii=False, allow_nan=False, indent=indent)


def canonical_json(value: Any) -> str:
    """The one JSON text of plain values, to be hashed: keys sorted, no spaces; NaN is refused."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def sha256_json(value: Any) -> str:
    """SHA-256, in hexadecimal, of the canonical text of plain values: the same however a file lays them out."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def read_json(path: Path, *, fix: str, damaged: str = "run it again") -> dict[str, Any]:
    """Reads a JSON object from a file of ours; `fix` says what to do where there is none, `damaged` where it is."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}", fix=fix) from error
    except ValueError as error:
        raise InputError(f"{path} is damaged: {error}", fix=damaged) from error
    if not isinstance(content, dict):
        raise InputError(f"{path} is not a JSON object", fix=damaged)
    return content


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, Sequence | set | frozenset):
        return [_plain(entry) for entry in (sorted(value) if isinstance(value, set | frozenset) else value)]
    return _plain(value.tolist())  # scalars and arrays of NumPy and JAX; anything else is a mistake, and fails here
