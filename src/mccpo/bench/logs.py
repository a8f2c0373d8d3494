"""How fast a log becomes an audit: beside polars, which only reads and writes it, and beside a plain pandas pipeline.

The logs are made up, of Junyi's release in schema and, at the largest size, in rows. Every measurement is a process of
its own, so that its peak of memory is its own; polars and mccpo take turns, and of each the best round counts.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mccpo.bench.peer import PeerMissing, environment
from mccpo.errors import InputError, MccpoError
from mccpo.logs.audit import THRESHOLD, THRESHOLDS
from mccpo.logs.synthetic import generate

ROWS = (1_000_000, 4_000_000, 16_200_000)
PANDAS_ROWS = 1_000_000
"""The most rows that pandas is given."""
ROUNDS = 3
LINEAR = 1.25
"""How many times as long a row may take in the largest log as in the smallest."""
TOLERANCE = 1e-6
ON_THE_CURVE = 1e-5
"""Gains are kept in 32 bits, so that a few can fall on the other side of one of the curve's thresholds."""
_PEERS = Path(__file__).with_name("peers")
_REQUIREMENTS = ("pandas", "pyarrow", "scipy")


@dataclass(frozen=True)
class PipelineRun:
    """What one process took, and what it found; a peer need not say all of it."""

    seconds: float
    cpu_seconds: float = math.nan
    peak_gib: float = math.nan
    stages: Mapping[str, float] | None = None
    result: Mapping[str, Any] | None = None

    def as_json(self) -> dict[str, Any]:
        """The run without its result, as plain values, for JSON."""
        stages = {} if self.stages is None else {"stages": dict(self.stages)}
        return {"seconds": self.seconds, **stages, "cpu_seconds": self.cpu_seconds, "peak_gib": self.peak_gib}


@dataclass(frozen=True)
class SizeResult:
    """What polars and mccpo take for a log of one size, the best round of each."""

    rows: int
    learners: int
    polars: PipelineRun
    mccpo: PipelineRun

    def as_json(self) -> dict[str, Any]:
        """The result as plain values, for JSON."""
        return {
            "rows": self.rows,
            "learners": self.learners,
            "polars": self.polars.as_json(),
            "mccpo": self.mccpo.as_json(),
            "ratio": self.mccpo.seconds / self.polars.seconds,
            "cpu_ratio": self.mccpo.cpu_seconds / self.polars.cpu_seconds,
        }


@dataclass(frozen=True)
class PandasResult:
    """What pandas takes, how many times as long as mccpo, and what it finds otherwise; or why it is missing."""

    rows: int
    seconds: float | None = None
    ratio: float | None = None
    differences: Sequence[str] = ()
    missing: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The result as plain values, for JSON."""
        if self.missing is not None:
            return {"rows": self.rows, "missing": self.missing}
        return {
            "rows": self.rows, "seconds": self.seconds, "ratio": self.ratio,
            "equal": not self.differences, "differences": list(self.differences[:5]),
        }  # fmt: skip


@dataclass(frozen=True)
class LogsBench:
    """All that is measured."""

    cores: int
    rounds: int
    sizes: tuple[SizeResult, ...]
    pandas: PandasResult | None

    @property
    def linear(self) -> bool | None:
        """Whether a row takes about as long in the largest log as in the smallest; None where there is one size."""
        per_row = [size.mccpo.seconds / size.rows for size in self.sizes]
        return per_row[-1] <= LINEAR * per_row[0] if len(self.sizes) > 1 else None

    def as_json(self) -> dict[str, Any]:
        """The measurements as plain values, for JSON."""
        pandas = {} if self.pandas is None else {"pandas": self.pandas.as_json()}
        sizes = [size.as_json() for size in self.sizes]
        return {"cores": self.cores, "rounds": self.rounds, "sizes": sizes, **pandas, "linear": self.linear}


def measure(rows: Sequence[int], cache: Path | None, note: Callable[[str], None], rounds: int = ROUNDS) -> LogsBench:
    """Times polars and mccpo at every size, and pandas at the smallest where that is not too large for it."""
    wanted = sorted(set(rows))
    if not wanted or wanted[0] < 1000:
        raise InputError("a log of fewer than 1000 rows says nothing about speed", fix="give larger --rows")
    sizes: list[SizeResult] = []
    pandas = None
    for size in wanted:
        with tempfile.TemporaryDirectory(prefix="mccpo-bench-") as folder:
            note(f"{size:,} rows: making the log")
            log = Path(folder) / "junyi"
            generate("junyi-2020", log, rows=size)
            note(f"{size:,} rows: {(log / 'Log_Problem.csv').stat().st_size / 2**30:.2f} GiB")
            sizes.append(_contest(size, log, rounds, note))
            if size == wanted[0] and size <= PANDAS_ROWS:
                pandas = _pandas(size, log, sizes[-1].mccpo, cache, note)
    return LogsBench(_cores(), rounds, tuple(sizes), pandas)


def differences(ours: Any, theirs: Any, where: str = "") -> list[str]:
    """What two results do not agree on: counts to the last, rates and means to a millionth."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        names = [*ours, *(name for name in theirs if name not in ours)]
        return [line for name in names for line in differences(ours.get(name), theirs.get(name), f"{where}.{name}")]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = zip(ours, theirs, strict=True)
        return [line for at, pair in enumerate(pairs) for line in differences(*pair, f"{where}[{at}]")]
    nearly = ON_THE_CURVE if "curve" in where else TOLERANCE
    if isinstance(ours, float) and isinstance(theirs, float) and math.isclose(ours, theirs, rel_tol=0, abs_tol=nearly):
        return []
    return [] if ours == theirs else [f"{where.removeprefix('.')}: {ours} and {theirs}"]


def _contest(size: int, log: Path, rounds: int, note: Callable[[str], None]) -> SizeResult:
    """What polars and mccpo take at one size, and what mccpo found."""
    best: dict[str, PipelineRun] = {}
    for turn in range(rounds):
        for way in ("polars", "mccpo"):
            run = _process(sys.executable, "log_pipeline.py", way, str(log), str(log.parent / f"{way}.parquet"))
            note(f"{size:,} rows, round {turn + 1}: {way} {run.seconds:.2f} s, {run.peak_gib:.2f} GiB")
            if way not in best or run.seconds < best[way].seconds:
                best[way] = run
    result = best["mccpo"].result
    assert result is not None
    return SizeResult(size, result["learners"], best["polars"], best["mccpo"])


def _pandas(size: int, log: Path, ours: PipelineRun, cache: Path | None, note: Callable[[str], None]) -> PandasResult:
    try:
        python = environment("pandas", _REQUIREMENTS, cache, note)
        thresholds = json.dumps(sorted({*THRESHOLDS, THRESHOLD}))
        run = _process(str(python), "pandas_logs.py", str(log), str(log.parent / "pandas.parquet"), thresholds)
    except PeerMissing as missing:
        return PandasResult(size, missing=str(missing))
    unlike = differences(ours.result, run.result)
    return PandasResult(size, run.seconds, run.seconds / ours.seconds, unlike)


def _process(python: str, script: str, *arguments: str) -> PipelineRun:
    if shutil.which(python) is None:
        raise MccpoError(f"there is no {python} to run {script} with")
    command = [python, "-W", "ignore", str(_PEERS / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MccpoError(f"{script} failed: {(done.stderr.splitlines() or ['no reason given'])[-1]}")
    answer = json.loads(done.stdout.splitlines()[-1])
    return PipelineRun(**answer)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
