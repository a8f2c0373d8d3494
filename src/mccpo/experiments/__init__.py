"""One file per table of the paper, the comparison of methods, and the folders that runs are kept in."""

from mccpo.experiments import cells, compare, evaluate, evaluations, solve, train
from mccpo.experiments.asked.floors import Floor, most_of_floor, parse_floor, parse_levels
from mccpo.experiments.certification import PREPARED, Judges, certificates, certify, judges_of
from mccpo.experiments.options import Options, Session, Stage, describe
from mccpo.experiments.prepare import environments as _from_data  # noqa: F401 - registers those made from real data
from mccpo.experiments.problem import FREE, BudgetedProblem, Problem, pose, pose_finite
from mccpo.experiments.saved_policies import Policies, load_policies, read_policies, write_policies
from mccpo.experiments.table import Produced
from mccpo.experiments.tables import TABLES, TableEntry, register_table

# Each registers what it has, in the order in which `reproduce all` runs them.
from mccpo.experiments.paper import gate  # noqa: F401  # isort: skip
from mccpo.experiments.paper import reward_gap  # noqa: F401  # isort: skip
from mccpo.experiments.paper import chain  # noqa: F401  # isort: skip
from mccpo.experiments.paper import random_finite  # noqa: F401  # isort: skip
from mccpo.experiments.paper import tutor  # noqa: F401  # isort: skip
from mccpo.experiments.paper import parameterisations  # noqa: F401  # isort: skip
from mccpo.experiments.paper import ablation  # isort: skip
from mccpo.experiments.paper import shaping  # noqa: F401  # isort: skip
from mccpo.experiments.paper import noise  # noqa: F401  # isort: skip
from mccpo.experiments.paper import coverage  # noqa: F401  # isort: skip
from mccpo.experiments.paper import wrong_edges  # noqa: F401  # isort: skip
from mccpo.experiments.paper.held_out import HELD_OUT  # isort: skip
from mccpo.experiments.paper.from_answers import FROM_ANSWERS  # isort: skip

GROUPS = {"ablation": tuple(map(ablation.table_of, ablation.STEPS))}
"""Several tables under one name."""
LONG = (HELD_OUT, FROM_ANSWERS)
"""The tables that take hours and are no part of the paper: they are only made where they are named."""
lacks_data = ablation.lacks_data
FROM_LOGS = ("junyi", "xes3g5m", "assistments-2009", "junyi-2015")
"""The tables from logs: see `mccpo.experiments.paper.from_logs`, imported on its own because it needs polars."""

__all__ = [
    "FREE",
    "FROM_LOGS",
    "GROUPS",
    "LONG",
    "PREPARED",
    "TABLES",
    "BudgetedProblem",
    "Floor",
    "Judges",
    "Options",
    "Policies",
    "Problem",
    "Produced",
    "Session",
    "Stage",
    "TableEntry",
    "cells",
    "certificates",
    "certify",
    "compare",
    "describe",
    "evaluate",
    "evaluations",
    "judges_of",
    "lacks_data",
    "load_policies",
    "most_of_floor",
    "parse_floor",
    "parse_levels",
    "pose",
    "pose_finite",
    "read_policies",
    "register_table",
    "solve",
    "train",
    "write_policies",
]
