"""Methods that learn by a mechanism of their own, over MC-CPO's mask, network, rollout and selection."""

from mccpo.algo.rivals.ccpo import CCPO
from mccpo.algo.rivals.cpo import CPO
from mccpo.algo.rivals.crpo import CRPO
from mccpo.algo.rivals.focops import FOCOPS
from mccpo.algo.rivals.fpi import FPI
from mccpo.algo.rivals.gits import GITS
from mccpo.algo.rivals.kg_a2c import KGA2C
from mccpo.algo.rivals.lyapunov import Lyapunov
from mccpo.algo.rivals.on_policy import OnPolicy
from mccpo.algo.rivals.p3o import P3O
from mccpo.algo.rivals.pid_lagrangian import PIDLagrangian
from mccpo.algo.rivals.ppo_lagrangian import PPOLagrangian
from mccpo.algo.rivals.rcpo import RCPO

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
