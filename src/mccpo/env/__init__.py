"""The CMDP: its contract, the registry and the environments."""

from mccpo.env.autoreset import AutoReset, autoreset_step
from mccpo.env.building import JUDGE_FILE, TUTOR_FILE, TrainTest, make, rebuild_environment, train_and_test
from mccpo.env.concept_graph import ConceptGraph
from mccpo.env.conditioned import Conditioned, at_kappa
from mccpo.env.constraints import Constraints, check_budgets
from mccpo.env.contract import Environment, FiniteEnvironment, Observation, ObservationField, TimeStep
from mccpo.env.description import describe_environment
from mccpo.env.finite import BinaryMastery, BinaryState, Chain, Gate, RandomFinite
from mccpo.env.floors import FLOORS, Floored, Objective, check_floors, with_floors
from mccpo.env.registry import (
    EnvironmentEntry,
    UnknownEnvironment,
    check_environment_name,
    environment_entry,
    environment_names,
    needs_data,
    registered,
)
from mccpo.env.registry import register as register_environment
from mccpo.env.tutor import (
    EVERYONE,
    GROUPS,
    Estimated,
    Fractions,
    Group,
    PreparedJudge,
    PreparedTutor,
    RandomCurricula,
    Tutor,
    Tutor25,
    TutorActivities,
    TutorBKT,
    TutorGoal,
    Tutoring,
    TutorState,
    cut,
    posterior,
    with_gate_of,
)
from mccpo.policy import ACTIVITIES, PRACTICE, Activity

__all__ = [
    "ACTIVITIES",
    "EVERYONE",
    "FLOORS",
    "GROUPS",
    "JUDGE_FILE",
    "PRACTICE",
    "TUTOR_FILE",
    "Activity",
    "AutoReset",
    "BinaryMastery",
    "BinaryState",
    "Chain",
    "ConceptGraph",
    "Conditioned",
    "Constraints",
    "Environment",
    "EnvironmentEntry",
    "Estimated",
    "FiniteEnvironment",
    "Floored",
    "Fractions",
    "Gate",
    "Group",
    "Objective",
    "Observation",
    "ObservationField",
    "PreparedJudge",
    "PreparedTutor",
    "RandomCurricula",
    "RandomFinite",
    "TimeStep",
    "TrainTest",
    "Tutor",
    "Tutor25",
    "TutorActivities",
    "TutorBKT",
    "TutorGoal",
    "TutorState",
    "Tutoring",
    "UnknownEnvironment",
    "at_kappa",
    "autoreset_step",
    "check_budgets",
    "check_environment_name",
    "check_floors",
    "cut",
    "describe_environment",
    "environment_entry",
    "environment_names",
    "make",
    "needs_data",
    "posterior",
    "rebuild_environment",
    "register_environment",
    "registered",
    "train_and_test",
    "with_floors",
    "with_gate_of",
]
