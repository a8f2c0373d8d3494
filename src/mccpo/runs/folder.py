"""The folder a run is kept in: what was asked, what came out, and what it needs to go on.

manifest.json     configuration, versions, commit, seeds, wall time, and whether the run is finished
results.json      the tables, as `--json` prints them
metrics.parquet   the training curves: one row per part, method, seed and point
checkpoints/      one file per part, from which `--resume` goes on to the same bits
policies.*        the policies of a run: see `mccpo.runs.policy_file`
certificates/     what `mccpo certify` found of it: see `mccpo.experiments.certification.certificates`
evaluations/      what `mccpo evaluate` found of it: see `mccpo.experiments.evaluations`
tensorboard/      the training curves as event files, on request: see `mccpo.runs.tensorboard`
report.html       the report
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mccpo import files
from mccpo._version import __version__
from mccpo.errors import InputError
from mccpo.files import dump_json, read_json
from mccpo.runs.checkpoints import Checkpoints, read_checkpoint
from mccpo.runs.policy_file import StoredPolicies, write_policy_file

if TYPE_CHECKING:
    from mccpo.evaluation import Curves  # which brings scipy: the service reads policies without it

_NO_RUN = "name the folder of a run"
_LIBRARIES = ("jax", "jaxlib", "equinox", "numpy", "scipy")


class RunFolder:
    """A run's folder: new, or resumed with the very configuration it was begun with.

    Nothing is written before there is something to keep, so that a call that turns out to be wrong leaves no trace.
    """

    def __init__(self, path: Path, configuration: Mapping[str, Any], *, resume: bool = False) -> None:
        self.path = path
        self.configuration = dict(configuration)
        self._begun = time.monotonic()
        self.checkpoints = Checkpoints(path / "checkpoints")
        self._arrived: set[str] = set()
        self._spent = 0.0
        manifest = path / "manifest.json"
        if resume:
            self._spent = self._take_up(manifest)
        elif manifest.exists():
            raise InputError(f"{path} already holds a run", fix="choose another --out, or go on with it by --resume")
        self._written = self.resumed = resume
        _check_writable(path)

    def load(self, label: str) -> dict[str, np.ndarray] | None:
        """The checkpoint of a part, if there is one."""
        path = self.checkpoints.path(label)
        return read_checkpoint(path) if (self.resumed or label in self._arrived) and path.exists() else None

    def save(self, label: str, arrays: Callable[[], Mapping[str, np.ndarray]], *, last: bool = False) -> None:
        """Keeps a checkpoint of a part, unless it did so a moment ago: only then are the arrays asked for."""
        if self.checkpoints.is_due(label) or last:
            if not self._written:
                self.mark(finished=False)
            self.checkpoints.write(label, arrays())

    def has_arrived(self, label: str) -> bool:
        """Whether another process has left the checkpoint of a part in this folder, as `arrive` said."""
        return label in self._arrived

    def arrive(self, label: str) -> None:
        """Says that another process has left the checkpoint of a part, which the run can go on from."""
        self._arrived.add(label)

    def finish(
        self, results: Mapping[str, Any], curves: Mapping[str, Curves], policies: Sequence[StoredPolicies] = ()
    ) -> dict[str, Any]:
        """Writes the results, the curves and the policies, and marks the run as finished; gives the manifest."""
        from mccpo.runs.curves import write_curves  # noqa: PLC0415 - polars: training need not wait for it

        if policies:
            write_policy_file(self.path, policies)
        files.write_text(self.path / "results.json", dump_json(results, indent=2) + "\n")
        write_curves(self.path / "metrics.parquet", curves)
        return self.mark(finished=True)

    def _take_up(self, manifest: Path) -> float:
        found = read_json(manifest, fix=_NO_RUN)
        if found.get("configuration") != json.loads(dump_json(self.configuration)):
            raise InputError(
                f"{self.path} was begun with other settings", fix="resume with the same, or choose another --out"
            )
        seconds = found.get("seconds")
        return float(seconds) if isinstance(seconds, int | float) else 0.0

    def mark(self, *, finished: bool) -> dict[str, Any]:
        """Writes the manifest, which says whether the run is finished; gives it."""
        manifest = {
            "mccpo": __version__,
            "configuration": self.configuration,
            "finished": finished,
            "seconds": round(self._spent + time.monotonic() - self._begun, 3),
            "python": platform.python_version(),
            "libraries": {name: version(name) for name in _LIBRARIES},
            "device": _device(),
            "commit": _commit(),
        }
        self._written = True
        files.write_text(self.path / "manifest.json", dump_json(manifest, indent=2) + "\n")
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


def read_run(run: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The manifest and the results of a finished run."""
    manifest = read_json(run / "manifest.json", fix=_NO_RUN)
    if not manifest.get("finished"):
        raise InputError(f"{run} is not finished", fix="finish it with --resume")
    results = read_json(run / "results.json", fix=_NO_RUN)
    if not (results.get("table") or results.get("tables")):
        raise InputError(f"{run / 'results.json'} has no tables", fix="run it again")
    return manifest, results


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


def _device() -> str | None:
    """What trained, where jax has been asked to; nothing here imports it."""
    jax = sys.modules.get("jax")
    return None if jax is None else jax.devices()[0].device_kind
