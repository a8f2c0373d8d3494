"""The CMDP: its contract and the environments."""

from mccpo.env.budgets import check_budgets
from mccpo.env.chain import Chain
from mccpo.env.description import describe_environment, rebuild_environment
from mccpo.env.gate import Gate
from mccpo.env.random_finite import RandomFinite
from mccpo.env.registry import ENVIRONMENTS, make
from mccpo.env.tutor import (
    ACTIVITIES,
    GROUPS,
    Activity,
    Estimated,
    Group,
    PreparedJudge,
    PreparedTutor,
    Tutor,
    Tutor25,
    TutorBKT,
    TutorState,
)
from mccpo.env.types import Environment, FiniteEnvironment, Observation, TimeStep

__all__ = [
    "ACTIVITIES",
    "ENVIRONMENTS",
    "GROUPS",
    "Activity",
    "Chain",
    "Environment",
    "Estimated",
    "FiniteEnvironment",
    "Gate",
    "Group",
    "Observation",
    "PreparedJudge",
    "PreparedTutor",
    "RandomFinite",
    "TimeStep",
    "Tutor",
    "Tutor25",
    "TutorBKT",
    "TutorState",
    "check_budgets",
    "describe_environment",
    "make",
    "rebuild_environment",
]
