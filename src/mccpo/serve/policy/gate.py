"""The gate, told in plain Python: it stands apart from the code that policies run on, and checks what they chose.

Nothing here is shared with the arrays of `mccpo.curriculum`: a fault there is found here. Whatever is doubtful keeps
the gate shut: a mastery that is missing, NaN or beyond [0, 1], a threshold that is none, a concept that is not known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def holds(prerequisites: Mapping[str, Sequence[str]], theta: float, mastery: Mapping[str, float], concept: str) -> bool:
    """Whether a concept may be taught: every prerequisite has a mastery of at least `theta`.

    >>> holds({"a": (), "b": ("a",)}, 0.7, {"a": 0.7, "b": 0.2}, "b")
    True
    """
    return concept in prerequisites and 0 < theta < 1 and not unmet(prerequisites, theta, mastery, concept)


def unmet(
    prerequisites: Mapping[str, Sequence[str]], theta: float, mastery: Mapping[str, float], concept: str
) -> list[str]:
    """The prerequisites of a concept that keep it locked, in their order.

    >>> unmet({"a": (), "b": ("a",)}, 0.7, {"a": 0.69, "b": 0.2}, "b")
    ['a']
    """
    return [name for name in prerequisites[concept] if not theta <= mastery.get(name, -1.0) <= 1]
