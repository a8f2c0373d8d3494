"""What one run leaves for the next, in a folder of the user's.

Entries are written whole or not at all, carry a digest of their content, and give way, the longest unused first, when
they grow beyond a bound. A cache that cannot be read or written is as good as none: it never stops a run.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from mccpo import files
from mccpo.errors import InputError

MOST_BYTES = 2**30
_SUFFIX = ".anchor"
_DIGEST = hashlib.sha256().digest_size


class Cache:
    """Entries in a folder, of at most `most` bytes together."""

    def __init__(self, folder: Path, most: int = MOST_BYTES) -> None:
        self._folder = folder
        self._most = most

    def recall(self, key: str) -> dict[str, np.ndarray] | None:
        """The arrays kept under a key, or None where there are none or they are damaged."""
        path = self._path(key)
        try:
            content = path.read_bytes()
            digest, body = content[:_DIGEST], content[_DIGEST:]
            if hashlib.sha256(body).digest() != digest:
                return None
            found = load(body)
        except (OSError, SafetensorError):
            return None
        with suppress(OSError):
            os.utime(path)  # it was of use: others go first
        return found

    def remember(self, key: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Keeps arrays under a key."""
        body = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
        with suppress(OSError, InputError):
            files.write_bytes(self._path(key), hashlib.sha256(body).digest() + body)
            prune(self._folder, self._most)

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}{_SUFFIX}"


def prune(folder: Path, most: int = MOST_BYTES) -> None:
    """Removes files of a folder, the longest untouched first, until those that stay have at most `most` bytes."""
    found = []
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # another run may prune at the same time
            found.append((path.stat(), path))
    kept = 0
    for status, path in sorted(found, key=lambda one: -one[0].st_mtime_ns):
        kept += status.st_size
        if kept > most:
            path.unlink(missing_ok=True)


def machine() -> str:
    """A digest of the processor, whose instructions decide how a compiled program rounds."""
    told = {"machine": platform.machine(), "processor": platform.processor()}
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() in ("model name", "flags", "Features"):
                told.setdefault(name.strip(), value)
    return hashlib.sha256(repr(told).encode()).hexdigest()[:16]
