"""Expectation maximisation against all hidden paths written out, and against parameters that are known."""

import numpy as np
import pytest

from mccpo.errors import InputError
from mccpo.mastery import sequences
from mccpo.mastery.fitting import EPSILON, FitSettings, Stop, bkt_tiles, fit, log_likelihood
from mccpo.mastery.fitting.em import maximise
from mccpo.mastery.fitting.sequence_packing import pack, tile

MOST = 1 - EPSILON


def some_rows(draw, learners=12, longest=5, concepts=("a", "b", "c")):
    """Sequences of all lengths, in which learners mix concepts."""
    rows = []
    for who in range(learners):
        for _ in range(int(draw.integers(1, longest * len(concepts)))):
            rows.append((f"l{who:02d}", str(draw.choice(concepts)), draw.uniform() < 0.6))
    return rows


def of_concept(responses, concept, pause=None):
    """The plain sequences (answers, pauses) of a concept, read off row by row."""
    found = {}
    for at in range(responses.rows):
        if responses.concepts[responses.concept[at]] == concept:
            found.setdefault(int(responses.learner[at]), []).append(at)
    every = []
    for rows in found.values():
        gaps = [0.0, *np.diff(responses.time[rows])]
        pauses = [at > 0 and not (pause is not None and gap < pause) for at, gap in enumerate(gaps)]
        every.append(([bool(responses.correct[row]) for row in rows], pauses))
    return every


@pytest.mark.parametrize("forgetting", [False, True])
def test_one_step_matches_all_hidden_paths(make, plain_step, draw, forgetting):
    rows = some_rows(draw, longest=3)
    responses = make(rows, np.cumsum(draw.uniform(0, 2, len(rows))))
    pause = 3.0 if forgetting else None
    size = 5 if forgetting else 4
    start = draw.uniform(0.05, 0.6, (3, 1, size))
    ours = maximise(bkt_tiles(responses, pause), start, np.full(size, MOST), Stop(0.0, 2), workers=2)
    for at, concept in enumerate(responses.concepts):
        answered = of_concept(responses, concept, pause)
        first, _ = plain_step(answered, *start[at, 0])
        _, value = plain_step(answered, *first[:size])
        np.testing.assert_allclose(ours.parameters[at], np.clip(first[:size], EPSILON, MOST), rtol=1e-9)
        np.testing.assert_allclose(ours.log_likelihood[at], value, rtol=1e-9)


def test_equal_sequences_are_kept_once_and_count_as_often(make, draw):
    rows = [(f"l{who:03d}", "a", right) for who in range(100) for right in draw.uniform(size=3) < 0.5]
    found = sequences(make(rows))
    correct = make(rows).correct[found.order]
    tiles = tile(found, correct)
    assert (tiles.weight > 0).sum() == 8
    assert tiles.weight.sum() == 100
    apart = tile(found, correct, np.zeros(len(correct), bool))
    assert (apart.weight > 0).sum() == 100
    parameters = np.array([[0.3, 0.2, 0.25, 0.1]])
    once, each = log_likelihood(tiles, parameters, 1), log_likelihood(apart, parameters, 1)
    np.testing.assert_allclose(once, each, rtol=1e-12)


def test_the_slabs_hold_every_answer_of_every_problem_once(make, draw):
    responses = make(some_rows(draw, learners=80, longest=20))
    tiles = bkt_tiles(responses, 1.0)
    problems = np.array([0, 1, 3, 5])  # two restarts each: both of the first concept, one of each other
    slabs = pack(tiles, problems, 2, workers=2)
    answers = np.zeros(6)
    for slab in slabs:
        for block in range(slab.used):
            rows = slab.cells[slab.start[block] : slab.start[block] + slab.height[block]]
            np.add.at(answers, slab.problem[block], (rows % 4 != 2).sum(axis=(0, 1)))
    rows = np.bincount(responses.concept)
    assert answers.tolist() == [rows[0], rows[0], 0, rows[1], 0, rows[2]]


def test_sequences_longer_than_a_slab(make, draw):
    rows = [("a", "c", right) for right in draw.uniform(size=1500) < 0.5]
    prior, learn, guess, slip = at = 0.4, 0.05, 0.3, 0.2
    known, unknown, total = prior, 1 - prior, 0.0
    for _, _, right in rows:
        known, unknown = known * (1 - slip if right else slip), unknown * (guess if right else 1 - guess)
        either = known + unknown
        total += np.log(either)
        known, unknown = (known + unknown * learn) / either, unknown * (1 - learn) / either
    np.testing.assert_allclose(log_likelihood(bkt_tiles(make(rows)), np.array([at]), 1), [total], rtol=1e-10)


