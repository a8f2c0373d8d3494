"""The numbers of the two environments: what they have in common, and what each learns from its own learners."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from mccpo.curriculum import Curriculum
from mccpo.env import Group, PreparedJudge, PreparedTutor
from mccpo.experiments.prepare.doubt import doubt_of
from mccpo.experiments.prepare.engagement import Engagement, engagement_of
from mccpo.mastery import BKT, PFA, Responses, codes
from mccpo.mastery.fitting import trajectories

C2_SHARE, C4_SHARE = 0.022 / 0.064, 10.5 * 0.064
"""What c2 and c4 ask of a lesson in the paper's tutor, in units of what the first lesson brings there: 0.08·0.8."""
LEAST_RATE, _MOST_RATE = 1e-3, 0.5
"""What a lesson on a concept is taken to bring at least and at most, as a share of what is missing."""
_LEAST_K0, _MOST_K0 = 0.01, 0.99
_MOST_GUESS = 0.49
"""A guess and a slip of one half each would leave an answer without a word to say."""


class Beliefs(NamedTuple):
    """What the tutor believes of learners, concept by concept."""

    K0: Float[np.ndarray, " concepts"]
    eta: Float[np.ndarray, " concepts"]
    guess: Float[np.ndarray, " concepts"]
    slip: Float[np.ndarray, " concepts"]
    doubt: Float[np.ndarray, " concepts"]


class HeldParameters(NamedTuple):
    """The parameters of knowledge tracing, within bounds that keep lessons worth giving and answers worth hearing."""

    K0: Float[np.ndarray, " concepts"]
    eta: Float[np.ndarray, " concepts"]
    guess: Float[np.ndarray, " concepts"]
    slip: Float[np.ndarray, " concepts"]


def held_parameters(model: BKT, curriculum: Curriculum) -> HeldParameters:
    """The parameters of a model for the concepts of a curriculum."""
    at = codes(model, curriculum.concepts)
    bounds = ((_LEAST_K0, _MOST_K0), (LEAST_RATE, _MOST_RATE), (0.0, _MOST_GUESS), (0.0, _MOST_GUESS))
    values = (model.prior, model.learn, model.guess, model.slip)
    held = (np.clip(value[at], *bound).astype(np.float32) for value, bound in zip(values, bounds, strict=True))
    return HeldParameters(*held)


def beliefs_of(model: BKT, curriculum: Curriculum, responses: Responses) -> Beliefs:
    """What the tutor believes: the parameters of knowledge tracing, and how far few learners leave them in doubt."""
    finite = model._replace(prior=np.clip(model.prior, _LEAST_K0, _MOST_K0))  # so that its odds are
    doubt = doubt_of(finite, responses)[codes(model, curriculum.concepts)].astype(np.float32)
    return Beliefs(*held_parameters(model, curriculum), doubt)


@dataclass(frozen=True, eq=False)
class SharedParameters:
    """What both environments have in common."""

    curriculum: Curriculum
    beliefs: Beliefs
    groups: tuple[Group, ...]
    theta: float
    confidence: float | None
    horizon: int

    def as_arguments(self) -> dict[str, Any]:
        """The parameters as an environment takes them."""
        own = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "beliefs"}
        return own | self.beliefs._asdict() | {"c3_demand": float(np.median(self.curriculum.demand))}


def tutor_of(shared: SharedParameters, model: BKT, responses: Responses) -> tuple[PreparedTutor, Engagement]:
    """The environment to train in, and how its learners' engagement was fitted."""
    engagement = _engagement(shared, model, responses)
    first = float((shared.beliefs.eta * (1 - shared.beliefs.K0)).mean())
    return PreparedTutor(**shared.as_arguments(), **signals_of(engagement, first)), engagement


def judge_of(shared: SharedParameters, model: PFA, responses: Responses) -> tuple[PreparedJudge, Engagement]:
    """The environment to judge by, and how its learners' engagement was fitted."""
    at = codes(model, shared.curriculum.concepts)
    ease, success, failure = (values[at].astype(np.float32) for values in model[:3])
    chance, right, wrong = (1 / (1 + np.exp(-logit)) for logit in (ease, ease + success, ease + failure))
    first = float((chance * (right - chance) + (1 - chance) * (wrong - chance)).mean())
    engagement = _engagement(shared, model, responses)
    signals = signals_of(engagement, max(first, LEAST_RATE))
    judge = PreparedJudge(
        **shared.as_arguments(), ease=ease, success=success, failure=failure, decay=model.decay, **signals
    )
    return judge, engagement


def _engagement(shared: SharedParameters, model: BKT | PFA, responses: Responses) -> Engagement:
    mastery = np.asarray(trajectories(model, responses).mastery, float)
    return engagement_of(responses, mastery, np.asarray(shared.curriculum.demand))


def signals_of(engagement: Engagement, first: float) -> dict[str, Any]:
    """The numbers of r_E, c2 and c4, where `first` is what the first lesson on a concept brings on average."""
    return {
        "r_base": engagement.base,
        "r_difficulty": engagement.difficulty,
        "r_novelty": engagement.novelty,
        "c2_gain": C2_SHARE * first,
        "c4_rate": C4_SHARE / first,
    }
