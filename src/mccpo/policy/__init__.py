"""What a policy is, on arrays of NumPy and of JAX alike: what it sees, what it can do, what that is worth, its network.

Environments train policies by what is written here, the service executes them by it, and so do peers: it is written
once. Nothing here imports jax.

>>> import numpy as np
>>> masked_softmax(np.array([0.0, 3.0, 0.0]), np.array([True, False, True])).probs
array([0.5, 0. , 0.5])
"""

from mccpo.policy.activities import ACTIVITIES, PRACTICE, Activity, action_names, chosen_activities, offered
from mccpo.policy.arrays import Array, namespace
from mccpo.policy.checks import (
    PER_CONCEPT,
    PerConcept,
    check_at_least_0,
    check_gamma,
    check_horizon,
    check_length,
    check_per_concept,
    check_probability,
    check_span,
    for_each_concept,
    is_number,
    per_concept,
)
from mccpo.policy.execution import FILTERS, Filter, blocked, renormalised, unfiltered
from mccpo.policy.features import Features, Layout, Part
from mccpo.policy.graph_network import GraphPolicyNetwork
from mccpo.policy.lesson import Costs, Prices, costs_of, demand_of, engagement_of, learning_rate, novelty_of
from mccpo.policy.neighbours import Mean, means
from mccpo.policy.network import Layers, Memory, PolicyNetwork
from mccpo.policy.parameters import TutorParameters
from mccpo.policy.recurrent_network import RecurrentPolicyNetwork, as_features
from mccpo.policy.rules import (
    MASTERED,
    curriculum_order,
    first,
    greedy_gain,
    highest,
    mastery_learning,
    nearest_to_practice,
)
from mccpo.policy.softmax import REFUSAL, Masked, masked_probabilities, masked_softmax, mix, sample

__all__ = [
    "ACTIVITIES",
    "FILTERS",
    "MASTERED",
    "PER_CONCEPT",
    "PRACTICE",
    "REFUSAL",
    "Activity",
    "Array",
    "Costs",
    "Features",
    "Filter",
    "GraphPolicyNetwork",
    "Layers",
    "Layout",
    "Masked",
    "Mean",
    "Memory",
    "Part",
    "PerConcept",
    "PolicyNetwork",
    "Prices",
    "RecurrentPolicyNetwork",
    "TutorParameters",
    "action_names",
    "as_features",
    "blocked",
    "check_at_least_0",
    "check_gamma",
    "check_horizon",
    "check_length",
    "check_per_concept",
    "check_probability",
    "check_span",
    "chosen_activities",
    "costs_of",
    "curriculum_order",
    "demand_of",
    "engagement_of",
    "first",
    "for_each_concept",
    "greedy_gain",
    "highest",
    "is_number",
    "learning_rate",
    "masked_probabilities",
    "masked_softmax",
    "mastery_learning",
    "means",
    "mix",
    "namespace",
    "nearest_to_practice",
    "novelty_of",
    "offered",
    "per_concept",
    "renormalised",
    "sample",
    "unfiltered",
]
