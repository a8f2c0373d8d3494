"""What a cell of work costs on a Ray cluster, and how much faster two nodes are than one.

The cluster is of this machine: nodes of one core each, on the loopback alone. Every process of a node is pinned to the
node's core, those of the cluster's head and this one to the first node's, so that no core does two nodes' work. Cells
that do nothing show what a cell costs beside those of plain processes (`--jobs`). Cells that compute for a while show
the speed-up, with one node and with two in turns. Plain processes do the same cells, one at a time and two at once:
that speed-up is the machine's own, and no cluster of it can be expected to reach more.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from mccpo.errors import InputError, MccpoError
from mccpo.work import Cell, Crew, Processes, RayCluster, cores

EMPTY, BUSY = 6, 4
"""How many cells are timed of each kind."""
SECONDS = 20
"""How long a cell computes by default, about, on a core of its own: as cells of tables do, or less."""
LONGEST = 600
SORTS = 350  # of a million numbers, that take about a second
TURNS = 3
_NODE = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "object_store_memory": 80 * 2**20}
_CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
_LOOPBACK = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_worker_niceness": "0"}


@dataclass(frozen=True)
class RayBench:
    """Seconds of an empty cell by a process and by Ray, of a busy cell, and of all busy cells by those who do them.

    `load` is how many processes wanted a core, the mean of the last minute, before anything was measured. Of one node
    and of two, and of one plain process and of two, there is a figure for each turn.
    """

    cores: int
    load: float
    process_seconds: float
    ray_seconds: float
    cell_seconds: float
    one_node: tuple[float, ...]
    two_nodes: tuple[float, ...]
    one_process: tuple[float, ...]
    two_processes: tuple[float, ...]

    @property
    def speed_up(self) -> float:
        """How many times as fast two nodes are as one, by the medians."""
        return median(self.one_node) / median(self.two_nodes)

    @property
    def ceiling(self) -> float:
        """How many times as fast two plain processes are as one: what the two cores of the machine have to give."""
        return median(self.one_process) / median(self.two_processes)

    def as_json(self) -> dict[str, Any]:
        """The measurements as plain values, for JSON."""
        turns = ("one_node", "two_nodes", "one_process", "two_processes")
        return asdict(self) | {
            "overhead_seconds": self.ray_seconds - self.process_seconds,
            **{f"{name}_seconds": median(getattr(self, name)) for name in turns},
            "speed_up": self.speed_up,
            "ceiling": self.ceiling,
        }


def measure(note: Callable[[str], None], cell_seconds: int = SECONDS) -> RayBench:
    """Starts a cluster, measures, and ends it."""
    if not 1 <= cell_seconds <= LONGEST:
        raise InputError(f"a cell would take {cell_seconds} s", fix=f"give a whole number from 1 to {LONGEST}")
    if find_spec("ray") is None:
        raise InputError("the ray bench needs the package ray", fix="pip install 'mccpo[ray]'")
    load, whole = os.getloadavg()[0], cores()
    empty = [Cell(f"empty {at}", f"{__name__}:nothing") for at in range(EMPTY)]
    turns: list[tuple[float, float, float, float]] = []
    with tempfile.TemporaryDirectory(prefix="mccpo-bench-") as folder, _cluster() as cluster:
        long = [(Path(folder) / str(at), cell_seconds * SORTS) for at in range(BUSY)]
        busy = [Cell(f"busy {at}", f"{__name__}:compute", asked) for at, asked in enumerate(long)]
        ray = RayCluster(cluster.address)
        seconds(ray, empty[:1])  # the first start reads its files from the disk
        note("cells that do nothing")
        by_process, by_ray = seconds(Processes(1), empty) / EMPTY, seconds(ray, empty) / EMPTY
        for turn in range(1, TURNS + 1):
            note(f"cells that compute, turn {turn} of {TURNS}: one process, two, one node, two")
            turns.append(_turn(cluster, ray, busy))
    one_process, two_processes, one_node, two_nodes = zip(*turns, strict=True)
    cell = median(one_process) / BUSY - by_process
    return RayBench(whole, load, by_process, by_ray, cell, one_node, two_nodes, one_process, two_processes)


def _turn(cluster: Any, ray: RayCluster, cells: list[Cell]) -> tuple[float, float, float, float]:
    """Seconds of one plain process, of two on a core each, of one node and of two."""
    one_process = seconds(Processes(1), cells)
    with _on(_CORES[:2]):
        two_processes = seconds(Processes(2), cells)
    one_node = seconds(ray, cells)
    with _second_node(cluster):
        seconds(ray, [Cell("awake", f"{__name__}:nothing"), Cell("ready", f"{__name__}:nothing")])
        return one_process, two_processes, one_node, seconds(ray, cells)


def seconds(crew: Crew, cells: list[Cell]) -> float:
    """How long a crew takes for cells, all of which must end well."""
    failed: list[str] = []
    begun = time.perf_counter()
    crew.do(cells, lambda cell, ending: None if ending.how == "done" else failed.append(f"{cell.name}: {ending.why}"))
    if failed:
        raise MccpoError(failed[0])
    return time.perf_counter() - begun


def nothing() -> str:
    """A cell that does nothing."""
    return ""


def compute(path: Path, sorts: int) -> Path:
    """A cell that computes on one core, and leaves a number."""
    values = np.random.default_rng(0).uniform(size=(1000, 1000))
    total = sum(float(np.sort(values, axis=at % 2)[0, 0]) for at in range(sorts))
    path.write_text(str(total))
    return path


@contextmanager
def _cluster() -> Iterator[Any]:
    """A cluster of one node of one core, to which this process keeps as well."""
    os.environ.update(_LOOPBACK)  # before ray is imported, which reads them
    from ray.cluster_utils import Cluster  # noqa: PLC0415 - an extra

    with _on(_CORES[:1]):
        cluster: Any = Cluster(initialize_head=True, head_node_args=_NODE | {"include_dashboard": False})
        try:
            yield cluster
        finally:
            cluster.shutdown()


@contextmanager
def _second_node(cluster: Any) -> Iterator[None]:
    """A second node for a while, on another core."""
    with _on(_CORES[-1:] if len(_CORES) < 2 else _CORES[1:2]):
        node = cluster.add_node(**_NODE)
    try:
        yield
    finally:
        cluster.remove_node(node)


@contextmanager
def _on(places: list[int]) -> Iterator[None]:
    """This process, and those that it starts meanwhile, on some cores, where the system can pin them."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, places)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
