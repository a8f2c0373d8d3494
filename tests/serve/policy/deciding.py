"""Policies that say what they are told to, learners of all kinds, and every way to spoil a certificate."""

import json

import numpy as np
from hypothesis import strategies as st

from mccpo.curriculum import Curriculum
from mccpo.serve.policy.learner_state import LearnerState

DIAMOND = Curriculum.from_edges([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])


class Saying:
    """A network that says what it is told to."""

    def __init__(self, logits):
        self.says = logits

    def logits(self, features):
        if isinstance(self.says, Exception):
            raise self.says
        return np.array(self.says, np.float64)


def through_json(value):
    return json.loads(json.dumps(value, sort_keys=True, allow_nan=False))


numbers = st.floats(width=32) | st.sampled_from([0.0, np.inf, -np.inf, np.nan, 1e308, -1e308])
logits = st.lists(numbers, min_size=8, max_size=8)
masteries = st.lists(st.sampled_from([0.0, 0.2, 0.7, 1.0]) | st.floats(0, 1), min_size=4, max_size=4)
draws = st.floats(0, 1, exclude_max=True)
standings = st.builds(
    lambda K, n, t, last, previous: LearnerState(np.array(K), np.array(n), t, last, previous and np.array(previous)),
    masteries,
    st.lists(st.integers(0, 1000), min_size=4, max_size=4),
    st.integers(0, 500),
    st.none() | st.integers(0, 7),
    st.none() | st.lists(st.booleans(), min_size=8, max_size=8),
)
methods = st.sampled_from(["mc-cpo", "unconstrained", "post-hoc", "post-hoc-block"])


def spoils(certificate):
    """A value of another kind, and another value of the same kind, for every entry; and every entry left out."""
    for key, value in certificate.items():
        yield {name: each for name, each in certificate.items() if name != key}
        others = [None if value is not None else 1]
        if isinstance(value, str):
            others.append(("0" if value[0] != "0" else "1") + value[1:])
        elif isinstance(value, float):
            others += [np.nextafter(value, 2.0).item(), np.nextafter(value, -1.0).item(), 1 - value]
        elif isinstance(value, int):
            others += [value + 1, float(value)]
        elif isinstance(value, list):
            others += [[*value, "d"], value[1:] or ["a"]]
        elif isinstance(value, dict):
            others += [{**value, "z": 0.5}]
            for name, each in value.items():
                others.append({k: v for k, v in value.items() if k != name})
                changed = np.nextafter(each, 2.0).item() if isinstance(each, float) else f"{each}0"
                others.append({**value, name: changed})
        for other in others:
            if other != value or type(other) is not type(value):
                yield {**certificate, key: other}
    yield {**certificate, "more": 1}
