"""One pair of a benchmark, a method on an environment, in the benchmark's folder."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import jax
from safetensors.numpy import save

from mccpo import files
from mccpo.env import FiniteEnvironment, TrainTest, train_and_test
from mccpo.errors import InputError
from mccpo.exact import Values
from mccpo.experiments.anchors import reach_of
from mccpo.experiments.asked.floors import check_asked
from mccpo.experiments.benchmark.anchor import best_known
from mccpo.experiments.benchmark.cell import as_table, policies_of
from mccpo.experiments.benchmark.protocol import Protocol
from mccpo.experiments.benchmark.rows import folder_of, rows_of
from mccpo.experiments.benchmark.trial import Trial, attempt
from mccpo.experiments.options import Session
from mccpo.experiments.problem import Problem, pose
from mccpo.experiments.saved_policies import write_policies
from mccpo.files import dump_json, read_json
from mccpo.methods import Kind, MethodEntry, method_entry
from mccpo.runs import RunFolder


@dataclass(frozen=True)
class Benchmark:
    """Who is compared where, and how. `suite` is a name for it; `data` the folder of real data."""

    suite: str
    methods: tuple[str, ...]
    environments: tuple[str, ...]
    protocol: Protocol
    data: Path | None = None
    load: Callable[[str], MethodEntry] = field(default=method_entry)
    open: Callable[[str, Path | None], TrainTest] = field(default=train_and_test)

    def __post_init__(self) -> None:
        for what, names in (("method", self.methods), ("environment", self.environments)):
            if not names:
                raise InputError(f"no {what} is named", fix="name one or more, joined by commas")
            for name in names:
                if Path(name).name != name:  # each has a folder of that name
                    raise InputError(f"the {what} '{name}' has the name of a path", fix="leave it out, or rename it")


def problem_in(folder: Path, environment: str, benchmark: Benchmark, session: Session) -> Problem:
    """An environment and its anchors, which an earlier call may have left."""
    path = folder / "cells" / environment / "anchor.json"
    opened, protocol = benchmark.open(environment, benchmark.data), benchmark.protocol
    plan, floors = protocol.plan, protocol.floors
    check_asked(floors, opened.train)
    if isinstance(opened.test, FiniteEnvironment):
        return pose(opened.train, plan, session, name=environment, test=opened.test, floors=floors)
    if path.exists():
        kept = read_json(path, fix="delete it", damaged="delete it and resume")
        anchor, reference, reach = Values(**kept["anchor"]), Values(**kept["reference"]), kept.get("reach", {})
    else:
        anchor, reference = best_known(opened, protocol, session)
        reach = reach_of(opened.train, anchor, floors, protocol.search_plan, session)
        anchors = {"anchor": asdict(anchor), "reference": asdict(reference), "reach": reach}
        files.write_text(path, dump_json(anchors, indent=2) + "\n")
    return Problem(environment, opened.train, opened.test, anchor, reference, plan=plan, floors=floors, reach=reach)


def pair_in(
    folder: Path, problem: Problem, method: str, benchmark: Benchmark, session: Session, failed: Trial | None = None
) -> Trial:
    """One method on one environment, as it was finished before or is now; one that has `failed` is not tried again.

    The folder of a pair that is finished says so, and is left as it is.
    """
    path = folder / folder_of(problem.name, method)
    about = {"environment": problem.name, "method": method, **benchmark.protocol.as_json()}
    kept = RunFolder(path, about, resume=(path / "manifest.json").exists())
    if kept.resumed:
        return kept_trial(path)
    trial = failed or _tried(problem, method, benchmark, session)
    rows = rows_of(problem, trial, benchmark.protocol)
    content: dict[str, Any] = {"trial": trial.as_json(), "rows": [row.as_json() for row in rows]}
    if (table := as_table(problem, trial, benchmark.protocol)) is not None:
        content["tables"] = {problem.name: table.as_json()}
    if policies := policies_of(problem, trial, benchmark.load, benchmark.protocol):
        write_policies(path, policies)
    if trial.kind == "solver" and trial.policies:
        files.write_bytes(path / "tables.safetensors", save(trial.policies))
    files.write_text(path / "results.json", dump_json(content, indent=2) + "\n")
    kept.mark(finished=True)
    return trial


def _tried(problem: Problem, method: str, benchmark: Benchmark, session: Session) -> Trial:
    begun = time.monotonic()
    trial = attempt(problem, method, benchmark.load, benchmark.protocol, session)
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
