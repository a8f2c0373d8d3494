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
from collections.abc import Callable, Sequence
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


def measure(
    rows: Sequence[int], cache: Path | None, note: Callable[[str], None], rounds: int = ROUNDS
) -> dict[str, Any]:
    """Times polars and mccpo at every size, and pandas at the smallest where that is not too large for it."""
    sizes = sorted(set(rows))
    if not sizes or sizes[0] < 1000:
        raise InputError("a log of fewer than 1000 rows says nothing about speed", fix="give larger --rows")
    found: dict[str, Any] = {"cores": _cores(), "rounds": rounds, "sizes": []}
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="mccpo-bench-") as folder:
            note(f"{size:,} rows: making the log")
            log = Path(folder) / "junyi"
            generate("junyi-2020", log, rows=size)
            note(f"{size:,} rows: {(log / 'Log_Problem.csv').stat().st_size / 2**30:.2f} GiB")
            ours = _contest(size, log, found, note)
            if size == sizes[0] and size <= PANDAS_ROWS:
                found["pandas"] = _pandas(size, log, ours, cache, note)
    per_row = [entry["mccpo"]["seconds"] / entry["rows"] for entry in found["sizes"]]
    found["linear"] = per_row[-1] <= LINEAR * per_row[0] if len(sizes) > 1 else None
    return found


def differences(one: Any, other: Any, where: str = "") -> list[str]:
    """What two results do not agree on: counts to the last, rates and means to a millionth."""
    if isinstance(one, dict) and isinstance(other, dict):
        names = [*one, *(name for name in other if name not in one)]
        return [line for name in names for line in differences(one.get(name), other.get(name), f"{where}.{name}")]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = zip(one, other, strict=True)
        return [line for at, pair in enumerate(pairs) for line in differences(*pair, f"{where}[{at}]")]
    nearly = ON_THE_CURVE if "curve" in where else TOLERANCE
    if isinstance(one, float) and isinstance(other, float) and math.isclose(one, other, rel_tol=0, abs_tol=nearly):
        return []
    return [] if one == other else [f"{where.removeprefix('.')}: {one} and {other}"]


def _contest(size: int, log: Path, found: dict[str, Any], note: Callable[[str], None]) -> dict[str, Any]:
    """Adds what polars and mccpo take at one size, and returns what mccpo found."""
    best: dict[str, dict[str, Any]] = {}
    for turn in range(found["rounds"]):
        for way in ("polars", "mccpo"):
            done = _process(sys.executable, "log_pipeline.py", way, str(log), str(log.parent / f"{way}.parquet"))
            note(f"{size:,} rows, round {turn + 1}: {way} {done['seconds']:.2f} s, {done['peak_gib']:.2f} GiB")
            if way not in best or done["seconds"] < best[way]["seconds"]:
                best[way] = done
    ours = best["mccpo"]
    result = ours.pop("result")
    ratios = {
        name: ours[what] / best["polars"][what] for name, what in (("ratio", "seconds"), ("cpu_ratio", "cpu_seconds"))
    }
    found["sizes"].append({"rows": size, "learners": result["learners"], **best, **ratios})
    return {"seconds": ours["seconds"], "result": result}


def _pandas(
    size: int, log: Path, ours: dict[str, Any], cache: Path | None, note: Callable[[str], None]
) -> dict[str, Any]:
    try:
        python = environment("pandas", _REQUIREMENTS, cache, note)
        thresholds = json.dumps(sorted({*THRESHOLDS, THRESHOLD}))
        done = _process(str(python), "pandas_logs.py", str(log), str(log.parent / "pandas.parquet"), thresholds)
    except PeerMissing as missing:
        return {"rows": size, "missing": str(missing)}
    unlike = differences(ours["result"], done["result"])
    return {
        "rows": size, "seconds": done["seconds"], "ratio": done["seconds"] / ours["seconds"],
        "equal": not unlike, "differences": unlike[:5],
    }  # fmt: skip


def _process(python: str, script: str, *arguments: str) -> dict[str, Any]:
    if shutil.which(python) is None:
        raise MccpoError(f"there is no {python} to run {script} with")
    command = [python, "-W", "ignore", str(_PEERS / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MccpoError(f"{script} failed: {(done.stderr.splitlines() or ['no reason given'])[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
