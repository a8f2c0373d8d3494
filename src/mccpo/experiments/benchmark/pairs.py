"""One pair of a benchmark, a method on an environment, in the benchmark's folder."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import jax
from safetensors.numpy import save

from mccpo import files
from mccpo.errors import InputError
from mccpo.experiments.benchmark.environments import World, world
from mccpo.experiments.benchmark.methods import Entrant, Kind, entrant
from mccpo.experiments.benchmark.problem import Posed, anchors_json, pose
from mccpo.experiments.benchmark.protocol import Protocol
from mccpo.experiments.benchmark.rows import folder_of, rows_of
from mccpo.experiments.benchmark.trial import Trial, attempt
from mccpo.experiments.options import Session
from mccpo.files import dump_json, read_json
from mccpo.runs.folder import RunFolder


@dataclass(frozen=True)
class Benchmark:
    """Who is compared where, and how. `suite` is a name for it; `data` the folder of real data."""

    suite: str
    methods: tuple[str, ...]
    environments: tuple[str, ...]
    protocol: Protocol
    data: Path | None = None
    load: Callable[[str], Entrant] = field(default=entrant)
    open: Callable[[str, Path | None], World] = field(default=world)

    def __post_init__(self) -> None:
        for what, names in (("method", self.methods), ("environment", self.environments)):
            if not names:
                raise InputError(f"no {what} is named", fix="name one or more, joined by commas")
            for name in names:
                if Path(name).name != name:  # each has a folder of that name
                    raise InputError(f"the {what} '{name}' has the name of a path", fix="leave it out, or rename it")


def posed_in(folder: Path, environment: str, benchmark: Benchmark, session: Session) -> Posed:
    """An environment and its anchors, which an earlier call may have left."""
    path = folder / "cells" / environment / "anchor.json"
    kept = read_json(path, fix="delete it", damaged="delete it and resume") if path.exists() else None
    world = benchmark.open(environment, benchmark.data)
    posed = pose(environment, world, benchmark.protocol, session, kept)
    if posed.model is None and kept is None:
        files.write_text(path, dump_json(anchors_json(posed), indent=2) + "\n")
    return posed


def pair_in(
    folder: Path, posed: Posed, method: str, benchmark: Benchmark, session: Session, failed: Trial | None = None
) -> Trial:
    """One method on one environment, as it was finished before or is now; one that has `failed` is not tried again.

    The folder of a pair that is finished says so, and is left as it is.
    """
    path = folder / folder_of(posed.name, method)
    about = {"environment": posed.name, "method": method, **benchmark.protocol.as_json()}
    kept = RunFolder(path, about, resume=(path / "manifest.json").exists())
    if kept.resumed:
        return kept_trial(path)
    trial = failed or _tried(posed, method, benchmark, session)
    told = {"trial": trial.as_json(), "rows": [row.as_json() for row in rows_of(posed, trial, benchmark.protocol)]}
    if trial.policies:
        files.write_bytes(path / "policies.safetensors", save(trial.policies))
    files.write_text(path / "results.json", dump_json(told, indent=2) + "\n")
    kept.mark(finished=True)
    return trial


def _tried(posed: Posed, method: str, benchmark: Benchmark, session: Session) -> Trial:
    begun = time.monotonic()
    trial = attempt(posed, method, benchmark.load, benchmark.protocol, session)
    trial.whole_seconds, trial.device = time.monotonic() - begun, jax.devices()[0].device_kind
    # Another method is another program. Kept all, they exhaust the memory maps that the system grants a process.
    jax.clear_caches()
    return trial


def is_finished(path: Path) -> bool:
    """Whether the folder of a pair says that it is finished."""
    manifest = path / "manifest.json"
    return manifest.exists() and bool(
        read_json(manifest, fix="delete it", damaged="delete it and resume").get("finished")
    )


def kept_trial(path: Path) -> Trial:
    """What came of a finished pair, by its folder."""
    return Trial.from_json(
        read_json(path / "results.json", fix=f"delete {path} and resume", damaged=f"delete {path} and resume")["trial"]
    )


def kind_of(benchmark: Benchmark, method: str) -> Kind:
    """Of what kind a method is, as far as it can be told."""
    try:
        return benchmark.load(method).kind
    except (Exception, SystemExit):  # whatever is wrong with it shows where there is data to run it on
        return "learner"
