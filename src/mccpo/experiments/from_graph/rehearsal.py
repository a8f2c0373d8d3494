"""How cautious the gate must be on a whole graph: rules teach simulated learners, and unready lessons are counted.

`caution` looks at one prerequisite at the moment when it opens the next concept. On a graph more can go wrong: whoever
was let through too early stays there for several lessons, learns little, and is let through again. So two rules that
teach right behind the gate rehearse on the graph, with learners of the tutor and of other platforms of the prior. While
too many of their lessons are unready in truth, the odds that the gate counts on are halved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from mccpo.env import PreparedTutor
from mccpo.methods import RuleEntry, method_entry, play_rule, side_by_side

RULES = ("mastery-learning", "greedy-gain")
EPISODES = 500
HALVINGS = 8
ROOM = 0.7
"""The share of δ that a rehearsal may reach: a certificate bounds what it sees from above, and policies differ."""


class Rehearsal(NamedTuple):
    """What a rehearsal ended with.

    **Fields:**

    - `halvings`: how often the odds that the gate counts on were halved for it.
    - `unready`: the largest share of lessons that were unready in truth, over rules and learners.
    - `most`: the share that the gate may let through.
    """

    halvings: int
    unready: float
    most: float

    @property
    def enough(self) -> bool:
        """Whether the gate let no more through than it may."""
        return self.unready <= ROOM * self.most


def rehearse(environments: Callable[[int], Sequence[PreparedTutor] | None], confidence: float, seed: int) -> Rehearsal:
    """Halves the odds until rules give few enough unready lessons.

    `environments` makes them with so many halvings; None says that nobody could open such a gate. Then the last gate
    that could be opened counts, and `Rehearsal.enough` is false.
    """
    most = 1.0 - confidence
    made = environments(0)
    assert made is not None
    found = Rehearsal(0, unready_share(made, seed), most)
    while not found.enough and found.halvings < HALVINGS:
        stricter = environments(found.halvings + 1)
        if stricter is None:
            break
        found = Rehearsal(found.halvings + 1, unready_share(stricter, seed), most)
    return found


def unready_share(environments: Sequence[PreparedTutor], seed: int) -> float:
    """The largest share of lessons that a rule gives to learners who are in truth not ready for them."""

    def share(case: tuple[str, PreparedTutor]) -> float:
        name, env = case
        entry = method_entry(name)
        assert isinstance(entry, RuleEntry)
        episodes = play_rule(env, entry.build(), seed, 0, EPISODES).episodes
        return float(np.sum(episodes.untrue) / np.sum(episodes.length))

    return max(side_by_side(share, [(name, env) for name in RULES for env in environments]))
