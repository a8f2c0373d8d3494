"""A tutor made of a graph, to be served at once; made by a process of its own, so that jax stays out of the service."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

from mccpo.cli.commands.tutor.command import PROMISES, name_of
from mccpo.cli.console.output import note
from mccpo.errors import GateFailed, InputError, MccpoError
from mccpo.files import read_json

_PREPARED = Path("prepared") / "curriculum.json"


def tutor_of_graph(graph: Path, out: Path | None, *, keyed: bool) -> Path:
    """The run of a graph's tutor: the one that is there, or a new one, beside the graph unless `out` names its folder.

    `keyed` is whether a file of keys is named, or none are asked for: a run that is yet to be made has none of its own.
    One that could not promise what was asked for is refused.
    """
    run = out or graph.with_name(f"{name_of(graph)}-tutor")
    if (run / "manifest.json").exists():
        _refuse_other_graph(run, graph)
        _refuse_unfinished(run, graph)
        note(f"{run} is the tutor of {graph}, made before: it is served as it is")
    else:
        if not keyed:
            raise InputError(
                "every request needs a key, and a run that is yet to be made has none",
                fix="add --no-keys for this machine alone, or name a file of keys with --keys",
            )
        _make(graph, run)
    promises = read_json(run / PROMISES, fix=f"make it again: {_call(graph, run)}")
    if promises.get("passed") is not True:
        raise GateFailed(
            f"{run} could not promise what was asked for ({run / PROMISES} says what); "
            f"`mccpo serve {run}` serves it nevertheless"
        )
    return run


def method_of(run: Path) -> str | None:
    """The method that is the tutor of a run which was made of a graph: a rule may have taken the policy's place."""
    path = run / PROMISES
    method = read_json(path, fix="make the run again").get("method") if path.exists() else None
    return method if isinstance(method, str) else None


def _make(graph: Path, run: Path) -> None:
    """Makes the run; what its process says goes to stderr, but for the last line of one that failed."""
    command = [sys.executable, "-m", "mccpo", "tutor", str(graph), "--out", str(run)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8") as made:
        assert made.stderr is not None
        assert made.stdout is not None
        last = ""
        for line in made.stderr:
            if last:
                note(last)
            last = line
        if text := made.stdout.read():
            note(text)
    if made.returncode == 0:
        note(last)
    elif made.returncode == InputError.exit_code:
        what, _, fix = last.removeprefix("mccpo: ").strip().rpartition("; ")
        raise InputError(what, fix=fix)
    elif made.returncode != GateFailed.exit_code:
        raise MccpoError(f"no tutor could be made of {graph}: {last.removeprefix('mccpo: ').strip()}")


def _call(graph: Path, run: Path, *more: str) -> str:
    """The command that makes a tutor, as a shell takes it."""
    return shlex.join(["mccpo", "tutor", str(graph), "--out", str(run), *more])


def _refuse_unfinished(run: Path, graph: Path) -> None:
    """Refuses a run that was stopped before its promises were known."""
    if not (run / PROMISES).exists():
        raise InputError(f"{run} is not finished", fix=f"finish it: {_call(graph, run, '--resume')}")


def _refuse_other_graph(run: Path, graph: Path) -> None:
    """Refuses a run of something else than this graph."""
    from mccpo.curriculum import Curriculum

    kept = run / _PREPARED
    own = Curriculum.read(kept) if kept.exists() else None
    stated = Curriculum.read(graph)
    if own is None or (set(own.concepts), set(own.edges)) != (set(stated.concepts), set(stated.edges)):
        raise InputError(f"{run} holds the run of something else than {graph}", fix="name another folder with --out")
