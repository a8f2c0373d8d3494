"""MaskablePPO of sb3-contrib as a contender, in an environment of its own that this module creates.

torch is never a dependency of ours, so the peer lives in a virtual environment in the cache folder, which later benches
find again. It gets what lets it win: besides our Gymnasium adapter, whose every step goes through jax, the tutor
in NumPy for all learners at once; and besides its defaults, a trunk shared by policy and value, and distributions that
do not check their arguments.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

import mccpo
from mccpo import files
from mccpo.methods import Sizes

REQUIREMENTS = ("torch==2.13.0", "sb3-contrib", "gymnasium")
SHARED = ("jax", "jaxlib", "equinox", "jaxtyping", "numpy")  # what our environments need, in the versions that run here
SCRIPT = Path(__file__).with_name("peers") / "maskable_ppo.py"


class PeerMissing(Exception):  # noqa: N818 - a finding, not a fault
    """The peer cannot be measured here, for the reason it says in one line."""


@dataclass(frozen=True)
class Variant:
    """How MaskablePPO is run, in words and as the script takes it."""

    name: str
    environment: str = "numpy"
    shared: bool = True
    checked: bool = False


VARIANTS = (
    Variant("MaskablePPO, Gymnasium adapter", environment="gymnasium", shared=False, checked=True),
    Variant("MaskablePPO, NumPy environments", shared=False, checked=True),
    Variant("MaskablePPO, NumPy environments, shared trunk, unchecked"),
)
"""From how it comes to how it is fastest."""


def prepare(cache: Path | None, note: Callable[[str], None]) -> Path:
    """The Python of the peer's environment, which is created where it is not there yet, or else PeerMissing raised."""
    shared = [f"{name}=={version(name)}" for name in SHARED]
    python = environment("MaskablePPO", [*REQUIREMENTS, *shared], cache, note)
    _link_ourselves(python)
    return python


def environment(peer: str, requirements: Sequence[str], cache: Path | None, note: Callable[[str], None]) -> Path:
    """The Python of an environment with these packages, found in the cache folder or created there."""
    if cache is None:
        raise PeerMissing("there is no folder to create its environment in; name one with MCCPO_CACHE")
    folder = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", peer).lower()
    home = cache / f"{folder}-{sys.version_info.major}.{sys.version_info.minor}"
    python = home / "bin" / "python"
    recipe = "\n".join(requirements) + "\n"
    written = home / "recipe.txt"
    if not python.exists() or not written.exists() or written.read_text(encoding="utf-8") != recipe:
        note(f"creating an environment for {peer} in {home}")
        shutil.rmtree(home, ignore_errors=True)
        call(sys.executable, "-m", "venv", str(home))
        call(str(python), "-m", "pip", "install", "--quiet", "--retries", "1", *recipe.split())
        files.write_text(written, recipe)
    return python


def call(*command: str) -> None:
    """Runs a command that helps to create an environment; PeerMissing says why it failed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise PeerMissing(f"cannot run {command[0]}: {error.strerror}") from error
    if done.returncode:
        raise PeerMissing(f"its environment cannot be created: {_reason(done.stderr + done.stdout)}")


def _link_ourselves(python: Path) -> None:
    """Lets the peer import this very package, whose `mccpo.env` needs no more than its environment holds."""
    for folder in python.parents[1].glob("lib/python*/site-packages"):
        link = folder / "mccpo"
        link.unlink(missing_ok=True)
        link.symlink_to(Path(mccpo.__file__).parent)


def _reason(output: str) -> str:
    """The line of an output that says what went wrong."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error")]
    return (errors or lines or ["it does not say why"])[-1]


class Workers:
    """Processes of the peer, each with one thread and its share of the seeds, for as long as the block lasts."""

    def __init__(self, python: Path, processes: int) -> None:
        self._python = python
        self._count = processes
        self._stack = ExitStack()
        self._processes: list[subprocess.Popen[str]] = []
        self._complaints: list[IO[str]] = []
        self.versions: dict[str, str] = {}

    def __enter__(self) -> Workers:
        with ExitStack() as stack:
            for _ in range(self._count):
                self._complaints.append(stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8")))
                self._processes.append(stack.enter_context(_process(self._python, self._complaints[-1])))
            self.versions = self._answers()[0]
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def train(self, variant: Variant, sizes: Sizes, seeds: int, iterations: int) -> float:
        """Steps of all seeds per second; a first request, of no iterations, builds the learners."""
        how = asdict(variant) | {"sizes": asdict(sizes), "iterations": iterations}
        begun = time.perf_counter()
        for at, process in enumerate(self._processes):
            share = list(range(at, seeds, len(self._processes)))
            assert process.stdin is not None
            with suppress(BrokenPipeError):  # that it has stopped shows in the answer it does not give
                process.stdin.write(json.dumps(how | {"seeds": share}) + "\n")
                process.stdin.flush()
        steps = sum(answer["steps"] for answer in self._answers())
        return steps / (time.perf_counter() - begun)

    def _answers(self) -> list[Any]:
        return [self._answer(process, at) for at, process in enumerate(self._processes)]

    def _answer(self, process: subprocess.Popen[str], at: int) -> Any:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            self._complaints[at].seek(0)
            raise PeerMissing(f"it stopped: {_reason(self._complaints[at].read())}")
        return json.loads(line)


@contextmanager
def _process(python: Path, complaints: IO[str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [python, str(SCRIPT)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints, text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"},
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


class Peer:
    """MaskablePPO in one variant at one setting: steps per second."""

    def __init__(self, workers: Workers, variant: Variant, sizes: Sizes, seeds: int, iterations: int) -> None:
        self._workers = workers
        self._request = (variant, sizes, seeds)
        self._iterations = iterations
        workers.train(*self._request, iterations=0)

    def round(self) -> float:
        """Steps of all seeds per second."""
        return self._workers.train(*self._request, iterations=self._iterations)
