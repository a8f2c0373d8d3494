"""What is believed of a platform's learners once there are answers: the stated prior, updated by knowledge tracing."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from mccpo.env import Population
from mccpo.experiments.from_graph.prior import BOUNDS, PARAMETERS, STATED, Engaged, LearnerPrior
from mccpo.mastery import Responses
from mccpo.mastery.fitting import PlatformDraws, PlatformPrior, sample_platform

INTERVAL = 0.9
"""The share of the posterior that an interval holds."""
NEWEST = 2_000
"""The learners, of those who answered the newest, that are learnt from: more of them would say little more."""


class Estimate(NamedTuple):
    """A chance as the posterior has it: its mean, and where the middle 90 % lie."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class LearnerPosterior:
    """A platform as its answers show it: joint draws of its concepts' chances, with what they were learnt from.

    **Fields:**

    - `stated`: the prior before any answer; `concepts`: the names, in the order of the draws.
    - `draws`: from the posterior; `answers`: how many there are on each concept; `learners`: by how many learners.
    """

    stated: LearnerPrior
    concepts: tuple[str, ...]
    draws: PlatformDraws
    answers: Int[np.ndarray, " concepts"]
    learners: int

    @property
    def engaged(self) -> Engaged:
        """How engagement depends on a lesson: no answer tells."""
        return self.stated.engaged

    @property
    def sources(self) -> tuple[str, ...]:
        """The logs that the prior was fitted to."""
        return self.stated.sources

    @property
    def chances(self) -> Float[np.ndarray, "draws concepts 4"]:
        """The draws as chances, within their bounds."""
        return _chances(self.draws.concepts)

    def draw(self, platforms: int, concepts: int, seed: int) -> Population:
        """Draws platforms as they may be by the answers, each with parameters for every concept."""
        assert concepts == len(self.concepts)
        drawn = np.random.default_rng([seed, platforms, concepts]).integers(len(self.draws.platform), size=platforms)
        return Population(*np.moveaxis(self.chances[drawn], -1, 0).astype(np.float32))

    def believed(self, concepts: int) -> Float[np.ndarray, "4 concepts"]:
        """What a tutor believes of each concept: the means of its chances."""
        assert concepts == len(self.concepts)
        return self.chances.mean(axis=0).T

    def of_concept(self, at: int) -> dict[str, Estimate]:
        """The chances of a concept."""
        return _estimates(self.chances[:, at])

    def of_platform(self) -> dict[str, Estimate]:
        """The chances of a concept at the platform's mean."""
        return _estimates(_chances(self.draws.platform))

    def as_json(self) -> dict[str, Any]:
        """The prior, and what was learnt of each concept, as plain values."""
        concepts = {
            name: {"answers": int(self.answers[at])} | _plain(self.of_concept(at))
            for at, name in enumerate(self.concepts)
        }
        learnt = {
            "learners": self.learners,
            "answers": int(self.answers.sum()),
            "interval": INTERVAL,
            "r_hat": round(self.draws.r_hat, 4),
            "platform": _plain(self.of_platform()),
            "concepts": concepts,
        }
        means = dict(zip(PARAMETERS, self.believed(len(self.concepts)).round(6).tolist(), strict=True))
        return {"prior": asdict(self.stated), "learnt": learnt, "means": means}


def learn_platform(responses: Responses, *, stated: LearnerPrior = STATED, seed: int = 0) -> LearnerPosterior:
    """Updates the prior by the answers of the newest learners; `responses.concepts` are those of the graph."""
    present = np.unique(responses.learner)
    used = responses.where(np.isin(responses.learner, present[-NEWEST:]))
    prior = PlatformPrior(
        np.asarray(stated.centre),
        np.asarray(stated.between),
        np.asarray(stated.within),
        np.array([BOUNDS[name] for name in PARAMETERS]),
    )
    answers = np.bincount(used.concept, minlength=len(responses.concepts))
    learners = len(present[-NEWEST:])
    return LearnerPosterior(stated, responses.concepts, sample_platform(used, prior, seed), answers, learners)


def _chances(log_odds: Float[np.ndarray, "... 4"]) -> Float[np.ndarray, "... 4"]:
    low, high = np.array([BOUNDS[name] for name in PARAMETERS]).T
    return np.clip(1 / (1 + np.exp(-log_odds)), low, high)


def _estimates(chances: Float[np.ndarray, "draws 4"]) -> dict[str, Estimate]:
    low, high = np.quantile(chances, [(1 - INTERVAL) / 2, (1 + INTERVAL) / 2], axis=0)
    mean = chances.mean(axis=0)
    return {name: Estimate(float(mean[at]), float(low[at]), float(high[at])) for at, name in enumerate(PARAMETERS)}


def _plain(estimates: dict[str, Estimate]) -> dict[str, dict[str, float]]:
    return {name: {key: round(value, 6) for key, value in one._asdict().items()} for name, one in estimates.items()}
