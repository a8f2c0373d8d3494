"""What answers say of one platform's learners: a posterior over the four chances of knowledge tracing, by sampling.

The log-odds of each chance are normal. A platform has a mean of its own about a centre, and a concept differs from the
mean of its platform. Answers on a concept so say something of all others, by way of that mean; a concept without
answers has what they say of the platform.

    m ~ N(centre, diag(between²)),   x_c ~ N(m, within),   answers of c ~ knowledge tracing at chances σ(x_c)

It is sampled by an ensemble of chains (differential evolution: C. J. F. ter Braak, Statistics and Computing 16, 2006).
A chain moves along the difference of two chains of the other half, so that steps have the size and direction of the
posterior by themselves. The mean of the platform is drawn given its concepts, and moved together with all of them.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from mccpo.mastery.fitting.answer_patterns import NOTHING, RIGHT, AnswerPatterns, answer_patterns
from mccpo.mastery.responses import Responses

HALF = 16  # chains in each of two halves
SWEEPS = 1000  # of a round; in the first, answers count ever more, and what the first two draw is dropped
COOLEST = 1e-4  # how much answers count at first
STRAYED = 30.0  # in log-likelihood, how far a chain is left behind
EVERY = 10  # sweeps between draws that are kept
ROUNDS = 6  # in which draws may come to agree
AGREED = 1.1  # the largest R̂ at which they do
_JITTER = 1e-3
_SPEED = 2.38 / np.sqrt(2 * 4)  # of steps along differences, for four chances
_LEAP = 0.1  # the share of steps as long as the difference itself, which may change from one mode to another

Slabs: TypeAlias = tuple[tuple[Int[Array, "cells patterns"], Int[Array, " patterns"], Float[Array, " patterns"]], ...]
"""As `PatternSlab`."""
Chains: TypeAlias = Float[Array, "chains concepts 4"]


class PlatformPrior(NamedTuple):
    """What is believed of a platform before there are answers, in log-odds of K0, eta, guess and slip.

    **Fields:**

    - `centre`, `between`: the mean over platforms, and the standard deviation.
    - `within`: the covariance over the concepts of a platform.
    - `bounds`: the least and the largest value of each chance.
    """

    centre: Float[np.ndarray, 4]
    between: Float[np.ndarray, 4]
    within: Float[np.ndarray, "4 4"]
    bounds: Float[np.ndarray, "4 2"]


class PlatformDraws(NamedTuple):
    """Draws from the posterior, in log-odds; `r_hat` says how well the chains agree, 1 being perfect."""

    platform: Float[np.ndarray, "draws 4"]
    concepts: Float[np.ndarray, "draws concepts 4"]
    r_hat: float

    @property
    def agreed(self) -> bool:
        """Whether the chains agree on what they drew."""
        return self.r_hat <= AGREED


class _State(NamedTuple):
    """Both halves of the chains: the platform, its concepts, and the log-likelihood of each concept's answers.

    The half that moves next comes first.
    """

    platform: Float[Array, "2 half 4"]
    concepts: Float[Array, "2 half concepts 4"]
    likelihood: Float[Array, "2 half concepts"]


class _Model(NamedTuple):
    """The prior as sampling goes by it. With so many concepts, the platform given them has `spread` about its mean."""

    centre: Float[Array, 4]
    between: Float[Array, 4]
    within_inverse: Float[Array, "4 4"]
    bounds: Float[Array, "4 2"]
    covariance: Float[Array, "4 4"]
    spread: Float[Array, "4 4"]
    slabs: Slabs


def sample_platform(responses: Responses, prior: PlatformPrior, seed: int = 0) -> PlatformDraws:
    """Draws from the posterior of a platform, given the answers of its learners; every concept of `responses` has one.

    Concepts without answers are drawn about the platform's mean, for each draw of it.
    """
    random = np.random.default_rng([seed, len(responses.concepts)])
    patterns = answer_patterns(responses)
    answered = patterns.answered
    if not len(answered):
        count = 2 * HALF * SWEEPS // EVERY
        platform = random.normal(prior.centre, prior.between, (count, 4))
        return PlatformDraws(platform, _about(platform, prior, len(responses.concepts), random), 1.0)
    platform, sampled, r_hat = _sample(patterns, prior, seed)
    concepts = _about(platform, prior, len(responses.concepts), random)
    concepts[:, answered] = sampled
    return PlatformDraws(platform, concepts, r_hat)


def _about(
    platform: Float[np.ndarray, "draws 4"], prior: PlatformPrior, concepts: int, random: np.random.Generator
) -> Float[np.ndarray, "draws concepts 4"]:
    """Concepts of whom nothing is known but their platform."""
    apart = random.multivariate_normal(np.zeros(4), prior.within, (len(platform), concepts))
    return platform[:, None] + apart


def _sample(
    patterns: AnswerPatterns, prior: PlatformPrior, seed: int
) -> tuple[Float[np.ndarray, "draws 4"], Float[np.ndarray, "draws answered 4"], float]:
    model, concepts = _model(patterns, prior), len(patterns.answered)
    beginning, warming, keeping = jax.random.split(jax.random.key(seed), 3)
    of_platform, of_concepts = jax.random.split(beginning)
    platform = model.centre + model.between * jax.random.normal(of_platform, (2, HALF, 4))
    apart = jax.random.normal(of_concepts, (2, HALF, concepts, 4)) @ np.linalg.cholesky(prior.within).T
    state = _State(platform, platform[:, :, None] + apart, jnp.zeros((2, HALF, concepts)))
    heats = jnp.geomspace(COOLEST, 1.0, SWEEPS)
    for key in jax.random.split(warming, 2):
        state, _ = _sweeps(state, model, heats, key)
        state, heats = _without_strays(state), jnp.ones(SWEEPS)
    for key in jax.random.split(keeping, ROUNDS):
        state, (platform, drawn) = _sweeps(state, model, jnp.ones(SWEEPS), key)
        r_hat = max(_r_hat(np.asarray(platform)), _r_hat(np.asarray(drawn)))
        if r_hat <= AGREED:
            break
    return np.asarray(platform, float).reshape(-1, 4), np.asarray(drawn, float).reshape(-1, concepts, 4), r_hat


def _model(patterns: AnswerPatterns, prior: PlatformPrior) -> _Model:
    inverse = np.linalg.inv(prior.within)
    given_concepts = np.linalg.inv(np.diag(np.asarray(prior.between) ** -2.0) + len(patterns.answered) * inverse)
    numbers = (prior.centre, prior.between, inverse, prior.bounds, given_concepts, np.linalg.cholesky(given_concepts))
    centre, between, within, bounds, covariance, spread = (jnp.asarray(values, jnp.float32) for values in numbers)
    slabs = tuple(
        (jnp.asarray(slab.cells), jnp.asarray(slab.concept), jnp.asarray(slab.learners, jnp.float32))
        for slab in patterns.slabs
    )
    return _Model(centre, between, within, bounds, covariance, spread, slabs)


@jax.jit
def _sweeps(
    state: _State, model: _Model, heats: Float[Array, " sweeps"], key: PRNGKeyArray
) -> tuple[_State, tuple[Float[Array, "kept 2 half 4"], Float[Array, "kept 2 half concepts 4"]]]:
    """Sweeps over both halves, of which every few are kept; `heats` says how much of the log-likelihood counts."""

    def step(state: _State, now: tuple[Float[Array, ""], Bool[Array, ""], PRNGKeyArray]) -> tuple[_State, None]:
        moved = _moved(state, model, *now)
        return jax.tree.map(lambda values: values[::-1], moved), None

    def several(state: _State, now: tuple[Array, Array, PRNGKeyArray]) -> tuple[_State, tuple[Array, Array]]:
        state, _ = jax.lax.scan(step, state, now)
        return state, (state.platform, state.concepts)

    rows = len(heats) // EVERY
    keys = jax.random.split(key, (rows, 4 * EVERY))
    together = jnp.tile(jnp.array([False, False, True, True]), (rows, EVERY))  # of one half, then of the other
    state = state._replace(likelihood=jax.lax.map(lambda one: _log_likelihood(one, model), state.concepts))
    return jax.lax.scan(several, state, (jnp.repeat(heats, 4).reshape(rows, -1), together, keys))


def _moved(
    state: _State, model: _Model, heat: Float[Array, ""], together: Bool[Array, ""], key: PRNGKeyArray
) -> _State:
    """One step of the first half of the chains: each concept on its own, or all of them together with the platform."""
    alone, joint, shortening, accepting, drawing = jax.random.split(key, 5)
    platform, concepts, likelihood = state.platform[0], state.concepts[0], state.likelihood[0]
    shorter = jnp.exp(-3 * jax.random.uniform(shortening, (HALF, 1)))
    shift = jnp.where(together, shorter * _difference(state.platform[1][:, None], joint)[:, 0], 0.0)
    step = jnp.where(together, shift[:, None], _difference(state.concepts[1], alone))

    after = _log_likelihood(concepts + step, model)
    gained = heat * (after - likelihood)
    own = gained + _apart(concepts + step, platform, model) - _apart(concepts, platform, model)
    shared = gained.sum(axis=1) + _central(platform + shift, model) - _central(platform, model)
    chance = jnp.log(jax.random.uniform(accepting, own.shape))
    accepted = jnp.where(together, (chance[:, 0] < shared)[:, None], chance < own)
    concepts = jnp.where(accepted[..., None], concepts + step, concepts)

    # The mean of the platform given its concepts is normal.
    mean = (model.centre / model.between**2 + concepts.sum(axis=1) @ model.within_inverse) @ model.covariance
    platform = mean + jax.random.normal(drawing, mean.shape) @ model.spread.T
    return _State(
        state.platform.at[0].set(platform),
        state.concepts.at[0].set(concepts),
        state.likelihood.at[0].set(jnp.where(accepted, after, likelihood)),
    )


def _without_strays(state: _State) -> _State:
    """Before draws are kept: chains that were left behind where a concept's answers are unlikely join another one."""
    concepts, likelihood = np.array(state.concepts), np.array(state.likelihood)
    flat, seen = concepts.reshape(2 * HALF, -1, 4), likelihood.reshape(2 * HALF, -1)
    for at in range(flat.shape[1]):
        strays = np.flatnonzero(seen[:, at] < seen[:, at].max() - STRAYED)
        near = np.setdiff1d(np.arange(2 * HALF), strays)
        flat[strays, at] = flat[near[np.arange(len(strays)) % len(near)], at]
    return state._replace(concepts=jnp.asarray(concepts))


