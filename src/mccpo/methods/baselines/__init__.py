"""The paper's baselines: the unconstrained policy, shaped rewards, filters at execution."""

from mccpo.methods.baselines import unconstrained  # isort: skip  # in the order of the tables
from mccpo.methods.baselines import reward_shaped  # isort: skip
from mccpo.methods.baselines import post_hoc  # isort: skip

__all__ = ["post_hoc", "reward_shaped", "unconstrained"]
