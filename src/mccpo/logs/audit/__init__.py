"""What a log shows: how often right answers bring no gain of mastery, and for whom."""

from mccpo.logs.audit.breakdowns import Breakdown, Level
from mccpo.logs.audit.cluster_robust import Difference, Rate, rate_of
from mccpo.logs.audit.gain_measures import SIGNAL, GainMeasure
from mccpo.logs.audit.levels import NOT_KNOWN
from mccpo.logs.audit.prevalence import (
    LENIENT,
    STRICT,
    THRESHOLD,
    THRESHOLDS,
    Audit,
    Curve,
    Population,
    Prevalence,
    Share,
    audit,
)

__all__ = [
    "LENIENT",
    "NOT_KNOWN",
    "SIGNAL",
    "STRICT",
    "THRESHOLD",
    "THRESHOLDS",
    "Audit",
    "Breakdown",
    "Curve",
    "Difference",
    "GainMeasure",
    "Level",
    "Population",
    "Prevalence",
    "Rate",
    "Share",
    "audit",
    "rate_of",
]
