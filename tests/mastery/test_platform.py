"""What answers say of a platform: against quadrature, against expectation maximisation, and over drawn platforms."""

import numpy as np
import pytest

from mccpo.experiments.from_graph.prior import BOUNDS, PARAMETERS, STATED
from mccpo.mastery import Responses
from mccpo.mastery.fitting import FitSettings, PlatformPrior, fit, sample_platform
from mccpo.mastery.fitting.answer_patterns import NOTHING, answer_patterns

NARROW = 1e-3
PRIOR = PlatformPrior(
    np.array(STATED.centre),
    np.array(STATED.between),
    np.array(STATED.within),
    np.array([BOUNDS[name] for name in PARAMETERS]),
)


def chances(log_odds: np.ndarray) -> np.ndarray:
    return np.clip(1 / (1 + np.exp(-log_odds)), PRIOR.bounds[:, 0], PRIOR.bounds[:, 1])


def answers(true: np.ndarray, learners: int, lessons: int, seed: int, pace: float = 0.0) -> Responses:
    """What learners answer on concepts with these chances; with a `pace`, each learns faster or slower than that."""
    random = np.random.default_rng(seed)
    own = np.exp(pace * random.normal(size=(learners, 1)))
    K0, eta, guess, slip = true.T
    known, seen = random.random((learners, len(true))) < K0, []
    for _ in range(lessons):
        seen.append(random.random(known.shape) < np.where(known, 1 - slip, guess))
        known |= random.random(known.shape) < np.minimum(eta * own, 0.9)
    correct = np.stack(seen, axis=-1)
    learner, concept, _ = np.indices(correct.shape)
    rows = correct.size
    names = tuple(map(str, range(learners))), tuple(map(str, range(len(true))))
    return Responses(learner.ravel(), concept.ravel(), correct.ravel(), np.arange(rows), np.full(rows, np.nan), *names)


def concepts_more(responses: Responses, count: int) -> Responses:
    return responses._replace(concepts=tuple(map(str, range(count))))


def test_patterns_are_every_sequence_once() -> None:
    responses = answers(np.full((3, 4), 0.3), learners=50, lessons=5, seed=0)
    (slab,) = answer_patterns(responses).slabs
    assert slab.learners.sum() == 150
    assert len(set(map(tuple, np.vstack([slab.concept, slab.cells]).T[slab.learners > 0]))) == (slab.learners > 0).sum()
    assert (slab.cells[5:] == NOTHING).all()
    rights = ((slab.cells == 1) * slab.learners).sum()
    assert rights == responses.correct.sum()


def test_without_answers_it_is_the_prior() -> None:
    nothing = answers(np.full((2, 4), 0.3), learners=1, lessons=1, seed=0)
    drawn = sample_platform(nothing.where(np.zeros(2, bool)), PRIOR, seed=1)
    np.testing.assert_allclose(drawn.platform.mean(axis=0), PRIOR.centre, atol=0.1)
    spread = np.sqrt(PRIOR.between**2 + np.diag(PRIOR.within))
    np.testing.assert_allclose(drawn.concepts.std(axis=0), np.tile(spread, (2, 1)), rtol=0.1)


@pytest.mark.slow
def test_one_unknown_chance_is_what_quadrature_says_and_a_concept_without_answers_profits() -> None:
    """With all but K0 known, the posterior of the platform and of its concepts is an integral over two numbers."""
    known = np.array([NARROW] * 3)
    prior = PRIOR._replace(
        between=np.append(0.7, known), within=np.diag(np.append(1.0, known) ** 2), centre=np.array([0.3, -2, -1, -2])
    )
    true = chances(np.array([[1.5, -2, -1, -2]]))
    responses = answers(true, learners=12, lessons=3, seed=2)
    drawn = sample_platform(concepts_more(responses, 2), prior, seed=3)
    grid = np.linspace(-6, 7, 1301)
    _, eta, guess, slip = chances(prior.centre)
    likelihood = np.zeros_like(grid)
    for pattern in responses.correct.reshape(-1, 3):
        known_now, seen = chances(np.tile(grid[:, None], 4))[:, 0], 1.0
        for right in pattern:
            both = known_now * (1 - slip if right else slip), (1 - known_now) * (guess if right else 1 - guess)
            seen, known_now = seen * sum(both), both[0] / sum(both)
            known_now = known_now + (1 - known_now) * eta
        likelihood += np.log(seen)
    for at, weight in (  # the concept itself, and the platform's mean: K0 of the concept is spread about it
        (drawn.concepts[:, 0, 0], -0.5 * (grid - 0.3) ** 2 / (0.49 + 1.0) + likelihood),
        (drawn.platform[:, 0], None),
    ):
        if weight is None:
            apart = np.exp(-0.5 * (grid[:, None] - grid) ** 2 + likelihood - likelihood.max())
            density = np.exp(-0.5 * (grid - 0.3) ** 2 / 0.49) * apart.sum(axis=1)
        else:
            density = np.exp(weight - weight.max())
        density /= density.sum()
        mean = (density * grid).sum()
        assert at.mean() == pytest.approx(mean, abs=0.06)
        assert at.std() == pytest.approx(np.sqrt((density * (grid - mean) ** 2).sum()), rel=0.1)
    assert drawn.concepts[:, 1, 0].mean() == pytest.approx(drawn.platform[:, 0].mean(), abs=0.06)


@pytest.mark.slow
def test_many_answers_give_what_expectation_maximisation_gives() -> None:
    true = chances(np.array([[0.0, -1.8, -1.2, -1.9], [-1.0, -2.2, -1.0, -1.6]]))
    responses = answers(true, learners=3000, lessons=12, seed=4)
    drawn = sample_platform(responses, PRIOR, seed=5)
    found = fit("bkt", responses, FitSettings(restarts=2)).model
    fitted = np.stack([found.prior, found.learn, found.guess, found.slip], axis=1)[:2]
    assert drawn.agreed
    np.testing.assert_allclose(chances(drawn.concepts).mean(axis=0), fitted, atol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(("learners", "pace"), [(20, 0.0), (100, 0.0), (100, 0.7)])
def test_intervals_hold_the_truth_about_as_often_as_they_say(learners: int, pace: float) -> None:
    """Twenty platforms of fifteen concepts, twelve of them answered; with a pace, learners are not as the model says.

    The shares that were found are printed; docs/how-to/learn-from-answers.md cites them.
    """
    inside = []
    for seed in range(20):
        true = np.stack([values[0] for values in STATED.draw(1, 15, seed)], axis=-1).astype(float)
        drawn = sample_platform(concepts_more(answers(true[:12], learners, 6, 100 + seed, pace), 15), PRIOR, seed)
        low, high = np.quantile(chances(drawn.concepts), [0.05, 0.95], axis=0)
        inside.append((low - 1e-6 <= true) & (true <= high + 1e-6))
    held = np.array(inside)
    answered, other = held[:, :12].mean(axis=(0, 1)), held[:, 12:].mean(axis=(0, 1))
    print(f"{learners} learners, pace {pace}: answered {answered.round(3)}, others {other.round(3)}")  # noqa: T201
    if pace == 0:
        assert (answered > 0.84).all()
        assert (answered < 0.97).all()
    assert other.mean() > 0.8
