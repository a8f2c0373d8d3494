"""The metrics for Prometheus: of this process, which can be summed over processes, and of the record as a whole.

What a process counts (requests, batches, events that it wrote, failures) adds up over all processes of a service. What
the monitors report is about the record, and the same in each: take the largest, not the sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from mccpo._version import __version__
from mccpo.serve.monitor.report import MonitorReport, RateReport

CONTENT_TYPE = CONTENT_TYPE_LATEST
# The times at which counters were made would be as many series again, which nobody reads.
disable_created_metrics()  # type: ignore[no-untyped-call]
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


class Metrics:
    """The metrics of one service, in a registry of its own."""

    def __init__(self, reports: Callable[[], Iterable[tuple[str, MonitorReport]]] = tuple) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "mccpo_requests", "Requests answered.", ["method", "route", "status"], registry=self.registry
        )
        self._seconds = Histogram(
            "mccpo_request_seconds", "Time to an answer.", ["route"], buckets=_BUCKETS, registry=self.registry
        )
        self._batches = Histogram(
            "mccpo_batch_requests", "Requests in one commit.", buckets=_SIZES, registry=self.registry
        )
        self._commits = Histogram(
            "mccpo_commit_seconds", "Time of one commit, with all it carries.", buckets=_BUCKETS, registry=self.registry
        )
        self._written = Counter("mccpo_written_events", "Events that it wrote.", ["kind"], registry=self.registry)
        self._failures = Counter("mccpo_database_errors", "Commits that failed.", registry=self.registry)
        self._head = Gauge("mccpo_head", "The last event on record that it has written.", registry=self.registry)
        Gauge("mccpo_info", "The version that runs.", ["version"], registry=self.registry).labels(__version__).set(1)
        self.registry.register(_ReportCollector(reports))

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Counts a request. Routes are templates, so that ids never become names of metrics."""
        self._requests.labels(method if method in _METHODS else "other", route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def watch_process(self, waiting: Callable[[], float], lag: Callable[[], float]) -> None:
        """Adds what is read whenever the metrics are."""
        queue = Gauge("mccpo_queue", "Requests that wait for a commit.", registry=self.registry)
        queue.set_function(waiting)
        behind = Gauge("mccpo_monitor_lag", "Events on record that the monitor has not seen.", registry=self.registry)
        behind.set_function(lag)

    def committed(self, requests: int, seconds: float, kinds: Sequence[str], head: int, *, failed: bool) -> None:
        """Counts a batch of requests."""
        if failed:
            self._failures.inc()
            return
        self._batches.observe(requests)
        self._commits.observe(seconds)
        for kind in kinds:
            self._written.labels(kind).inc()
        self._head.set(head)

    def text(self) -> bytes:
        """All metrics, as Prometheus reads them."""
        return generate_latest(self.registry)


class _ReportCollector(Collector):
    """The monitors' reports, read when they are asked for."""

    def __init__(self, reports: Callable[[], Iterable[tuple[str, MonitorReport]]]) -> None:
        self.reports = reports

    def collect(self) -> Iterator[Metric]:
        families = {
            name: (CounterMetricFamily if name == _COUNTER else GaugeMetricFamily)(name, words, labels=labels)
            for name, words, labels in _FAMILIES
        }
        for tenant, report in self.reports():
            for name, labels, value in _values(report):
                families[name].add_metric([tenant, *labels], math.nan if value is None else value)
        yield from families.values()


_COUNTER = "mccpo_decisions"
_SHADOW = ["tenant", "release"]
_FAMILIES = (
    ("mccpo_learners", "Learners.", ["tenant"]),
    ("mccpo_decisions", "Decisions, by who chose.", ["tenant", "by"]),
    ("mccpo_decoupling_rate", "Share of answers that are right and bring no gain of mastery.", ["tenant"]),
    ("mccpo_fallback_rate", "Share of decisions for which the policy failed.", ["tenant"]),
    ("mccpo_override_rate", "Share of decisions that teachers took.", ["tenant"]),
    ("mccpo_deferral_rate", "Share of the policy's decisions that were deferred.", ["tenant"]),
    ("mccpo_shadow_agreement_rate", "Share of decisions in which a shadow would have done the same.", _SHADOW),
    ("mccpo_shadow_failure_rate", "Share of decisions in which a shadow gave no answer.", _SHADOW),
    ("mccpo_cost", "Discounted cost of a session of the whole horizon, at the pace seen.", ["tenant", "cost"]),
    ("mccpo_budget", "The budget of that cost.", ["tenant", "cost"]),
    ("mccpo_reached", "What a session of the whole horizon reaches, at the pace seen.", ["tenant", "floor"]),
    ("mccpo_floor", "The floor that it should reach.", ["tenant", "floor"]),
    ("mccpo_group_gap", "The furthest that groups lie apart.", ["tenant", "label", "measure"]),
    ("mccpo_group_alarm", "1 where groups lie apart beyond the bound.", ["tenant", "label", "measure"]),
)
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})


def _values(report: MonitorReport) -> Iterator[tuple[str, list[str], float | None]]:
    yield "mccpo_learners", [], report["learners"]
    for by, count in report["decisions"].items():
        if by != "total":
            yield "mccpo_decisions", [by], count
    rates: dict[str, RateReport] = {name: report[name] for name in ("decoupling", "fallback", "override", "deferral")}
    for name, rate in rates.items():
        yield f"mccpo_{name}_rate", [], rate["rate"]
    for version, shadow in report["shadows"].items():
        yield "mccpo_shadow_agreement_rate", [version], shadow["agrees"]["rate"]
        yield "mccpo_shadow_failure_rate", [version], shadow["failed"]["rate"]
    for name, cost in report["costs"].items():
        yield "mccpo_cost", [name], cost["full"]
        yield "mccpo_budget", [name], cost["budget"]
    for name, floor in report["floors"].items():
        yield "mccpo_reached", [name], floor["full"]
        yield "mccpo_floor", [name], floor["budget"]
    for label, comparison in report["equity"].items():
        for measure, gap in comparison["gaps"].items():
            yield "mccpo_group_gap", [label, measure], gap["difference"]
            yield "mccpo_group_alarm", [label, measure], float(gap["verdict"] == "alarm")
