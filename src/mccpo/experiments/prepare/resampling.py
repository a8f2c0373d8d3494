"""Learners as other samples of them would have it: knowledge tracing fitted again, to learners drawn anew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Int

from mccpo.curriculum import Curriculum
from mccpo.env import Population, PreparedTutor
from mccpo.experiments.prepare.learners import pooled
from mccpo.experiments.prepare.parameters import held_parameters
from mccpo.mastery import BKT, Responses
from mccpo.mastery.fitting import FitSettings, fit
from mccpo.work import Call, Calls, one_by_one

RESAMPLES = 8


def population_of(models: list[BKT], curriculum: Curriculum) -> Population:
    """Learners of whom each is as one of the models has it."""
    held = [held_parameters(model, curriculum) for model in models]
    return Population(*(np.stack(values) for values in zip(*held, strict=True)))


def with_population(env: PreparedTutor, population: Population) -> PreparedTutor:
    """The environment with other learners; what its tutor believes of them stays."""
    return PreparedTutor(**env.parameters | {"population": population, "curriculum_seed": None})


def resampled(
    responses: Responses, curriculum: Curriculum, settings: FitSettings, calls: Calls = one_by_one
) -> Population:
    """As many models as `RESAMPLES`, each fitted to as many learners as there are, drawn with replacement."""
    draw = np.random.default_rng([settings.seed, RESAMPLES])
    present = np.unique(responses.learner)
    fits = [
        Call(f"resample {number + 1}", fit_resample, (responses, draw.choice(present, len(present)), settings, number))
        for number in range(RESAMPLES)
    ]
    return population_of(calls(fits), curriculum)


def fit_resample(responses: Responses, learners: Int[np.ndarray, " drawn"], settings: FitSettings, number: int) -> BKT:
    """Knowledge tracing of learners that were drawn."""
    drawn = _drawn(responses, learners)
    model = fit("bkt", drawn, replace(settings, restarts=1, seed=settings.seed + number)).model
    assert isinstance(model, BKT)
    return pooled(model, drawn)


def _drawn(responses: Responses, learners: Int[np.ndarray, " drawn"]) -> Responses:
    """The responses of learners, each time that one was drawn as those of a learner apart."""
    order = np.argsort(responses.learner, kind="stable")
    start, end = (np.searchsorted(responses.learner[order], learners, side=side) for side in ("left", "right"))
    rows = np.concatenate([order[first:last] for first, last in zip(start, end, strict=True)])
    whose = np.repeat(np.arange(len(learners)), end - start).astype(np.int32)
    return responses._replace(
        learner=whose,
        concept=responses.concept[rows],
        correct=responses.correct[rows],
        event=np.arange(len(rows)),
        time=responses.time[rows],
        learners=tuple(map(str, range(len(learners)))),
    )
