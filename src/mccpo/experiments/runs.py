"""The folder a run is kept in: what was asked, what came out, and what it needs to go on.

manifest.json     configuration, versions, commit, seeds, wall time, and whether the run is finished
results.json      the tables, as `--json` prints them
metrics.parquet   the training curves: one row per part, method, seed and point
checkpoints/      one file per part, from which `--resume` goes on to the same bits
report.html       the report
"""

from __future__ import annotations

import json
import platform
import subprocess
import tempfile
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import numpy as np
import polars as pl
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from mccpo import atomic
from mccpo._version import __version__
from mccpo.algo import Snapshot
from mccpo.algo.engine import to_arrays
from mccpo.errors import InputError
from mccpo.evaluation import Curves
from mccpo.strict_json import dump_json

SAVE_EVERY = 5.0  # seconds between checkpoints; a part also leaves one when it ends or is interrupted
_LIBRARIES = ("jax", "jaxlib", "equinox", "numpy", "scipy")


class RunFolder:
    """A run's folder: new, or resumed with the very configuration it was begun with.

    Nothing is written before there is something to keep, so that a call that turns out to be wrong leaves no trace.
    """

    def __init__(self, path: Path, configuration: Mapping[str, Any], *, resume: bool = False) -> None:
        self.path = path
        self.configuration = dict(configuration)
        self._begun = time.monotonic()
        self._saved: dict[str, float] = {}
        self._spent = 0.0
        manifest = path / "manifest.json"
        if resume:
            self._spent = self._take_up(manifest)
        elif manifest.exists():
            raise InputError(f"{path} already holds a run", fix="choose another --out, or go on with it by --resume")
        self._written = self._resumes = resume
        _check_writable(path)

    def load(self, label: str) -> dict[str, np.ndarray] | None:
        """The checkpoint of a part, if there is one."""
        path = self._checkpoint(label)
        return read_checkpoint(path) if self._resumes and path.exists() else None

    def save(self, label: str, snapshot: Snapshot[Any, Any], *, last: bool = False) -> None:
        """Keeps a checkpoint of a part, unless it did so a moment ago."""
        now = time.monotonic()
        if last or now - self._saved.setdefault(label, now) >= SAVE_EVERY:
            self._saved[label] = now
            if not self._written:
                self._write_manifest(finished=False)
            atomic.write_bytes(self._checkpoint(label), save(to_arrays(snapshot)))

    def finish(self, results: Mapping[str, Any], curves: Mapping[str, Curves]) -> dict[str, Any]:
        """Writes the results and the curves, and marks the run as finished; gives the manifest."""
        atomic.write_text(self.path / "results.json", dump_json(results, indent=2) + "\n")
        with atomic.replacing(self.path / "metrics.parquet") as scratch:
            _frame(curves).write_parquet(scratch)
        return self._write_manifest(finished=True)

    def _take_up(self, manifest: Path) -> float:
        found = read_json(manifest)
        if found.get("configuration") != json.loads(dump_json(self.configuration)):
            raise InputError(
                f"{self.path} was begun with other settings", fix="resume with the same, or choose another --out"
            )
        seconds = found.get("seconds")
        return float(seconds) if isinstance(seconds, int | float) else 0.0

    def _checkpoint(self, label: str) -> Path:
        return self.path / "checkpoints" / f"{label.replace(' ', '-').replace('/', '-')}.safetensors"

    def _write_manifest(self, *, finished: bool) -> dict[str, Any]:
        manifest = {
            "mccpo": __version__,
            "configuration": self.configuration,
            "finished": finished,
            "seconds": round(self._spent + time.monotonic() - self._begun, 3),
            "python": platform.python_version(),
            "libraries": {name: version(name) for name in _LIBRARIES},
            "device": jax.devices()[0].device_kind,
            "commit": _commit(),
        }
        self._written = True
        atomic.write_text(self.path / "manifest.json", dump_json(manifest, indent=2) + "\n")
        return manifest


def _check_writable(path: Path) -> None:
    """Refuses a folder that could not be written to at the end, before any work is done; leaves no trace."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise InputError(f"cannot write to {path}: {error.strerror or error}", fix="choose another --out") from error
    finally:
        for folder in missing:
            if folder.is_dir():
                folder.rmdir()


def read_json(path: Path) -> dict[str, Any]:
    """Reads a JSON object of a run folder."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}", fix="name the folder of a run") from error
    except ValueError as error:
        raise InputError(f"{path} is damaged: {error}", fix="run it again") from error
    if not isinstance(content, dict):
        raise InputError(f"{path} is not a JSON object", fix="run it again")
    return content


def read_curves(path: Path) -> dict[str, Curves]:
    """Reads the training curves of a run folder, by part."""
    try:
        frame = pl.read_parquet(path)
        return {str(part): _unframe(rows) for (part,), rows in frame.group_by(["part"], maintain_order=True)}
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"cannot read {path}: {error}", fix="run it again") from error


def read_checkpoint(path: Path) -> dict[str, np.ndarray]:
    """Reads the arrays of a checkpoint."""
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        fix = "delete it and resume; its part starts anew"
        raise InputError(f"{path} is not a checkpoint: {error}", fix=fix) from error


def _frame(curves: Mapping[str, Curves]) -> pl.DataFrame:
    frames = [
        pl.DataFrame(
            {
                "part": part,
                "method": method,
                "seed": np.repeat(np.arange(seeds := len(next(iter(metrics.values())))), len(found.episodes)),
                "episodes": np.tile(found.episodes, seeds),
                **{metric: values.ravel() for metric, values in metrics.items()},
            }
        )
        for part, found in curves.items()
        for method, metrics in found.values.items()
    ]
    return pl.concat(frames, how="diagonal")


def _unframe(rows: pl.DataFrame) -> Curves:
    episodes = rows["episodes"].unique(maintain_order=True).to_numpy()
    metrics = [name for name in rows.columns if name not in ("part", "method", "seed", "episodes")]
    return Curves(
        episodes,
        {
            str(method): {name: found[name].to_numpy().reshape(-1, len(episodes)) for name in metrics}
            for (method,), found in rows.group_by(["method"], maintain_order=True)
        },
    )


def _commit() -> str | None:
    """The commit of the source tree, where the code runs from a checkout of its own."""
    here = Path(__file__)
    try:
        for question in (["ls-files", "--error-unmatch", here.name], ["rev-parse", "HEAD"]):
            answer = subprocess.run(
                ["git", *question], cwd=here.parent, capture_output=True, text=True, check=True, timeout=5
            )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()
