"""What is served: a trained policy in NumPy, its gate, its decisions and their certificates."""

from mccpo.serve.policy.decision import decide
from mccpo.serve.policy.deferral import Deferral, DeferTo
from mccpo.serve.policy.learner_state import initial_state
from mccpo.serve.policy.release import Ready, Release, load_release
from mccpo.serve.policy.releases import Releases, gate_text

__all__ = [
    "DeferTo",
    "Deferral",
    "Ready",
    "Release",
    "Releases",
    "decide",
    "gate_text",
    "initial_state",
    "load_release",
]
