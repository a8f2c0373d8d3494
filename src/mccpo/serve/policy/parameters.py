"""The environment that a policy learnt in, as far as serving it goes: its parameters, read from JSON and checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from mccpo.curriculum import Curriculum, parse_json
from mccpo.errors import InputError
from mccpo.mastery import BKT
from mccpo.policy import (
    Activity,
    Layout,
    Prices,
    TutorParameters,
    action_names,
    chosen_activities,
    demand_of,
    for_each_concept,
    is_number,
    offered,
)
from mccpo.serve.policy.gate import Opening

NEEDED = (
    *("curriculum", "activities", "K0", "eta", "guess", "slip", "theta", "unready_gain"),
    *("novelty_span", "gamma", "horizon", *Prices._fields),
)
"""The parameters of a tutor that serving it goes by."""
NOT_NEEDED = ("concepts", "groups", "costs_on", "confidence", "doubt", "population", "kinds", "shares", "relative")
"""What a tutor may have beside them: the size of its curriculum, whom it was trained with, and how costs were priced.

An environment that has any other is not served: the service does not know what that does to what its policy sees.
"""
_KNOWN = frozenset((*NEEDED, *NOT_NEEDED))


@dataclass(frozen=True, eq=False, kw_only=True)
class Tutor(TutorParameters):
    """The environment's parameters, those of each concept as arrays.

    - `environment`: its name.
    - `realised`: costs go by the change of mastery that the answer brought, not by the gain to be expected.
    """

    environment: str
    realised: bool

    @cached_property
    def action_names(self) -> tuple[str, ...]:
        """The names of actions as the run has them."""
        return action_names(self.curriculum.concepts, self.activities)

    @cached_property
    def offered(self) -> tuple[Activity, ...]:
        """What can be done with each concept."""
        return offered(self.activities)

    @cached_property
    def demand(self) -> Float[np.ndarray, " actions"]:
        """How much each action asks of a learner."""
        demand: Float[np.ndarray, " actions"] = demand_of(self.curriculum.demand, self.offered)
        return demand

    @cached_property
    def layout(self) -> Layout:
        """Where each part of what the policy sees lies among the features."""
        return Layout(len(self.curriculum), len(self.action_names))

    @cached_property
    def learner(self) -> BKT:
        """What mastery starts from, and how an answer changes it."""
        return BKT(self.K0, self.eta, self.guess, self.slip, self.curriculum.concepts)

    @cached_property
    def opening(self) -> Opening:
        """What opens the gate."""
        doubt = np.broadcast_to(self.doubt, len(self.curriculum)).tolist()
        return Opening(self.theta, self.confidence, dict(zip(self.curriculum.concepts, doubt, strict=True)))

    @cached_property
    def learning(self) -> dict[str, Any]:
        """All that mastery depends on, for its hash."""
        values = {name: getattr(self.learner, name).tolist() for name in ("prior", "learn", "guess", "slip")}
        gains = {activity.name: activity.gain for activity in self.offered}
        sure = {"confidence": self.confidence, "doubt": np.asarray(self.doubt).tolist()}
        gate = {"theta": self.theta} if self.confidence is None else sure
        return {**values, "gains": gains, "unready_gain": self.unready_gain, **gate}


def read_tutor(environment: object, parameters: Mapping[str, Any]) -> Tutor:
    """The environment of a run's description: any that has a tutor's parameters and no others, whatever its name."""
    _check_is_tutor(environment, parameters)
    text = json.dumps(parameters["curriculum"])
    curriculum = Curriculum.from_raw(parse_json(text.encode(), "the curriculum"))
    try:
        return Tutor(
            environment=str(environment),
            curriculum=curriculum,
            activities=chosen_activities(_activity(entry) for entry in parameters["activities"]),
            K0=for_each_concept(parameters["K0"], len(curriculum)),
            eta=for_each_concept(parameters["eta"], len(curriculum)),
            guess=for_each_concept(parameters["guess"], len(curriculum)),
            slip=for_each_concept(parameters["slip"], len(curriculum)),
            theta=_as_float(parameters["theta"]),
            confidence=_as_float(parameters.get("confidence")),
            doubt=for_each_concept(parameters.get("doubt", 0.0), len(curriculum)),
            unready_gain=_as_float(parameters["unready_gain"]),
            novelty_span=_as_float(parameters["novelty_span"]),
            gamma=_as_float(parameters["gamma"]),
            horizon=parameters["horizon"],
            prices=Prices(*(_as_float(parameters[name]) for name in Prices._fields)),
            realised=parameters.get("costs_on", "expected") == "realised",
        )
    except InputError as error:
        raise InputError(error.what, fix="train it again, or serve another run") from error


def _check_is_tutor(environment: object, parameters: Mapping[str, Any]) -> None:
    """Refuses an environment that is no tutor, or one with parameters that the service knows nothing of."""
    missing = [f"has no '{name}'" for name in NEEDED if name not in parameters]
    unknown = [f"has '{name}', which the service does not know" for name in parameters if name not in _KNOWN]
    if not isinstance(environment, str) or missing or unknown:
        why = [*missing, *unknown, "has no name"][0]
        raise InputError(
            f"a policy of {environment!r} cannot be served: it {why}",
            fix="serve one of a tutor whose parameters are those of tutor-15 or tutor-15-bkt",
        )


def _activity(entry: Mapping[str, Any]) -> Activity:
    return Activity(**{key: _as_float(value) for key, value in entry.items()})


def _as_float(value: Any) -> Any:
    """A number in double precision, so that 1 and 1.0 hash alike; anything else as it is, for the checks to refuse."""
    return float(value) if value is not None and is_number(value) else value
