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
from mccpo.mastery.fitting.history_features import total_practice
from mccpo.mastery.fitting.intervals import Interval
from mccpo.mastery.fitting.platform import PlatformDraws, PlatformPrior, sample_platform
from mccpo.mastery.fitting.recurrent_fit import RecurrentReport, fit_recurrent, predict_recurrent
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
    "PlatformDraws",
    "PlatformPrior",
    "RecurrentReport",
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
    "fit_recurrent",
    "gains_by_event",
    "log_likelihood",
    "practice",
    "predict_events",
    "predict_recurrent",
    "predicted_by_event",
    "reliability",
    "replay",
    "sample_platform",
    "starts",
    "total_practice",
    "trajectories",
    "warnings_of",
]