def _difference(other: Chains, key: PRNGKeyArray) -> Chains:
    """Steps along differences of two chains of the other half, for every chain and concept of its own."""
    first, second, leaping, jittering = jax.random.split(key, 4)
    shape = other.shape[:2]
    one = jax.random.randint(first, shape, 0, HALF)
    two = (one + jax.random.randint(second, shape, 1, HALF)) % HALF
    which = jnp.arange(shape[1])
    speed = jnp.where(jax.random.bernoulli(leaping, _LEAP, shape), 1.0, _SPEED)
    noise = _JITTER * jax.random.normal(jittering, other.shape)
    return speed[..., None] * (other[one, which] - other[two, which]) + noise


def _apart(concepts: Chains, platform: Float[Array, "chains 4"], model: _Model) -> Float[Array, "chains concepts"]:
    """The log-density of concepts about their platform, but for a constant."""
    away = concepts - platform[:, None]
    return -0.5 * ((away @ model.within_inverse) * away).sum(axis=-1)


def _central(platform: Float[Array, "chains 4"], model: _Model) -> Float[Array, " chains"]:
    """The log-density of platforms about the centre, but for a constant."""
    return -0.5 * (((platform - model.centre) / model.between) ** 2).sum(axis=-1)


def _log_likelihood(at: Chains, model: _Model) -> Float[Array, "chains concepts"]:
    """The log-likelihood of the answers on each concept, at log-odds."""
    chances = jnp.clip(jax.nn.sigmoid(at), model.bounds[:, 0], model.bounds[:, 1])
    total = jnp.zeros(at.shape[:2])
    for cells, concept, count in model.slabs:
        values = count * _of_patterns(cells, *jnp.moveaxis(chances[:, concept], -1, 0))
        total = total + jax.ops.segment_sum(values.T, concept, at.shape[1], indices_are_sorted=True).T
    return total


