"""What a handful of seeds says: summaries, tests, bounds, fronts, training curves. Nothing here needs jax.

What a policy is worth and what it does needs jax, and is in `mccpo.evaluation.policy`.
"""

from mccpo.evaluation.bounds import episodes_needed, normal_bound, upper_bound
from mccpo.evaluation.comparisons import (
    Difference,
    DifferenceEstimate,
    adjusted,
    from_moments,
    holm,
    paired,
    paired_estimate,
    welch,
    welch_estimate,
)
from mccpo.evaluation.curves import Curves
from mccpo.evaluation.hypervolume import envelope, hypervolume
from mccpo.evaluation.reliable import (
    Estimate,
    Profile,
    Relative,
    iqm,
    probability_of_improvement,
    profile,
    relative_to_best,
)
from mccpo.evaluation.statistics import (
    CONFIDENCE,
    SHARES_OF_SEEDS,
    Summary,
    share_interval,
    summarise,
    summarise_metric,
    summarise_metrics,
)

__all__ = [
    "CONFIDENCE",
    "SHARES_OF_SEEDS",
    "Curves",
    "Difference",
    "DifferenceEstimate",
    "Estimate",
    "Profile",
    "Relative",
    "Summary",
    "adjusted",
    "envelope",
    "episodes_needed",
    "from_moments",
    "holm",
    "hypervolume",
    "iqm",
    "normal_bound",
    "paired",
    "paired_estimate",
    "probability_of_improvement",
    "profile",
    "relative_to_best",
    "share_interval",
    "summarise",
    "summarise_metric",
    "summarise_metrics",
    "upper_bound",
    "welch",
    "welch_estimate",
]
