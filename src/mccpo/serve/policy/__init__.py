"""What is served: a trained policy in NumPy, its gate, its decisions and their certificates."""

from mccpo.serve.policy.deferral import Deferral, DeferTo
from mccpo.serve.policy.release import Release, load_release
from mccpo.serve.policy.releases import Releases

__all__ = ["DeferTo", "Deferral", "Release", "Releases", "load_release"]