def _of_patterns(cells: Int[Array, "cells patterns"], K0: Array, eta: Array, guess: Array, slip: Array) -> Array:
    """The log-likelihood of patterns: the chance of what was seen, with and without mastery, answer by answer."""

    def answered(carry: tuple[Array, Array], answer: Array) -> tuple[tuple[Array, Array], None]:
        known, log = carry
        right, there = answer == RIGHT, answer != NOTHING
        if_known = known * jnp.where(right, 1 - slip, slip)
        seen = if_known + (1 - known) * jnp.where(right, guess, 1 - guess)
        known = if_known / seen
        # What comes after the last answer is never looked at, so that it does not matter what is learnt there.
        return (known + (1 - known) * eta, log + jnp.where(there, jnp.log(seen), 0.0)), None

    return jax.lax.scan(answered, (K0, jnp.zeros_like(K0)), cells)[0][1]


def _r_hat(draws: Float[np.ndarray, "kept 2 half ..."]) -> float:
    """The largest of the potential scale reductions, over all that was drawn; each chain is split in two."""
    kept = len(draws) // 2
    chains = np.stack([draws[:kept], draws[kept : 2 * kept]], axis=1).astype(float)
    chains = chains.reshape(kept, -1, *draws.shape[3:])
    inside = chains.var(axis=0, ddof=1).mean(axis=0)
    means = chains.mean(axis=0).var(axis=0, ddof=1)
    return float(np.sqrt((inside * (kept - 1) / kept + means) / np.maximum(inside, 1e-12)).max())
