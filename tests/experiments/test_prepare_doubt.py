"""What few learners leave in doubt: against the Beta posterior by simulation, and as a gate feels it."""

import numpy as np
import pytest

from mccpo.experiments.prepare.doubt import doubt_of
from mccpo.mastery import BKT, Responses

CERTAIN = 1e-9


def model(prior, guess=CERTAIN, slip=CERTAIN):
    each = np.append(prior, 0.5)
    return BKT(each, 0 * each + 0.1, 0 * each + guess, 0 * each + slip, tuple("abc"[: len(prior)]))


def responses(learners):
    """So many learners on each concept, one answer each."""
    concept = np.repeat(np.arange(len(learners)), learners)
    learner = np.concatenate([np.arange(count) for count in learners])
    rows = len(concept)
    return Responses(
        learner.astype(np.int32), concept.astype(np.int32), np.ones(rows, bool), np.arange(rows), np.zeros(rows),
        tuple(map(str, range(max(learners)))), tuple("abc"[: len(learners)]),
    )  # fmt: skip


def bound_left(prior, doubt):
    odds = prior / (1 - prior) * (1 - doubt)
    return odds / (1 + odds)


def test_the_bound_is_the_lower_end_of_the_posterior():
    """By drawing chances and keeping those that give the count of learners who knew it, with one more at the mean."""
    rng = np.random.default_rng(0)
    found = doubt_of(model([0.8]), responses([20]))
    chance = rng.beta(0.5, 0.5, 2_000_000)  # one learner's worth of the mean
    kept = chance[rng.binomial(20, chance) == 16]
    assert bound_left(0.8, found[0]) == pytest.approx(np.quantile(kept, 0.05), abs=0.005)


def test_fewer_learners_leave_more_in_doubt():
    few, some, many = doubt_of(model([0.9, 0.9, 0.9]), responses([2, 20, 2000]))[:3]
    assert few > some > many > 0
    assert bound_left(0.9, many) == pytest.approx(0.9, abs=0.02)
    assert bound_left(0.9, few) < 0.5


def test_answers_that_tell_less_leave_more_in_doubt():
    clear, noisy = doubt_of(model([0.8]), responses([50])), doubt_of(model([0.8], 0.3, 0.2), responses([50]))
    assert noisy[0] > clear[0]


def test_what_one_learner_knew_is_not_known_to_all():
    """The case that a bootstrap over learners cannot see: all its draws agree."""
    doubt = doubt_of(model([0.98]), responses([1]))
    assert bound_left(0.98, doubt[0]) < 0.5


@pytest.mark.parametrize("prior", [0.0, 1.0])
def test_a_start_that_is_certain_has_a_doubt_that_is_a_number(prior):
    doubt = doubt_of(model([prior]), responses([5]))
    assert np.isfinite(doubt).all()
    assert ((doubt >= 0) & (doubt <= 1)).all()
