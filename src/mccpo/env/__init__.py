"""The CMDP: its contract and the environments."""

from mccpo.env.chain import Chain
from mccpo.env.gate import Gate
from mccpo.env.random_finite import RandomFinite
from mccpo.env.registry import ENVIRONMENTS, make
from mccpo.env.types import Environment, FiniteEnvironment, Observation, TimeStep

__all__ = [
    "ENVIRONMENTS",
    "Chain",
    "Environment",
    "FiniteEnvironment",
    "Gate",
    "Observation",
    "RandomFinite",
    "TimeStep",
    "make",
]
