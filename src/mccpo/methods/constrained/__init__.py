"""Methods that learn by a mechanism of their own, over MC-CPO's mask, network, rollout and selection."""

from mccpo.methods.constrained.ccpo import CCPO
from mccpo.methods.constrained.cpo import CPO
from mccpo.methods.constrained.crpo import CRPO
from mccpo.methods.constrained.focops import FOCOPS
from mccpo.methods.constrained.fpi import FPI
from mccpo.methods.constrained.gits import GITS
from mccpo.methods.constrained.kg_a2c import KGA2C
from mccpo.methods.constrained.lyapunov import Lyapunov
from mccpo.methods.constrained.on_policy import OnPolicy
from mccpo.methods.constrained.p3o import P3O
from mccpo.methods.constrained.pid_lagrangian import PIDLagrangian
from mccpo.methods.constrained.ppo_lagrangian import PPOLagrangian
from mccpo.methods.constrained.rcpo import RCPO

RIVALS: dict[str, type[OnPolicy]] = {
    rival.name: rival
    for rival in (PPOLagrangian, PIDLagrangian, RCPO, CPO, FOCOPS, CRPO, P3O, FPI, Lyapunov, CCPO, KGA2C, GITS)
}
"""Rivals by name."""

__all__ = [
    "CCPO",
    "CPO",
    "CRPO",
    "FOCOPS",
    "FPI",
    "GITS",
    "KGA2C",
    "P3O",
    "RCPO",
    "RIVALS",
    "Lyapunov",
    "OnPolicy",
    "PIDLagrangian",
    "PPOLagrangian",
]
