"""Cells on a Ray cluster: one cell is one task, and Ray says where and when it runs.

Ray alone keeps the queue, watches the nodes, and does again what was under way on a node that died. A task starts a
process of its own for its cell (`mccpo.work.child`), as several jobs on one machine do. So a cell that crashes, runs
out of memory or takes too long is an ending like any other, and not a fault that Ray would try again.

The nodes must have the same version of mccpo, and must see the folders of the command under the same paths.
"""

from __future__ import annotations

import logging
import os
import pickle
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from mccpo._version import __version__
from mccpo.errors import InputError
from mccpo.work.cell import Agenda, Cell, Ending, line
from mccpo.work.child import Child
from mccpo.work.cores import CORES

TRIES = 3
"""How many more times Ray begins a cell whose node died."""
SHARE = 0.25
"""The part of a GPU that a cell takes where the cluster has GPUs: a small network does not fill one."""
_CARRIED = ("MCCPO_", "JAX_", "XLA_")
"""Variables of the command that its cells have too: they decide what a computation gives, and where data is."""
_THREADS = (CORES, "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")
_REACH = 10.0  # seconds to reach the head of the cluster
_LOOK = 1.0  # seconds after which waiting is interrupted, for Ctrl-C


class Conditions(NamedTuple):
    """What a cell finds on its node: the version, the folder that paths start from, where modules are, variables."""

    version: str
    folder: str
    modules: tuple[str, ...]
    variables: Mapping[str, str]


@dataclass(frozen=True)
class RayCluster:
    """A cluster that runs already: its `address`, or "auto" for the one of this machine.

    A cell takes `cpus` cores and `gpus` of a GPU; by default a quarter of one where the cluster has GPUs.
    """

    address: str
    cpus: int = 1
    gpus: float | None = None

    def __post_init__(self) -> None:
        if self.cpus < 1:
            raise InputError(f"a cell would have {self.cpus} CPUs", fix="give 1 or more with --cell-cpus")
        if self.gpus is not None and not 0 <= self.gpus < float("inf"):
            raise InputError(f"a cell would have {self.gpus} GPUs", fix="give 0 or more with --cell-gpus")

    def check(self) -> None:
        """Refuses a cluster that is not there, before anything is written."""
        with _connected(self.address):
            pass

    def do(self, cells: Sequence[Cell], ended: Callable[[Cell, Ending], None]) -> None:
        """Does cells, and calls `ended` here as each of them ends."""
        with _connected(self.address) as ray:
            gpus = self._check(ray.nodes())
            conditions = Conditions(__version__, str(Path.cwd()), tuple(sys.path), _variables(self.cpus, gpus))
            # A worker does cell after cell: each has a process of its own, and to start a worker takes longer.
            task = ray.remote(max_calls=0, max_retries=TRIES, num_cpus=self.cpus, num_gpus=gpus)(do_cell)
            agenda, running = Agenda(cells), dict[Any, Cell]()
            try:
                while agenda or running:
                    while (cell := agenda.next()) is not None:
                        running[task.remote(pickle.dumps(cell), cell.limit, conditions)] = cell
                    for reference in ray.wait(list(running), timeout=_LOOK)[0]:
                        cell = running.pop(reference)
                        agenda.end(cell, ending := _ending(ray, reference))
                        ended(cell, ending)
            finally:  # also when Ctrl-C was pressed
                for reference in running:
                    ray.cancel(reference, force=True)
                if running:
                    ray.wait(list(running), num_returns=len(running), timeout=10)

    def _check(self, nodes: Sequence[Mapping[str, Any]]) -> float:
        """Refuses cells that no node is large enough for, which Ray would wait for without end; gives their GPUs."""
        alive = [node["Resources"] for node in nodes if node["Alive"]]
        gpus = self.gpus
        if gpus is None:
            gpus = SHARE if any(resources.get("GPU", 0) for resources in alive) else 0.0
        if not any(node.get("CPU", 0) >= self.cpus and node.get("GPU", 0) >= gpus for node in alive):
            raise InputError(
                f"no node of the Ray cluster has {self.cpus} CPUs and {gpus:g} GPUs",
                fix="give less with --cell-cpus and --cell-gpus, or add a node",
            )
        return gpus


def do_cell(content: bytes, limit: float | None, conditions: Conditions) -> Ending:
    """What a task does, on any node: starts the process of a pickled cell, waits, and says how the cell ended."""
    here = socket.gethostname()
    if conditions.version != __version__:
        return Ending("error", f"{here} has mccpo {__version__}, and not {conditions.version}")
    try:
        os.chdir(conditions.folder)
    except OSError:
        return Ending("error", f"{here} has no folder {conditions.folder}: the nodes must share it")
    sys.path += [place for place in conditions.modules if place not in sys.path]
    os.environ.update(conditions.variables)  # the process has them from its start, before it imports jax
    return Child.start(content, limit).wait()


def _variables(cpus: int, gpus: float) -> dict[str, str]:
    """The variables of a cell: those carried along, its threads, and its share of a GPU's memory."""
    carried = {name: value for name, value in os.environ.items() if name.startswith(_CARRIED)}
    threads = dict.fromkeys(_THREADS, str(cpus))
    memory = {"XLA_PYTHON_CLIENT_MEM_FRACTION": f"{0.9 * gpus:.3f}"} if 0 < gpus < 1 else {}
    return memory | carried | threads


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    """Ray, connected to a cluster for the time of the block."""
    # An out-of-memory kill is a finding about the cell; by default Ray would try again without end.
    os.environ.setdefault("RAY_task_oom_retries", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray  # noqa: PLC0415 - an extra, and only where it is asked for
    except ImportError as error:
        raise InputError("--ray needs the package ray", fix="pip install 'mccpo[ray]'") from error
    try:
        _check_reachable(address)
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, RuntimeError, ValueError) as error:
        ray.shutdown()
        raise InputError(
            "this machine has no Ray cluster"
            if address == "auto"
            else f"there is no Ray cluster at {address!r}: {line(str(error))}",
            fix="start one with `ray start --head`, or correct --ray",
        ) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _check_reachable(address: str) -> None:
    """Fails at once where nobody listens, which Ray would wait for for minutes."""
    if address == "auto":  # Ray itself says where that is, and whether there is one
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise ValueError("an address is HOST:PORT, as `ray start --head` prints it")
    socket.create_connection((host.strip("[]"), int(port)), timeout=_REACH).close()


def _ending(ray: Any, reference: Any) -> Ending:
    """How the cell of a task ended; that the task itself failed is a crash of the cell."""
    try:
        return Ending(*ray.get(reference))
    except ray.exceptions.OutOfMemoryError:
        return Ending("crashed", "its node ran out of memory, and Ray ended it")
    except ray.exceptions.RayTaskError as error:
        return Ending("error", line(f"{type(error.cause).__name__}: {error.cause}"))
    except ray.exceptions.RayError as error:
        return Ending("crashed", line(f"{type(error).__name__}: {error}"))
