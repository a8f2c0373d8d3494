"""What a policy is worth, and what it does: its metrics and its behaviour in episodes."""

from mccpo.evaluation.policy.behaviour import Observed, by_group, observe
from mccpo.evaluation.policy.metrics import LEAST_GAIN, TOLERANCE, measure, metrics_of, slack_of

__all__ = ["LEAST_GAIN", "TOLERANCE", "Observed", "by_group", "measure", "metrics_of", "observe", "slack_of"]
