"""What depends on what: prerequisite graphs, the gate they make, and the files they are kept in.

`mccpo.curriculum.lint` finds and repairs faults in a graph; it is imported on its own because it needs rustworkx.
"""

from mccpo.curriculum.drawing.svg import draw
from mccpo.curriculum.formats.paths import read_raw
from mccpo.curriculum.formats.raw import Edge, RawConcept, RawGraph
from mccpo.curriculum.gate import blocking, check_mastery, check_theta, frontier
from mccpo.curriculum.graph import DEFAULT_DEMAND, Curriculum, Prerequisites

__all__ = [
    "DEFAULT_DEMAND",
    "Curriculum",
    "Edge",
    "Prerequisites",
    "RawConcept",
    "RawGraph",
    "blocking",
    "check_mastery",
    "check_theta",
    "draw",
    "frontier",
    "read_raw",
]