@pytest.mark.parametrize("answers", ["1" * 200, "0" * 200, "1" * 100 + "0" * 100, "0" * 100 + "1" * 100])
@pytest.mark.parametrize("model", ["bkt", "bkt-forget"])
def test_one_sided_answers_leave_the_fit_finite(make, answers, model):
    rows = [(who, "c", mark == "1") for who in ("a", "b") for mark in answers]
    fitted = fit(model, make(rows), FitSettings(restarts=3, bound=1.0, workers=1))
    assert np.isfinite(fitted.report.log_likelihood)
    assert all(np.isfinite(field).all() for field in fitted.model[:4])


def test_known_parameters_are_found_again(make, generate, draw):
    truth = {"prior": 0.3, "learn": 0.2, "guess": 0.2, "slip": 0.1}
    other = {"prior": 0.6, "learn": 0.1, "guess": 0.3, "slip": 0.05}
    rows = generate(draw, 3000, 8, **truth, concept="a") + generate(draw, 3000, 8, **other, concept="b")
    model = fit("bkt", make(sorted(rows, key=lambda row: row[0]))).model
    for name in truth:
        assert getattr(model, name)[0] == pytest.approx(truth[name], abs=0.03)
        assert getattr(model, name)[1] == pytest.approx(other[name], abs=0.03)


def test_forgetting_is_found_again(make, generate, draw):
    truth = {"prior": 0.4, "learn": 0.25, "guess": 0.15, "slip": 0.1, "forget": 0.15}
    model = fit("bkt-forget", make(generate(draw, 3000, 12, **truth))).model
    for name, value in truth.items():
        assert getattr(model, name)[0] == pytest.approx(value, abs=0.04)


def test_what_is_forgotten_in_a_pause_is_found_again(make, draw):
    rows, clock = [], []
    for who in range(3000):
        known, now = draw.uniform() < 0.5, 0.0
        for at in range(10):
            gap = 100_000.0 if draw.uniform() < 0.3 else 60.0
            if at:
                known = known or draw.uniform() < 0.15
                known = known and not (gap > 86_400 and draw.uniform() < 0.4)
                now += gap
            rows.append((f"l{who:05d}", "c", draw.uniform() < (0.9 if known else 0.2)))
            clock.append(now)
    model = fit("bkt-forget", make(rows, clock)).model
    assert model.forget[0] == pytest.approx(0.4, abs=0.04)
    assert model.learn[0] == pytest.approx(0.15, abs=0.03)


def test_no_plain_climb_ends_higher(make, generate, draw):
    rows = generate(draw, 200, 6, 0.3, 0.2, 0.2, 0.1)
    tiles = bkt_tiles(make(rows))
    starts = draw.uniform(0.05, 0.4, (1, 4, 4))
    ours = maximise(tiles, starts, np.full(4, MOST), Stop(1e-3, 400), workers=1)
    assert ours.converged.all()
    at = starts[0]
    for _ in range(300):  # two steps of ours from a fresh start are one plain step and its log-likelihood
        plain = maximise(tiles, at[None], np.full(4, MOST), Stop(0.0, 2), workers=1)
        at = plain.parameters
    assert ours.log_likelihood.max() >= plain.log_likelihood.max() - 0.05


def test_the_bound_holds_and_is_reported(make, generate, draw):
    rows = generate(draw, 500, 8, 0.3, 0.1, 0.75, 0.02, concept="easy")
    fitted = fit("bkt", make(rows))
    assert fitted.model.guess[0] <= 0.5
    assert fitted.report.at_bound["guess"] == ("easy",)
    free = fit("bkt", make(rows), FitSettings(bound=1.0))
    assert free.report.log_likelihood >= fitted.report.log_likelihood - 1e-3


def test_the_same_seed_gives_the_same_model_on_any_number_of_threads(make, draw):
    responses = make(some_rows(draw, learners=40))
    one, two = (fit("bkt", responses, FitSettings(seed=3, workers=workers)) for workers in (1, 2))
    np.testing.assert_allclose(one.model.learn, two.model.learn, rtol=1e-6)
    again = fit("bkt", responses, FitSettings(seed=3, workers=1))
    assert all(np.array_equal(a, b) for a, b in zip(one.model[:4], again.model[:4], strict=True))


@pytest.mark.parametrize("wrong", [{"restarts": 0}, {"bound": 0.0}, {"alpha": 1.5}])
def test_wrong_settings(wrong):
    with pytest.raises(InputError):
        FitSettings(**wrong)


def test_an_unknown_model_is_refused(make):
    with pytest.raises(InputError, match="there is no model"):
        fit("dkt", make([("a", "c", True)]))
