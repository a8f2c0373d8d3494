"""Environments with so few states that they can be solved exactly."""

from mccpo.env.finite.binary import BinaryMastery, BinaryState
from mccpo.env.finite.chain import Chain
from mccpo.env.finite.gate import Gate
from mccpo.env.finite.random_finite import RandomFinite, random_curriculum

__all__ = ["BinaryMastery", "BinaryState", "Chain", "Gate", "RandomFinite", "random_curriculum"]
