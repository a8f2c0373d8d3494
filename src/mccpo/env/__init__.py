"""The CMDP: its contract and the environments."""

from mccpo.env.budgets import check_budgets
from mccpo.env.conditioned import Conditioned, at_kappa
from mccpo.env.contract import Environment, FiniteEnvironment, Observation, TimeStep
from mccpo.env.description import describe_environment, rebuild_environment
from mccpo.env.finite.chain import Chain
from mccpo.env.finite.gate import Gate
from mccpo.env.finite.random_finite import RandomFinite
from mccpo.env.registry import ENVIRONMENTS, make
from mccpo.env.tutor import (
    ACTIVITIES,
    GROUPS,
    Activity,
    Estimated,
    Group,
    PreparedJudge,
    PreparedTutor,
    RandomCurricula,
    Tutor,
    Tutor25,
    TutorActivities,
    TutorBKT,
    TutorGoal,
    TutorState,
    cut,
)

__all__ = [
    "ACTIVITIES",
    "ENVIRONMENTS",
    "GROUPS",
    "Activity",
    "Chain",
    "Conditioned",
    "Environment",
    "Estimated",
    "FiniteEnvironment",
    "Gate",
    "Group",
    "Observation",
    "PreparedJudge",
    "PreparedTutor",
    "RandomCurricula",
    "RandomFinite",
    "TimeStep",
    "Tutor",
    "Tutor25",
    "TutorActivities",
    "TutorBKT",
    "TutorGoal",
    "TutorState",
    "at_kappa",
    "check_budgets",
    "cut",
    "describe_environment",
    "make",
    "rebuild_environment",
]
