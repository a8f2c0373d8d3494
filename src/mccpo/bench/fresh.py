"""What only a fresh process can tell: how long it compiles, how much memory it takes, how soon it trains.

Run as a module with the name of a measurement, it prints the result as one JSON object.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import jax

from mccpo.env import make
from mccpo.errors import MccpoError
from mccpo.methods import ITERATIONS, PAPER_METHODS, MethodSpec, NeuralPlan, Sizes, method_spec, train_neural

ENVIRONMENT = "tutor-15"
BUDGETS = {"c2": 0.8, "c3": 17.0, "c4": 24.0}
COMPARE = ("compare", ENVIRONMENT, "--methods", "mc-cpo", "--seeds", "2", "--steps", str(ITERATIONS * Sizes().steps))
NO_CACHE = {"JAX_ENABLE_COMPILATION_CACHE": "false"}


@dataclass(frozen=True)
class Compilation:
    """Seconds that one training spends on compiling."""

    compile_seconds: float


@dataclass(frozen=True)
class Memory:
    """The most memory that a process held while it trained so many runs."""

    runs: int
    peak_gib: float

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def compilation_apart() -> Compilation:
    """How long a process of its own compiles."""
    return Compilation(**measure_apart("compiling"))


def memory_apart() -> Memory:
    """How much memory a process of its own takes."""
    return Memory(**measure_apart("memory"))


def measure_apart(name: str) -> Any:
    """Runs a measurement in a process of its own, which compiles everything itself; gives its fields."""
    command = [sys.executable, "-m", __name__, name]
    done = subprocess.run(command, capture_output=True, text=True, env=_environment() | NO_CACHE, check=False)
    if done.returncode:
        raise MccpoError(f"measuring {name} failed: {(done.stderr.splitlines() or ['no reason given'])[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def compiling() -> Compilation:
    """Seconds that one training spends on compiling, from the first trace to the last program."""
    spent: list[float] = []

    def add(event: str, duration_secs: float, **_: str | int) -> None:
        if event.startswith("/jax/core/compile/"):
            spent.append(duration_secs)

    jax.monitoring.register_event_duration_secs_listener(add)
    plan = NeuralPlan(2 * ITERATIONS * Sizes().steps, seeds=1)
    train_neural(make(ENVIRONMENT), [_plain("mc-cpo")], BUDGETS, plan)
    return Compilation(sum(spent))


def memory() -> Memory:
    """The most memory that this process has ever held, after training all methods with ten seeds."""
    plan = NeuralPlan(2 * ITERATIONS * Sizes().steps, seeds=10)
    train_neural(make(ENVIRONMENT), [_plain(name) for name in PAPER_METHODS], BUDGETS, plan)
    # Not getrusage: what it gives begins with the memory of the process that started this one.
    peak = re.search(r"^VmHWM:\s+(\d+) kB$", Path("/proc/self/status").read_text(encoding="ascii"), re.MULTILINE)
    assert peak is not None
    return Memory(len(PAPER_METHODS) * plan.seeds, int(peak[1]) / 2**20)


def seconds_to_train() -> tuple[float, float]:
    """Seconds from the start of `mccpo compare` to its first trained point: with an empty cache, and once more."""
    with tempfile.TemporaryDirectory(prefix="mccpo-bench-") as folder:
        first, second = (_seconds_to_train(Path(folder), f"run-{turn}") for turn in range(2))
    return first, second


def _seconds_to_train(folder: Path, out: str) -> float:
    environment = _environment() | {"MCCPO_CACHE": str(folder / "cache")}
    command = [sys.executable, "-m", "mccpo", *COMPARE, "--out", out]
    begun, seconds = time.perf_counter(), None
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        lines = []
        for line in process.stderr:
            lines.append(line.strip())
            # The stage of mc-cpo, not the unconstrained one.
            if seconds is None and line.startswith(f"{ENVIRONMENT}: "):
                seconds = time.perf_counter() - begun
    if process.returncode or seconds is None:
        raise MccpoError(f"`mccpo {' '.join(COMPARE)}` failed: {(lines or ['no reason given'])[-1]}")
    return seconds


def _environment() -> dict[str, str]:
    """The variables of this process but those that would change what is measured."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("MCCPO_", "JAX_COMPILATION_"))}


def _plain(name: str) -> MethodSpec:
    """A method with the network that all of them can have, so that one program trains them."""
    return replace(method_spec(name), shared=False)


_MEASUREMENTS: dict[str, Callable[[], Compilation | Memory]] = {"compiling": compiling, "memory": memory}

if __name__ == "__main__":
    sys.stdout.write(json.dumps(asdict(_MEASUREMENTS[sys.argv[1]]())) + "\n")
