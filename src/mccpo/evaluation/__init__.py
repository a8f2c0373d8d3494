"""Episodes and policies to metrics, and what a handful of seeds says."""

from mccpo.evaluation.curves import Curves
from mccpo.evaluation.metrics import LEAST_GAIN, TOLERANCE, measure, metrics_of
from mccpo.evaluation.statistics import Summary, Welch, summarise, welch

__all__ = ["LEAST_GAIN", "TOLERANCE", "Curves", "Summary", "Welch", "measure", "metrics_of", "summarise", "welch"]
