"""What one run leaves for the next: the unconstrained training that every budget refers to.

An entry lies under a key that is a digest of everything it depends on, down to the source of the learners, so that what
is recalled is to the bit what training would give again. Entries are written whole or not at all, carry a digest of
their content, and give way, the longest unused first, when they grow beyond a bound. A cache that cannot be read or
written is as good as none: it never stops a run.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import resources
from importlib.metadata import version
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import jax
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from mccpo import files
from mccpo._version import __version__
from mccpo.curriculum import Curriculum
from mccpo.env import Environment
from mccpo.errors import InputError
from mccpo.methods import NeuralPlan, NeuralRuns
from mccpo.methods.engine import Arrays, workers
from mccpo.methods.episodes import Episodes
from mccpo.methods.gradient.ppo import Progress

MOST_BYTES = 2**30
_FORMAT = "anchor/1"  # to be counted up when `pack` changes
_SUFFIX = ".anchor"
_DIGEST = hashlib.sha256().digest_size
_ROOMS = ("curriculum", "env", "methods")  # whose source decides what training gives


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

    def remember(self, key: str, arrays: Arrays) -> None:
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


def pack(runs: NeuralRuns, seen: Episodes) -> dict[str, np.ndarray]:
    """Finished runs, and the episodes that judged them, as named arrays."""
    parts = {"runs": vars(runs), "curves": runs.curves._asdict(), "seen": seen._asdict()}
    return {
        f"{part}.{name}": np.asarray(array)
        for part, arrays in parts.items()
        for name, array in arrays.items()
        if array is not runs.curves
    }


def unpack(arrays: Arrays) -> tuple[NeuralRuns, Episodes]:
    """What `pack` packed."""

    def part(name: str) -> dict[str, Any]:
        return {key.removeprefix(f"{name}."): array for key, array in arrays.items() if key.startswith(f"{name}.")}

    return NeuralRuns(**part("runs"), curves=Progress(**part("curves"))), Episodes(**part("seen"))


def anchor_key(env: Environment[Any], plan: NeuralPlan) -> str | None:
    """The key of the unconstrained training of an environment by a plan; None where nobody can say what it depends on.

    That is an environment whose class is not ours, so that its source may change unseen, or one that holds what is
    neither number nor text.
    """
    if not type(env).__module__.startswith(f"{__package__.split('.')[0]}."):
        return None
    try:
        content = "\n".join([*_written(env), *_written(plan), *_circumstances()])
    except TypeError:
        return None
    return hashlib.sha256(content.encode()).hexdigest()


def machine() -> str:
    """A digest of the processor, whose instructions decide how a compiled program rounds."""
    told = {"machine": platform.machine(), "processor": platform.processor()}
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() in ("model name", "flags", "Features"):
                told.setdefault(name.strip(), value)
    return hashlib.sha256(repr(told).encode()).hexdigest()[:16]


def _circumstances() -> Iterator[str]:
    """What training depends on beside the environment and the plan."""
    yield f"mccpo {__version__} {_source()} {_FORMAT}"
    yield from (f"{name} {version(name)}" for name in ("jax", "jaxlib", "numpy"))
    yield f"{jax.devices()[0].device_kind} {jax.device_count()} {workers()} {machine()}"
    yield f"{os.environ.get('XLA_FLAGS')} {jax.config.jax_enable_x64} {jax.config.jax_default_matmul_precision}"  # type: ignore[attr-defined]


@cache
def _source() -> str:
    """A digest of the source files that decide what training gives."""
    digest = hashlib.sha256()
    for room in _ROOMS:
        for name, content in sorted(_modules(resources.files(f"mccpo.{room}"), room)):
            digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _modules(folder: Traversable, name: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _modules(entry, f"{name}/{entry.name}")
        elif entry.name.endswith(".py"):
            yield f"{name}/{entry.name}", entry.read_bytes()


def _written(value: Any, name: str = "") -> Iterator[str]:
    """A value as lines of text that differ where it differs; what cannot be written so is a TypeError."""
    match value:
        case None | bool() | int() | float() | str():
            yield f"{name} = {value!r}"
        case Curriculum():
            yield f"{name} = {(value.concepts, value.edges, value.demand.tolist())!r}"
        case np.ndarray() | np.generic() | jax.Array():
            array = np.asarray(value)
            yield f"{name} = {array.dtype} {array.shape} {array.tolist()!r}"
        case tuple() | list():
            yield f"{name}: {type(value).__qualname__} of {len(value)}"
            for at, part in enumerate(value):
                yield from _written(part, f"{name}[{at}]")
        case Mapping():
            yield f"{name}: {len(value)} entries"
            for key, part in value.items():
                yield from _written(part, f"{name}[{key!r}]")
        case _ if is_dataclass(value) and not isinstance(value, type):
            yield f"{name}: {type(value).__module__}.{type(value).__qualname__}"
            for field in fields(value):
                yield from _written(getattr(value, field.name), f"{name}.{field.name}")
        case _:
            raise TypeError(f"{name} is a {type(value).__name__}")
