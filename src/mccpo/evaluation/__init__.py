"""What a handful of seeds says: summaries, tests, bounds, fronts, training curves. Nothing here needs jax.

What a policy is worth and what it does needs jax, and is in `mccpo.evaluation.policy`.
"""

from mccpo.evaluation.bounds import episodes_needed, normal_bound, upper_bound
from mccpo.evaluation.curves import Curves
from mccpo.evaluation.hypervolume import envelope, hypervolume
from mccpo.evaluation.reliable import Estimate, Profile, iqm, probability_of_improvement, profile
from mccpo.evaluation.statistics import CONFIDENCE, Summary, SummaryJson, Welch, summarise, welch

__all__ = [
    "CONFIDENCE",
    "Curves",
    "Estimate",
    "Profile",
    "Summary",
    "SummaryJson",
    "Welch",
    "envelope",
    "episodes_needed",
    "hypervolume",
    "iqm",
    "normal_bound",
    "probability_of_improvement",
    "profile",
    "summarise",
    "upper_bound",
    "welch",
]
