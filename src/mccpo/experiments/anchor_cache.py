"""The training of anchors, which every budget and floor refers to, kept for later runs.

It lies under a key that is a digest of everything it depends on, down to the source of the methods, so that what is
recalled is to the bit what training would give again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import resources
from importlib.metadata import version
from importlib.resources.abc import Traversable
from typing import Any

import jax
import numpy as np

from mccpo._version import __version__
from mccpo.curriculum import Curriculum
from mccpo.env import Environment
from mccpo.methods import Arrays, Episodes, MethodSpec, NeuralPlan, NeuralProgress, NeuralRuns, workers
from mccpo.runs import machine

_FORMAT = "anchor/2"  # to be counted up when `pack` changes
_ROOMS = ("curriculum", "policy", "env", "methods")  # whose source decides what training gives


def pack(runs: NeuralRuns, seen: Episodes) -> dict[str, np.ndarray]:
    """Finished runs, and the episodes that judged them, as named arrays."""
    parts = {"runs": vars(runs), "curves": runs.curves._asdict(), "seen": seen._asdict()}
    return {
        f"{part}.{name}": np.asarray(array)
        for part, arrays in parts.items()
        for name, array in arrays.items()
        if array is not runs.curves and array is not None
    }


def unpack(arrays: Arrays) -> tuple[NeuralRuns, Episodes]:
    """What `pack` packed."""

    def part(name: str) -> dict[str, Any]:
        return {key.removeprefix(f"{name}."): array for key, array in arrays.items() if key.startswith(f"{name}.")}

    return NeuralRuns(**part("runs"), curves=NeuralProgress(**part("curves"))), Episodes(**part("seen"))


def anchor_key(env: Environment[Any], spec: MethodSpec, plan: NeuralPlan) -> str | None:
    """The key of the training of an anchor in an environment by a plan; None where nobody can say what it depends on.

    That is an environment whose class is not ours, so that its source may change unseen, or one that holds what is
    neither number nor text.
    """
    if not type(env.unwrapped).__module__.startswith(f"{__package__.split('.')[0]}."):
        return None
    try:
        content = "\n".join([*_written(env), *_written(spec), *_written(plan), *_circumstances()])
    except TypeError:
        return None
    return hashlib.sha256(content.encode()).hexdigest()


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
