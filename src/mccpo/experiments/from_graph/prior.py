"""What is believed of learners of whom there are no logs: a prior over the parameters of knowledge tracing.

Each parameter is a chance, and its log-odds are a sum of three numbers: a centre, what sets a platform apart, and what
sets a concept apart on its platform. Six public logs were fitted, each concept drawn towards the mean of its platform
as `mccpo prepare` does. The centre and the spread between platforms come from the six means, the spread within a
platform from their concepts. See docs/tutor.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from mccpo.env import Population
from mccpo.mastery import BKT, Responses

PARAMETERS = ("prior", "learn", "guess", "slip")
BOUNDS = {"prior": (0.01, 0.99), "learn": (1e-3, 0.5), "guess": (0.01, 0.49), "slip": (0.01, 0.49)}
"""As `prepare` holds them: lessons that are worth giving, answers that are worth hearing."""
_MANY = 200
"""Platforms, and concepts of each, by which the means of the prior are worked out."""


class Engaged(NamedTuple):
    """How engagement depends on demand, mastery and novelty: the means over platforms."""

    base: float
    difficulty: float
    novelty: float


@dataclass(frozen=True)
class LearnerPrior:
    """A distribution of platforms and of concepts on them, in log-odds of the four chances of knowledge tracing.

    **Fields:**

    - `centre`: of each of `PARAMETERS`, the mean over platforms.
    - `between`: the standard deviation over platforms; `within`: the covariance over the concepts of a platform.
    - `engaged`: the engagement that goes with it. `sources`: the logs that it was fitted to.
    """

    centre: tuple[float, ...]
    between: tuple[float, ...]
    within: tuple[tuple[float, ...], ...]
    engaged: Engaged
    sources: tuple[str, ...]

    def draw(self, platforms: int, concepts: int, seed: int) -> Population:
        """Draws platforms, each with parameters for every concept.

        >>> STATED.draw(platforms=2, concepts=3, seed=0).K0.shape
        (2, 3)
        """
        random = np.random.default_rng([seed, platforms, concepts])
        own = random.normal(self.centre, self.between, (platforms, 1, len(PARAMETERS)))
        apart = random.multivariate_normal(np.zeros(len(PARAMETERS)), self.within, (platforms, concepts))
        chances = 1 / (1 + np.exp(-(own + apart)))
        held = (np.clip(chances[..., at], *BOUNDS[name]) for at, name in enumerate(PARAMETERS))
        return Population(*(values.astype(np.float32) for values in held))

    def means(self) -> dict[str, float]:
        """The mean of each parameter over platforms and concepts: what a tutor believes of every concept."""
        drawn = self.draw(_MANY, _MANY, seed=0)
        return {name: float(np.mean(values)) for name, values in zip(PARAMETERS, drawn, strict=True)}

    def believed(self, concepts: int) -> Float[np.ndarray, "4 concepts"]:
        """What a tutor believes of each concept."""
        return np.tile(np.array(list(self.means().values()))[:, None], concepts)

    def as_json(self) -> dict[str, Any]:
        """The prior and its means, as plain values."""
        return {"prior": asdict(self), "means": self.means()}


STATED = LearnerPrior(
    centre=(0.323, -1.859, -1.111, -1.814),
    between=(0.736, 0.817, 0.265, 0.24),
    within=(
        (1.051, -0.062, -0.149, -0.071),
        (-0.062, 1.665, -0.187, 0.016),
        (-0.149, -0.187, 0.681, -0.084),
        (-0.071, 0.016, -0.084, 0.819),
    ),
    engaged=Engaged(0.754, 0.981, 0.042),
    sources=("assistments-2009", "assistments-2012", "assistments-2017", "statics-2011", "junyi-2015", "ednet"),
)
"""The prior that `mccpo tutor` takes without logs; `fit_prior` gives it again from the six logs, to these digits."""


def prior_of(models: Mapping[str, BKT], engaged: Engaged) -> LearnerPrior:
    """The prior of fitted platforms, all counting alike however many concepts they have."""
    logits = {name: _logits(model) for name, model in models.items()}
    means = np.array([values.mean(axis=0) for values in logits.values()])
    within = np.mean([np.cov(values, rowvar=False) for values in logits.values()], axis=0)
    return LearnerPrior(
        centre=tuple(means.mean(axis=0).round(3).tolist()),
        between=tuple(means.std(axis=0, ddof=1).round(3).tolist()),
        within=tuple(map(tuple, within.round(3).tolist())),
        engaged=engaged,
        sources=tuple(models),
    )


def fit_prior(logs: Mapping[str, Responses], seed: int = 0) -> LearnerPrior:
    """Fits the prior to the responses of several platforms, by name."""
    from mccpo.experiments.prepare.engagement import engagement_of, first_answers  # noqa: PLC0415 - they need polars
    from mccpo.experiments.prepare.learners import pooled  # noqa: PLC0415
    from mccpo.mastery.fitting import FitSettings, fit, trajectories  # noqa: PLC0415

    models, engagements = {}, []
    for name, responses in logs.items():
        fitted = fit("bkt", responses, FitSettings(restarts=2, seed=seed)).model
        assert isinstance(fitted, BKT)
        models[name] = pooled(fitted, responses)
        right = first_answers(responses)
        demand = np.clip(1 - np.where(np.isnan(right), np.nanmean(right), right), 0.05, 0.95)
        mastery = np.asarray(trajectories(models[name], responses).mastery, float)
        engagements.append(engagement_of(responses, mastery, demand)[:3])
    return prior_of(models, Engaged(*np.mean(engagements, axis=0).round(3).tolist()))


def _logits(model: BKT) -> Float[np.ndarray, "concepts parameters"]:
    """The log-odds of a model's parameters, concept by concept, within bounds."""
    held = np.stack([np.clip(getattr(model, name)[:-1], *BOUNDS[name]) for name in PARAMETERS], axis=1)
    return np.log(held) - np.log1p(-held)
