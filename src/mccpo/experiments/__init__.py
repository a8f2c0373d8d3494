"""One file per table of the paper, the comparison of methods, and the folders that runs are kept in."""

from collections.abc import Callable

from mccpo.experiments import chain, compare, gate, noise, random_finite, reward_gap, shaping, tutor
from mccpo.experiments.options import Options, Session
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

__all__ = ["TABLES", "Options", "Produced", "Session", "compare"]
