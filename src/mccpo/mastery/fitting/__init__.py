"""Models of learners fitted to responses, what they predict, and how well. It needs jax."""

from mccpo.mastery.fitting.diagnostics import (
    Diagnostics,
    GateCalibration,
    ReliabilityBin,
    auc,
    by_event,
    calibration_error,
    diagnose,
    predicted_by_event,
    reliability,
)
from mccpo.mastery.fitting.em import EPSILON, Stop, log_likelihood
from mccpo.mastery.fitting.fit import FitSettings, Fitted, bkt_tiles, fit, starts
from mccpo.mastery.fitting.gains import gains_by_event
from mccpo.mastery.fitting.intervals import Interval
from mccpo.mastery.fitting.reports import FitReport, RegressionReport, ResponseReport, TracingReport
from mccpo.mastery.fitting.response_fits import predict_events, replay
from mccpo.mastery.fitting.trajectories import practice, trajectories
from mccpo.mastery.fitting.warnings import warnings_of

__all__ = [
    "EPSILON",
    "Diagnostics",
    "FitReport",
    "FitSettings",
    "Fitted",
    "GateCalibration",
    "Interval",
    "RegressionReport",
    "ReliabilityBin",
    "ResponseReport",
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
    "predict_events",
    "predicted_by_event",
    "reliability",
    "replay",
    "starts",
    "trajectories",
    "warnings_of",
]
