"""The evaluations of a run, which its folder keeps: each in a file of its own.

```
evaluations/METHOD.PART.on-ENV.seed-1.json
```

A part of the name is left out where nothing is said of it. The same evaluation, made again, is the same file.
"""

from __future__ import annotations

import re
from pathlib import Path

from mccpo import files
from mccpo.errors import InputError
from mccpo.files import dump_json, read_json
from mccpo.runs import digest
from mccpo.runs.results import Evaluation, Results

FOLDER = "evaluations"
_AGAIN = "run `mccpo evaluate` again"


def keep_evaluation(
    run: Path, tables: list[Results], *, on: str | None = None, method: str | None = None, part: str | None = None
) -> Path:
    """Keeps an evaluation in the folder of its run; `on`, `method` and `part` are what was asked for."""
    where = "" if on is None else Path(on).stem
    seed = tables[0].protocol["seed"]
    named = [method or "", part or "", f"on-{where}" if where else "", f"seed-{seed}"]
    name = ".".join(re.sub(r"[^\w.=-]+", "-", word).strip("-") for word in named if word)
    path = run / FOLDER / f"{name}.json"
    evaluation = Evaluation(where, digest(run), tuple(tables))
    files.write_text(path, dump_json(evaluation.as_json(), indent=2) + "\n")
    return path


def evaluation_files(run: Path) -> list[Path]:
    """The files of all evaluations of a run."""
    return sorted((run / FOLDER).glob("*.json"))


def read_evaluation(run: Path, path: Path) -> Evaluation:
    """One evaluation of a run; one of other policies than the run's is refused."""
    evaluation = Evaluation.parse(read_json(path, fix=_AGAIN), path)
    if evaluation.policies != digest(run):
        raise InputError(f"{path} is about other policies than those of the run", fix=_AGAIN)
    return evaluation
