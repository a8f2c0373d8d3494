"""Small sets of responses, and knowledge tracing written out plainly as an oracle; all as functions."""

import itertools

import numpy as np
import pytest

from mccpo.mastery import Responses


def _make(rows, time=None):
    learners = sorted({row[0] for row in rows})
    concepts = sorted({row[1] for row in rows})
    return Responses(
        learner=np.array([learners.index(row[0]) for row in rows], np.int32),
        concept=np.array([concepts.index(row[1]) for row in rows], np.int32),
        correct=np.array([bool(row[2]) for row in rows]),
        event=np.array([row[3] if len(row) > 3 else at for at, row in enumerate(rows)], np.int64),
        time=np.full(len(rows), np.nan) if time is None else np.array(time, float),
        learners=tuple(learners),
        concepts=tuple(concepts),
    )


def _generate(draw, learners, answers, prior, learn, guess, slip, forget=0.0, concept="c"):
    rows = []
    for who in range(learners):
        known = draw.uniform() < prior
        for at in range(answers):
            if at:
                known = known or draw.uniform() < learn
                known = known and not draw.uniform() < forget
            rows.append((f"l{who:05d}", concept, draw.uniform() < (1 - slip if known else guess)))
    return rows


def _paths(answers, pauses, prior, learn, guess, slip, forget):
    """The probability of every pair of paths: what is known at each answer, and right after it."""
    count = len(answers)
    for at in itertools.product((False, True), repeat=count):
        for after in itertools.product((False, True), repeat=count - 1):
            chance = prior if at[0] else 1 - prior
            for t, right in enumerate(answers):
                wrong_chance = slip if at[t] else 1 - guess
                chance *= 1 - wrong_chance if right else wrong_chance
                if t + 1 < count:
                    chance *= float(after[t]) if at[t] else (learn if after[t] else 1 - learn)
                    lost = forget * pauses[t + 1]
                    chance *= (1 - lost if at[t + 1] else lost) if after[t] else float(not at[t + 1])
            yield chance, at, after


def _plain_step(sequences, prior, learn, guess, slip, forget=0.0):
    """Expectation and maximisation by all hidden paths: the next parameters, and the log-likelihood of these ones.

    `sequences` are (answers, pauses); a parameter without a chance to be seen is NaN.
    """
    true, chances, likelihood = np.zeros(5), np.zeros(5), 0.0
    for answers, pauses in sequences:
        paths = list(_paths(answers, pauses, prior, learn, guess, slip, forget))
        total = sum(chance for chance, _, _ in paths)
        likelihood += np.log(total)
        for chance, at, after in paths:
            weight = chance / total
            came, had = np.zeros(5), np.zeros(5)
            came[0], had[0] = at[0], 1
            for t, right in enumerate(answers):
                came[3 if at[t] else 2] += (not right) if at[t] else right
                had[3 if at[t] else 2] += 1
                if t + 1 < len(answers):
                    came[1] += (not at[t]) and after[t]
                    had[1] += not at[t]
                    came[4] += pauses[t + 1] * (after[t] and not at[t + 1])
                    had[4] += pauses[t + 1] * after[t]
            true += weight * came
            chances += weight * had
    return np.divide(true, chances, out=np.full(5, np.nan), where=chances > 0), likelihood


@pytest.fixture
def make():
    """Responses from rows (learner, concept, correct[, event]) that are in order."""
    return _make


@pytest.fixture
def generate():
    """Rows of learners who answer as knowledge tracing has it."""
    return _generate


@pytest.fixture
def plain_step():
    return _plain_step


@pytest.fixture
def draw():
    return np.random.default_rng(7)


@pytest.fixture(autouse=True)
def _fitting_is_optimised(optimised: None) -> None:
    """It takes many steps of one small program."""
