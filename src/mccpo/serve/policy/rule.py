"""Rules that are served: they choose by what a policy sees of a learner, as the methods of the same names do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float

from mccpo.errors import InputError
from mccpo.policy import curriculum_order, greedy_gain, mastery_learning, nearest_to_practice
from mccpo.serve.policy.parameters import Tutor

Actions: TypeAlias = Float[np.ndarray, " actions"]
Mask: TypeAlias = Bool[np.ndarray, " actions"]


@dataclass(frozen=True, eq=False)
class ServedRule:
    """A rule in the place of a network: what it does not choose has the logit -∞, the others one and the same."""

    name: str
    tutor: Tutor

    def logits(self, features: Float[np.ndarray, " features"]) -> Actions:
        """The logits by which a softmax over what is ready draws evenly from what the rule chooses."""
        seen, each = self.tutor.layout.split(features), len(self.tutor.offered)
        chosen = RULES[self.name](self.tutor, np.repeat(seen.K, each), np.repeat(seen.ready, each).astype(bool))
        return np.where(chosen, 0.0, -np.inf)


def served_rule(name: str, tutor: Tutor) -> ServedRule:
    """The rule of a method's name; one that cannot be served is refused."""
    if name == "zpdes":
        raise InputError(
            "zpdes remembers a learner's answers of the session, which the service does not keep",
            fix=f"serve another method, such as {next(iter(RULES))}",
        )
    if name not in RULES:
        raise InputError(f"{name} is a rule that is not served", fix=f"name a trained method, or {', '.join(RULES)}")
    return ServedRule(name, tutor)


def _random_ready(tutor: Tutor, K: Actions, ready: Mask) -> Mask:
    del tutor, K
    return ready


def _curriculum_order(tutor: Tutor, K: Actions, ready: Mask) -> Mask:
    return curriculum_order(K, _enough(tutor), ready & _plain(tutor))


def _mastery_learning(tutor: Tutor, K: Actions, ready: Mask) -> Mask:
    return mastery_learning(K, _enough(tutor), ready & _plain(tutor))


def _greedy_gain(tutor: Tutor, K: Actions, ready: Mask) -> Mask:
    return greedy_gain(np.outer(tutor.eta, [activity.gain for activity in tutor.offered]).ravel(), K, ready)


RULES: dict[str, Callable[[Tutor, Actions, Mask], Mask]] = {
    "random-ready": _random_ready,
    "curriculum-order": _curriculum_order,
    "mastery-learning": _mastery_learning,
    "greedy-gain": _greedy_gain,
}
"""What each rule chooses among the actions that are ready, by the mastery of the concept that each teaches."""


def _enough(tutor: Tutor) -> Actions:
    """The mastery of each action's concept that opens what needs it."""
    enough = tutor.theta if tutor.confidence is None else tutor.curriculum.enough(tutor.confidence, tutor.doubt)
    return np.repeat(np.broadcast_to(enough, len(tutor.curriculum)), len(tutor.offered))


def _plain(tutor: Tutor) -> Mask:
    """One action for each concept: the one nearest to plain practice."""
    return np.tile(nearest_to_practice(tutor.offered), len(tutor.curriculum))
