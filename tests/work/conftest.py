"""A Ray cluster of two nodes of one core each, on this machine's loopback alone, that ends with the tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

# Before ray is imported: it reads them then, and hands them to what it starts.
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",  # else tasks wait for whatever else this machine does
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # which on any system means: on the loopback alone
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_failure_threshold": "10",
}


class TwoNodes:
    """The cluster, its address, and a node to lose."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster
        self.address: str = cluster.address
        self.second = self.add_node()

    def add_node(self) -> Any:
        return self._cluster.add_node(num_cpus=1, node_ip_address="127.0.0.1", object_store_memory=80 * 2**20)

    def kill_second(self) -> None:
        """Ends the second node by SIGKILL, as a machine that loses its power."""
        self._cluster.remove_node(self.second, allow_graceful=False)


@pytest.fixture(scope="module")
def two_nodes() -> Iterator[TwoNodes]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in QUIET.items():
            patch.setenv(name, value)
        from ray.cluster_utils import Cluster  # noqa: PLC0415 - it reads the variables

        head = {
            "num_cpus": 1,
            "node_ip_address": "127.0.0.1",
            "include_dashboard": False,
            "object_store_memory": 80 * 2**20,
        }
        cluster = Cluster(initialize_head=True, head_node_args=head)
        try:
            yield TwoNodes(cluster)
        finally:
            cluster.shutdown()
            os.environ.pop("RAY_ADDRESS", None)
