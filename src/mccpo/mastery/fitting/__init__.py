"""Mastery models fitted to responses, what they predict, and how well. It needs jax."""

from mccpo.mastery.fitting.diagnostics import (
    Diagnostics,
    GateCalibration,
    ReliabilityBin,
    auc,
    by_event,
    calibration_error,
    diagnose,
    reliability,
)
from mccpo.mastery.fitting.em import EPSILON, Stop, log_likelihood
from mccpo.mastery.fitting.fit import FitSettings, Fitted, bkt_tiles, fit, starts
from mccpo.mastery.fitting.gains import gains_by_event
from mccpo.mastery.fitting.reports import FitReport, RegressionReport, TracingReport
from mccpo.mastery.fitting.trajectories import practice, trajectories

__all__ = [
    "EPSILON",
    "Diagnostics",
    "FitReport",
    "FitSettings",
    "Fitted",
    "GateCalibration",
    "RegressionReport",
    "ReliabilityBin",
    "Stop",
    "TracingReport",
    "auc",
    "bkt_tiles",
    "by_event",
    "calibration_error",
    "diagnose",
    "fit",
    "gains_by_event",
    "log_likelihood",
    "practice",
    "reliability",
    "starts",
    "trajectories",
]
