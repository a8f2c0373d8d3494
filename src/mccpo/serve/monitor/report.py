"""What a monitor reports, as JSON values: read by the API, the pages and Prometheus."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

Verdict: TypeAlias = Literal["alarm", "watch", "within"]


class RateReport(TypedDict):
    """How often something happened: `count` times `of` so many, and the share of the most recent ones."""

    count: int
    of: int
    rate: float | None
    recent: float | None


class DecouplingReport(RateReport):
    """The answers that were right and raised mastery by no more than `threshold`."""

    threshold: float


class ShadowReport(TypedDict):
    """How often a shadow agreed with what was served, and how often it failed."""

    agrees: RateReport
    failed: RateReport


class CostReport(TypedDict):
    """A cost beside its budget, or what a floor is about beside the floor, which then is its `budget`.

    `session` is the mean over sessions, open ones so far. Sessions may be shorter or longer than those of training:
    `full` is what a session of the whole horizon costs at that pace, with its interval. `full` is comparable with the
    budget.
    """

    session: float | None
    full: float | None
    interval: list[float] | None
    budget: float | None
    within: bool | None


class EstimateReport(TypedDict):
    """A mean and its confidence interval."""

    mean: float
    interval: list[float]


class GroupReport(TypedDict):
    """The measures of one group of learners."""

    learners: int
    restriction_rate: EstimateReport | None
    time_to_unlock: EstimateReport | None
    mastery_gain: EstimateReport | None


class GapReport(TypedDict):
    """The two groups that lie furthest apart by a measure."""

    least: str
    most: str
    difference: float
    interval: list[float]
    bound: float
    verdict: Verdict


class LeftOutReport(TypedDict):
    """How many groups are not compared: those of too few learners, and the smallest of too many."""

    too_small: int
    too_many: int


class ComparisonReport(TypedDict):
    """The groups by their names, and the widest gap by each measure."""

    groups: dict[str, GroupReport]
    gaps: dict[str, GapReport]


class EquityReport(ComparisonReport):
    """How the groups of one label are treated."""

    left_out: LeftOutReport


class Alarm(GapReport):
    """A gap between the groups of a label that a person should look at."""

    label: str
    measure: str


class TenantReport(TypedDict):
    """What the monitor of a tenant sees; `decisions` counts them in `total` and by who chose."""

    learners: int
    decisions: dict[str, int]
    fallback: RateReport
    override: RateReport
    deferral: RateReport
    shadows: dict[str, ShadowReport]
    decoupling: DecouplingReport
    costs_on: Literal["realised", "expected"]
    costs: dict[str, CostReport]
    floors: dict[str, CostReport]
    equity: dict[str, EquityReport]
    labels_left_out: int


class MonitorReport(TenantReport):
    """A tenant's report; `complete` says whether the monitor has caught up with the record."""

    complete: bool
