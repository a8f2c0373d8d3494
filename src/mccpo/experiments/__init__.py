"""One file per table of the paper, the comparison of methods, and the folders that runs are kept in."""

from collections.abc import Callable

from mccpo.experiments import certify, compare, evaluate, solve, train
from mccpo.experiments.options import Options, Session
from mccpo.experiments.paper import chain, gate, noise, random_finite, reward_gap, shaping, tutor
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

BY_EPISODES = {"gate": "gate", "reward-gap": "gate", "chain": "chain", "random-finite": "random-finite"}
"""The tables whose length is counted in episodes, and the finite environment of each; that of others is in steps."""

__all__ = [
    "BY_EPISODES",
    "FROM_LOGS",
    "TABLES",
    "Options",
    "Produced",
    "Session",
    "certify",
    "compare",
    "evaluate",
    "solve",
    "train",
]
