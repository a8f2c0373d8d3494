"""What a cell of work costs on a Ray cluster, and how much faster two nodes are than one.

The cluster is of this machine: nodes of one core each, on the loopback alone. Cells that do nothing show what a cell
costs beside those of plain processes (`--jobs`). Cells that compute for a while show the speed-up.
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
from typing import Any

import numpy as np

from mccpo.errors import InputError, MccpoError
from mccpo.work import Cell, Crew, Processes, RayCluster, cores

EMPTY, BUSY = 6, 8
"""How many cells are timed of each kind."""
ROUNDS = 1000
"""How long a cell computes: some seconds on a core of its own."""
_LOOPBACK = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_worker_niceness": "0"}


@dataclass(frozen=True)
class RayBench:
    """Seconds of an empty cell by a process and by Ray, of all busy cells on one node and on two; how busy it was.

    `load` is how many processes wanted a core, the mean of the last minute, before anything was measured.
    """

    cores: int
    load: float
    process_seconds: float
    ray_seconds: float
    one_node_seconds: float
    two_nodes_seconds: float

    @property
    def speed_up(self) -> float:
        """How many times as fast two nodes are as one."""
        return self.one_node_seconds / self.two_nodes_seconds

    def as_json(self) -> dict[str, Any]:
        """The measurements as plain values, for JSON."""
        overhead = self.ray_seconds - self.process_seconds
        return asdict(self) | {"overhead_seconds": overhead, "speed_up": self.speed_up}


def measure(note: Callable[[str], None]) -> RayBench:
    """Starts a cluster, measures, and ends it."""
    if find_spec("ray") is None:
        raise InputError("the ray bench needs the package ray", fix="pip install 'mccpo[ray]'")
    load = os.getloadavg()[0]
    empty = [Cell(f"empty {at}", f"{__name__}:nothing") for at in range(EMPTY)]
    with tempfile.TemporaryDirectory(prefix="mccpo-bench-") as folder, _cluster() as cluster:
        busy = [Cell(f"busy {at}", f"{__name__}:compute", (Path(folder) / str(at),)) for at in range(BUSY)]
        ray = RayCluster(cluster.address)
        seconds(ray, empty[:1])  # the first start reads its files from the disk
        note("cells that do nothing")
        by_process, by_ray = seconds(Processes(1), empty) / EMPTY, seconds(ray, empty) / EMPTY
        note("cells that compute, on one node")
        one = seconds(ray, busy)
        cluster.add_node(num_cpus=1, node_ip_address="127.0.0.1", object_store_memory=80 * 2**20)
        note("the same on two nodes")
        two = seconds(ray, busy)
    return RayBench(cores(), load, by_process, by_ray, one, two)


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


def compute(path: Path) -> Path:
    """A cell that computes on one core, and leaves a number."""
    values = np.random.default_rng(0).uniform(size=(1000, 1000))
    total = sum(float(np.sort(values, axis=at % 2)[0, 0]) for at in range(ROUNDS))
    path.write_text(str(total))
    return path


@contextmanager
def _cluster() -> Iterator[Any]:
    """A cluster of one node of one core."""
    os.environ.update(_LOOPBACK)  # before ray is imported, which reads them
    from ray.cluster_utils import Cluster  # noqa: PLC0415 - an extra

    head = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "include_dashboard": False}
    cluster: Any = Cluster(initialize_head=True, head_node_args=head | {"object_store_memory": 80 * 2**20})
    try:
        yield cluster
    finally:
        cluster.shutdown()
