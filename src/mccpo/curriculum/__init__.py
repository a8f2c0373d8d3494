"""What depends on what: prerequisite graphs, the gate they make, and the files they are kept in.

Two parts are imported on their own, because they need more than NumPy: `mccpo.curriculum.lint` finds and repairs
faults, `mccpo.curriculum.derive` makes graphs that nobody stated.
"""

from mccpo.curriculum.drawing import draw
from mccpo.curriculum.fan_in import Tables, fan_in
from mccpo.curriculum.formats import (
    Derivation,
    Edge,
    Evidence,
    RawConcept,
    RawGraph,
    format_of,
    parse_json,
    read_raw,
    register_format,
    render_json,
    write_raw,
)
from mccpo.curriculum.gate import blocking, check_confidence, check_mastery, check_theta, frontier, trusted
from mccpo.curriculum.graph import Curriculum, Prerequisites
from mccpo.curriculum.misstate import MISTAKES, Mistake, misstate, wrong_edges
from mccpo.curriculum.validation import DEFAULT_DEMAND

__all__ = [
    "DEFAULT_DEMAND",
    "MISTAKES",
    "Curriculum",
    "Derivation",
    "Edge",
    "Evidence",
    "Mistake",
    "Prerequisites",
    "RawConcept",
    "RawGraph",
    "Tables",
    "blocking",
    "check_confidence",
    "check_mastery",
    "check_theta",
    "draw",
    "fan_in",
    "format_of",
    "frontier",
    "misstate",
    "parse_json",
    "read_raw",
    "register_format",
    "render_json",
    "trusted",
    "write_raw",
    "wrong_edges",
]
