"""Methods that learn by a mechanism of their own, over MC-CPO's mask, network, rollout and selection."""

from mccpo.methods.constrained.on_policy import Context, OnPolicy, penalised

# In the order of the tables.
from mccpo.methods.constrained.ppo_lagrangian import PPOLagrangian  # isort: skip
from mccpo.methods.constrained.pid_lagrangian import PIDLagrangian  # isort: skip
from mccpo.methods.constrained.rcpo import RCPO  # isort: skip
from mccpo.methods.constrained.cpo import CPO  # isort: skip
from mccpo.methods.constrained.focops import FOCOPS  # isort: skip
from mccpo.methods.constrained.crpo import CRPO  # isort: skip
from mccpo.methods.constrained.p3o import P3O  # isort: skip
from mccpo.methods.constrained.fpi import FPI  # isort: skip
from mccpo.methods.constrained.lyapunov import Lyapunov  # isort: skip
from mccpo.methods.constrained.ccpo import CCPO  # isort: skip
from mccpo.methods.constrained.kg_a2c import KGA2C  # isort: skip
from mccpo.methods.constrained.gits import GITS  # isort: skip

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
    "Context",
    "Lyapunov",
    "OnPolicy",
    "PIDLagrangian",
    "PPOLagrangian",
    "penalised",
]
