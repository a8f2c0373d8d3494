"""A fixed list of small calls through the command line and the service, and what they give.

`python tests/golden/calls.py FILE` writes all of it as JSON, every number to its last bit. Two versions on one machine
are compared by that file; `test_golden.py` compares this version with `golden.json`, to the digits that hold anywhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("MCCPO_CACHE", "")

from mccpo.cli import main
from mccpo.serve.policy import Releases, load_release
from mccpo.serve.record import Store
from mccpo.serve.service import BeginSession, Next, Outcome, Register, Service

SMALL = ["--seeds", "2", "--steps", "40000", "--no-cache"]
EPISODES = ["--seeds", "2", "--episodes", "2000", "--no-cache"]
LOGS = ["--rows", "6000", "--learners", "60"]

CALLS: dict[str, list[str]] = {
    "compare gate": ["compare", "gate", *EPISODES],
    "compare chain": ["compare", "chain", *EPISODES, "--kappa", "0.7,0.5"],
    "compare random-finite": ["compare", "random-finite", *EPISODES],
    "compare tutor-15": ["compare", "tutor-15", *SMALL, "--kappa", "0.9,0.5", "--out", "tutor"],
    "compare tutor-15-bkt": ["compare", "tutor-15-bkt", *SMALL],
    "solve chain": ["solve", "chain", "--budget", "c4=2.45", "--front", "c4", "--points", "5"],
    "solve gate": ["solve", "gate", "--kappa", "0.5"],
    "benchmark": [
        *["benchmark", "--envs", "gate,tutor-15", "--methods", "mc-cpo,cpo,zpdes", "--kappa", "0.7"],
        *["--seeds", "1", "--steps", "40000", "--no-search", "--no-cache", "--out", "bench"],
    ],
    "certify": ["certify", "tutor", "--part", "tutor-15 κ=0.9", "--episodes", "500"],
    "evaluate": ["evaluate", "tutor", "--episodes", "200"],
    "logs generate": ["logs", "generate", "junyi-2020", "--out", "logs", *LOGS],
    "derive": [
        *["curriculum", "derive", "logs/Info_Content.csv", "--recipe", "junyi-2020"],
        *["--out", "graph.json", "--members", "members.csv"],
    ],
    "audit": ["audit", "logs", "--format", "junyi-2020", "--restarts", "1", "--minimum", "10"],
    "prepare": [
        *["prepare", "logs", "--format", "junyi-2020", "--graph", "graph.json", "--members", "members.csv"],
        *["--horizon", "20", "--restarts", "1", "--out", "mine"],
    ],
    "compare prepared": ["compare", "mine", *SMALL, "--methods", "unconstrained,mc-cpo", "--out", "prepared"],
}

PASSING = {"seconds", "whole_seconds", "train_seconds", "search_seconds", "judge_seconds", "seconds_per_seed"}
"""What no two calls have in common: times."""


def call(arguments: list[str]) -> Any:
    """What a command prints with `--json`, and its exit code where that is not 0."""
    out = io.StringIO()
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()) as said:
        try:
            main([*arguments, "--json"])
        except SystemExit as end:
            code = int(end.code or 0)
    if not out.getvalue():
        raise RuntimeError(f"{arguments} said nothing but {said.getvalue()[-500:]}")
    return {"exit": code, "out": without_times(json.loads(out.getvalue()))}


def without_times(value: Any) -> Any:
    """The same without times, and without the paths of this run."""
    if isinstance(value, dict):
        return {key: without_times(entry) for key, entry in value.items() if key not in PASSING}
    if isinstance(value, list):
        return [without_times(entry) for entry in value]
    return value


async def served(run: Path) -> list[Any]:
    """What a service decides for two learners, its clock and its draws fixed."""
    release = load_release(run, part="tutor-15 κ=0.9")
    ticks, draws, told = iter(range(1_700_000_000_000, 1_800_000_000_000, 1000)), iter(range(10**6)), []
    clock, draw = lambda: next(ticks), lambda: (next(draws) * 0.618) % 1
    async with Service(Store(str(run / "golden.db")), Releases(release), clock=clock, draw=draw) as service:
        for name in ("Ana", "Bo"):
            learner = (await service.register("t", Register(name))).id
            await service.begin_session("t", BeginSession(learner))
            for step in range(12):
                decision = await service.next("t", Next(learner))
                outcome = await service.outcome("t", Outcome(decision.id, step % 3 > 0))
                told.append([decision.concept, decision.activity, decision.certificate, outcome.before, outcome.after])
    return json.loads(json.dumps(told, default=vars))


def everything(folder: Path) -> dict[str, Any]:
    """What all calls give, made in a folder."""
    with contextlib.chdir(folder):
        given = {}
        for name, arguments in CALLS.items():
            sys.stderr.write(f"{name}\n")
            given[name] = call(arguments)
        given["served"] = asyncio.run(served(Path("tutor").resolve()))
    return given


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        Path(sys.argv[1]).write_text(json.dumps(everything(Path(temporary)), indent=1, sort_keys=True))
