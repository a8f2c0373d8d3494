"""The environment that a policy learnt in, as far as serving it goes: its numbers, read from JSON and checked."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from mccpo.curriculum import Curriculum, check_theta, parse_json
from mccpo.errors import InputError
from mccpo.mastery import BKT

TUTORS = ("tutor-15", "tutor-25", "tutor-15-bkt", "prepared")
"""The environments whose policies can be served."""
_AGAIN = "train it again, or serve another run"


class Activity(NamedTuple):
    """What can be done with a concept: factors on its demand and on the learning rate, and what it adds to r_E."""

    name: str
    demand: float = 1.0
    gain: float = 1.0
    engagement: float = 0.0


PRACTICE = Activity("practice")
"""The only activity where a policy chooses concepts alone."""


class Prices(NamedTuple):
    """The numbers by which engagement and costs are reckoned; see `mccpo.serve.policy.costs`."""

    r_base: float
    r_difficulty: float
    r_novelty: float
    c2_gain: float
    c3_demand: float
    c4_rate: float


@dataclass(frozen=True, eq=False)
class Tutor:
    """The environment's numbers.

    - `theta`: the mastery that opens the gate; `horizon`: the length of the episodes a policy was trained on.
    - `novelty_span`: the number of lessons over which a concept's novelty falls to 1/e.
    - `unready_gain`: the factor on the learning rate of a concept that is not ready.
    - `learner`: what mastery starts from, and how an answer changes it.
    - `realised`: costs go by the change of mastery that the answer brought, not by the gain to be expected.
    """

    environment: str
    curriculum: Curriculum
    activities: tuple[Activity, ...]
    named: bool
    theta: float
    horizon: int
    gamma: float
    novelty_span: float
    unready_gain: float
    learner: BKT
    prices: Prices
    realised: bool

    @cached_property
    def action_names(self) -> tuple[str, ...]:
        """The names of actions as the run has them."""
        suffixes = [f"/{activity.name}" for activity in self.activities] if self.named else [""]
        return tuple(concept + suffix for concept in self.curriculum.concepts for suffix in suffixes)

    @cached_property
    def learning(self) -> dict[str, Any]:
        """All that mastery depends on, for its hash."""
        values = {name: getattr(self.learner, name).tolist() for name in ("prior", "learn", "guess", "slip")}
        gains = {activity.name: activity.gain for activity in self.activities}
        return {**values, "gains": gains, "unready_gain": self.unready_gain, "theta": self.theta}


def read_tutor(environment: object, parameters: Mapping[str, Any]) -> Tutor:
    """The environment of a run's description."""
    if environment not in TUTORS:
        raise InputError(f"a policy of {environment!r} cannot be served", fix=f"serve one of {', '.join(TUTORS)}")
    text = json.dumps(parameters["curriculum"])
    curriculum = Curriculum.from_raw(parse_json(text.encode(), "the curriculum"))
    activities = tuple(_activity(entry) for entry in parameters["activities"])
    if len({activity.name for activity in activities}) < len(activities):
        raise InputError("an activity is given twice", fix=_AGAIN)
    number = _Numbers(parameters, curriculum)
    prior, learn, guess, slip = (number.per_concept(name) for name in ("K0", "eta", "guess", "slip"))
    learner = BKT(prior, learn, guess, slip, curriculum.concepts)
    if (learner.guess + learner.slip >= 1).any():
        raise InputError("guess and slip sum to 1 or more", fix=_AGAIN)
    if any((learner.learn * activity.gain > 1).any() for activity in activities):
        raise InputError("eta times the gain of an activity is above 1", fix=_AGAIN)
    theta = number.between("theta", 0, 1)
    check_theta(theta)
    return Tutor(
        environment=str(environment),
        curriculum=curriculum,
        activities=activities or (PRACTICE,),
        named=bool(activities),
        theta=theta,
        horizon=number.whole("horizon"),
        gamma=number.above("gamma", 1),
        novelty_span=number.above("novelty_span", math.inf),
        unready_gain=number.between("unready_gain", 0, 1),
        learner=learner,
        prices=Prices(*(number.between(name, 0, 1e6) for name in Prices._fields)),
        realised=parameters.get("costs_on", "expected") == "realised",
    )


class _Numbers:
    """The parameters by name, each refused where it is no number of its range."""

    def __init__(self, parameters: Mapping[str, Any], curriculum: Curriculum) -> None:
        self.parameters = parameters
        self.curriculum = curriculum

    def between(self, name: str, low: float, high: float) -> float:
        return _checked(name, self.parameters[name], low, high)

    def above(self, name: str, high: float) -> float:
        value = self.between(name, 0, high)
        if value in (0, math.inf):
            raise _wrong(name, value)
        return value

    def whole(self, name: str) -> int:
        value = self.parameters[name]
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise _wrong(name, value)
        return value

    def per_concept(self, name: str) -> Float[np.ndarray, " concepts"]:
        """One probability for each concept, also where one was given for all."""
        value, size = self.parameters[name], len(self.curriculum)
        values = value if isinstance(value, list) else [value] * size
        if len(values) != size:
            raise InputError(f"{name} has {len(values)} numbers for {size} concepts", fix=_AGAIN)
        array = np.array([_checked(name, each, 0, 1) for each in values], np.float64)
        array.setflags(write=False)
        return array


def _activity(entry: Mapping[str, Any]) -> Activity:
    found = Activity(**entry)
    if not isinstance(found.name, str) or not found.name:
        raise _wrong("the name of an activity", found.name)
    return Activity(
        found.name,
        _checked("the demand of an activity", found.demand, 0, 1e6),
        _checked("the gain of an activity", found.gain, 0, 1e6),
        _checked("the engagement of an activity", found.engagement, -1, 1),
    )


def _checked(name: str, value: object, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise _wrong(name, value)
    return float(value)


def _wrong(name: str, value: object) -> InputError:
    return InputError(f"{name} is {value!r}", fix=_AGAIN)
