"""A log's way in a process of its own, so that its memory is its own: `log_pipeline.py polars|mccpo FOLDER OUT`.

`polars` reads the CSV file and writes it as parquet, which is the least that anyone does with a log. `mccpo` goes from
the CSV file to the canonical table, written as parquet, the masteries, the episodes and the audit. Prints JSON.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import scipy.special  # noqa: F401 - the audit would load it on the way; no contender's imports are timed

from mccpo.logs import ema, episodes, load, writing_table
from mccpo.logs.audit import Audit, audit

LOG = "Log_Problem.csv"
ALPHA, K0, THRESHOLD, MINIMUM = 0.08, 0.2, 0.005, 30


def polars_alone(folder: Path, out: Path) -> dict[str, Any]:
    """What polars needs for reading and writing."""
    begun = time.perf_counter()
    pl.scan_csv(folder / LOG).sink_parquet(out)
    return {"seconds": time.perf_counter() - begun}


def ours(folder: Path, out: Path) -> dict[str, Any]:
    """The whole pipeline, what each of its stages took, and what came out."""
    marks = [("", time.perf_counter())]

    def done(stage: str) -> None:
        marks.append((stage, time.perf_counter()))

    logs = load(folder, "junyi-2020")
    done("read")
    with writing_table(logs.table, out):  # as `mccpo audit --table` does
        mastery = ema(logs.table, alpha=ALPHA, start=K0)
        done("mastery")
        episode_events = episodes(logs.table, minimum=MINIMUM, most=None)
        retained = np.isin(logs.table["learner"].to_physical(), episode_events["learner"].to_physical().unique())
        done("episodes")
        gains = {"ema": mastery["after"] - mastery["before"]}
        result = audit(logs.table, gains, threshold=THRESHOLD, retained=retained)
        done("audit")
    done("writing beside them")
    stages = {stage: end - begin for (_, begin), (stage, end) in pairwise(marks)}
    return {
        "seconds": marks[-1][1] - marks[0][1],
        "stages": stages,
        "result": {
            "interactions": logs.account.interactions,
            "learners": logs.account.learners,
            "episodes": int(episode_events["episode"].max()) + 1,  # type: ignore[arg-type]
            "retained": episode_events.height,
            "mean_mastery": float(mastery["after"].cast(pl.Float64).mean()),  # type: ignore[arg-type]
            "decoupled_by_signal": result.rate("signal").rate,
            "low": result.rate("signal").low,
            "high": result.rate("signal").high,
            "decoupled_by_ema": result.rate("ema").rate,
            "decoupled_in_episodes": result.rate("ema", "episodes").rate,
            "by_concept": _by(result, "concept", "signal"),
            "by_month": _by(result, "month", "ema"),
            "curve": [rate.rate for rate in result.curve("ema").rates],  # type: ignore[union-attr]
        },
    }


def _by(result: Audit, name: str, measure: str) -> dict[str, float | None]:
    breakdown = result.breakdown(name)
    assert breakdown is not None
    return {level.label: level.rates[measure].rate for level in breakdown.levels}


def peak_gib() -> float:
    """The most memory that this process has held: not by getrusage, which begins with the parent's."""
    match = re.search(r"^VmHWM:\s+(\d+) kB$", Path("/proc/self/status").read_text(encoding="ascii"), re.MULTILINE)
    assert match is not None
    return int(match[1]) / 2**20


_WAYS: dict[str, Callable[[Path, Path], dict[str, Any]]] = {"polars": polars_alone, "mccpo": ours}

if __name__ == "__main__":
    way, folder, out = sys.argv[1:]
    before = time.process_time()
    answer = _WAYS[way](Path(folder), Path(out))
    answer |= {"cpu_seconds": time.process_time() - before, "peak_gib": peak_gib()}
    sys.stdout.write(json.dumps(answer) + "\n")
