"""One file per table of the paper, the comparison of methods, and the folders that runs are kept in."""

from collections.abc import Callable
from typing import Any

from mccpo.env import Chain, FiniteEnvironment, Gate, RandomFinite
from mccpo.experiments import certify, compare, evaluate, solve, train
from mccpo.experiments.options import Options, Session, Stage, describe
from mccpo.experiments.paper import chain, gate, noise, random_finite, reward_gap, shaping, tutor
from mccpo.experiments.prepare import environments as _from_data  # noqa: F401 - registers those made from real data
from mccpo.experiments.problem import BudgetedProblem, Problem, pose, pose_finite
from mccpo.experiments.saved_policies import Policies, load_policies, read_policies, write_policies
from mccpo.experiments.table import Produced

TABLES: dict[str, Callable[[Options, Session], Produced]] = {
    "gate": gate.produce,
    "reward-gap": reward_gap.produce,
    "chain": chain.produce,
    "random-finite": random_finite.produce,
    "tutor-15": tutor.tutor_15,
    "tutor-25": tutor.tutor_25,
    "shaping": shaping.produce,
    "noise": noise.produce,
}

FROM_LOGS = ("junyi", "xes3g5m", "assistments-2009", "junyi-2015")
"""The tables from logs: see `mccpo.experiments.paper.from_logs`, imported on its own because it needs polars."""

BY_EPISODES: dict[str, Callable[[], FiniteEnvironment[Any]]] = {
    "gate": Gate,
    "reward-gap": Gate,
    "chain": Chain,
    "random-finite": RandomFinite,
}
"""The tables whose length is counted in episodes, and the finite environment of each; that of others is in steps."""

__all__ = [
    "BY_EPISODES",
    "FROM_LOGS",
    "TABLES",
    "BudgetedProblem",
    "Options",
    "Policies",
    "Problem",
    "Produced",
    "Session",
    "Stage",
    "certify",
    "compare",
    "describe",
    "evaluate",
    "load_policies",
    "pose",
    "pose_finite",
    "read_policies",
    "solve",
    "train",
    "write_policies",
]
