"""Response models: by hand, online and in batches, without a look ahead, and against plain references."""

import json
import math
from typing import get_args, get_type_hints

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse import csr_array

from mccpo.cli.commands.fit_learner import fit_learner
from mccpo.errors import InputError
from mccpo.mastery import MODELS, RESPONSE_MODELS, Abilities, BestLR, Elo, History, Responses, Weights, model_files
from mccpo.mastery.fitting import auc, fit, predict_events, predicted_by_event, replay
from mccpo.mastery.fitting.fit import _FITS
from mccpo.mastery.fitting.history_features import history_design, places_of
from mccpo.mastery.fitting.lbfgs import minimise
from mccpo.mastery.fitting.sparse_logistic import Design, fit_sparse_logistic
from mccpo.mastery.history import WINDOWS

HOUR, DAY = WINDOWS[:2]
CONCEPTS, ITEMS = ("a", "b", "new"), ("p", "q", "fresh")


def model_of(name):
    """A model of the concepts a and b and the items p and q, with weights of no meaning."""
    kind = {"best-lr": BestLR, "elo": Elo}[name]
    draw = np.random.default_rng(3)
    shared = 0.3 * draw.normal(size=len(kind.SHARED))
    if name == "elo":
        shared = np.array([0.2, 0.5, 0.1, 0.4, 0.3])
    own = np.vstack([draw.normal(size=(2, len(kind.OWN))), np.zeros(len(kind.OWN))])
    return kind(Weights(shared, own, np.array([0.7, -0.4, 0.0]), CONCEPTS[:2], ITEMS[:2]))


answers = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from([None, *ITEMS]),
        st.sampled_from([("a",), ("b",), ("a", "b"), ("a", "new")]),
        st.booleans(),
        st.sampled_from([0.0, 60.0, HOUR, DAY, 8 * DAY, 40 * DAY, -5.0, math.nan]),
    ),
    min_size=1,
    max_size=25,
)


def responses_of(events, *, clock=True):
    """Responses of events (learner, item, concepts, correct, seconds since the last one)."""
    events = sorted(events, key=lambda event: event[0])
    steps = np.array([event[4] for event in events])
    time = np.where(np.isnan(steps) | (not clock), np.nan, 1e9 + np.cumsum(np.nan_to_num(steps)))
    row = np.repeat(np.arange(len(events)), [len(event[2]) for event in events])
    return Responses(
        learner=np.array([event[0] for event in events], np.int32)[row],
        concept=np.array([CONCEPTS.index(name) for event in events for name in event[2]], np.int32),
        correct=np.array([event[3] for event in events])[row],
        event=row,
        time=time[row],
        learners=tuple("012"),
        concepts=CONCEPTS,
        item=np.array([-1 if event[1] is None else ITEMS.index(event[1]) for event in events], np.int32)[row],
        items=ITEMS,
    )


def plain_practice(past):
    """What is told of past answers, counted one by one."""
    sides = [list(past), [not right for right in past]]
    told = [math.log(1 + sum(side)) for side in sides]
    for decay in (0.7, 0.9):
        told += [sum(decay ** (len(past) - 1 - at) for at, on in enumerate(side) if on) for side in sides]
    return told


def plain_features(responses):
    """The shared features of every event by plain loops over all earlier events of its learner."""
    rows, starts = [], responses.event_starts
    for number, start in enumerate(starts):
        before = [at for at in starts[:number] if responses.learner[at] == responses.learner[start]]
        times = [responses.time[at] for at in [*before, start] if not np.isnan(responses.time[at])]
        now = max(times, default=-math.inf)
        item = responses.item[start]
        same = [responses.correct[at] for at in before if item >= 0 and responses.item[at] == item]
        known = np.zeros(6 + 2 * len(WINDOWS))
        for row in np.flatnonzero(responses.event == responses.event[start]):
            past = [
                at
                for at in range(start)
                if responses.learner[at] == responses.learner[start] and responses.concept[at] == responses.concept[row]
            ]
            known[:6] += plain_practice([responses.correct[at] for at in past])
            clocks = {at: max(t for t in responses.time[: at + 1][responses.learner[: at + 1] == responses.learner[at]]
                              if not np.isnan(t)) for at in past if not np.isnan(responses.time[at])}  # fmt: skip
            for place, window in enumerate(WINDOWS):
                for side in (0, 1):
                    within = [
                        at for at, t in clocks.items() if t > now - window and responses.correct[at] == (side == 0)
                    ]
                    known[6 + 2 * place + side] += math.log(1 + len(within))
        rows.append([1.0, *plain_practice(same), *plain_practice([responses.correct[at] for at in before]), *known])
    return np.array(rows)


def test_every_model_can_be_fitted_and_chosen():
    assert set(_FITS) == set(MODELS)
    assert set(get_args(get_args(get_type_hints(fit_learner, include_extras=True)["model"])[0])) == set(MODELS)


@settings(max_examples=25)
@given(events=answers, clock=st.booleans())
def test_features_are_what_plain_loops_count(events, clock):
    responses = responses_of(events, clock=clock)
    design = history_design(responses, places_of(model_of("best-lr").weights, responses))
    np.testing.assert_allclose(design.dense, plain_features(responses), atol=1e-9)
    assert len(design.dense) == len(events)  # a question of two concepts is one row


@pytest.mark.parametrize("name", RESPONSE_MODELS)
@settings(max_examples=25)
@given(events=answers, clock=st.booleans())
def test_batches_give_what_one_answer_after_the_other_gives(name, events, clock):
    model, responses = model_of(name), responses_of(events, clock=clock)
    batch, online = predict_events(model, responses), replay(model, responses)
    np.testing.assert_allclose(batch.correct, online.correct, atol=1e-9)
    np.testing.assert_allclose(batch.mastery, online.mastery, atol=1e-9)


@pytest.mark.parametrize("name", RESPONSE_MODELS)
@settings(max_examples=25)
@given(events=answers, data=st.data())
def test_no_prediction_depends_on_its_own_answer_or_a_later_one(name, events, data):
    model, responses = model_of(name), responses_of(events)
    chosen = data.draw(st.integers(0, len(events) - 1))
    flipped = responses._replace(correct=responses.correct ^ (responses.event >= chosen))
    before, after = (predict_events(model, version).correct for version in (responses, flipped))
    # One filter goes over all learners, so the last digits may differ.
    np.testing.assert_allclose(before[: chosen + 1], after[: chosen + 1], rtol=0, atol=1e-12)


def test_elo_by_hand():
    model, state = model_of("elo"), Abilities()
    ease = float(model.weights.own[0, 0])
    first = 1 / (1 + math.exp(-(0.2 + ease + 0.7)))
    assert model.predict(state, "p", ["a"]).correct == pytest.approx(first)
    model.update(state, "p", ["a"], True)
    assert state.overall.value == pytest.approx(0.5 * (1 - first))
    assert state.concepts["a"].value == pytest.approx(0.4 * (1 - first))
    second = 1 / (1 + math.exp(-(0.2 + ease + 0.7 + 0.9 * (1 - first))))
    model.update(state, "p", ["a"], False)
    assert state.overall.value == pytest.approx(0.5 * (1 - first) - 0.5 / 1.1 * second)
    assert state.concepts["a"].value == pytest.approx(0.4 * (1 - first) - 0.4 / 1.3 * second)


@pytest.mark.parametrize("name", RESPONSE_MODELS)
def test_a_new_item_is_a_mean_item_of_its_concepts(name):
    model = model_of(name)
    state = model.init()
    model.update(state, "p", ["a"], True, 0.0)
    for item in (None, "fresh"):
        mastery, correct = model.predict(state, item, ["a"], 60.0)
        assert mastery == correct
    assert model.predict(state, "q", ["a"], 60.0).correct < mastery


def test_two_new_items_are_told_apart():
    model, state = model_of("best-lr"), History()
    model.update(state, "fresh", ["a"], True)
    assert model.predict(state, "fresh", ["a"]).correct != model.predict(state, "fresher", ["a"]).correct


@given(events=answers)
@settings(max_examples=10)
def test_states_survive_json(events):
    responses = responses_of(events)
    for name, kind in (("best-lr", History), ("elo", Abilities)):
        model, state = model_of(name), kind()
        for start in responses.event_starts:
            item = None if responses.item[start] < 0 else ITEMS[responses.item[start]]
            concept = CONCEPTS[responses.concept[start]]
            model.update(state, item, [concept], bool(responses.correct[start]), float(responses.time[start]))
        document = state.as_json()
        if document.get("now") == -math.inf:
            document["now"] = None  # as JSON has it
        assert kind.from_json(json.loads(json.dumps(document))) == state


def test_times_that_no_window_reaches_are_forgotten():
    state = History()
    for day in range(100):
        state.record("p", ["a"], True, day * DAY)
    assert state.concepts["a"].wins == 100
    assert len(state.concepts["a"].win_times) == 30


def test_the_optimiser_finds_the_bottom(draw):
    scale, centre = np.exp(draw.normal(size=8)), draw.normal(size=8)

    def bowl(at):
        return float(np.sum(scale * (at - centre) ** 4 + (at - centre) ** 2)), (
            4 * scale * (at - centre) ** 3 + 2 * (at - centre)
        )

    end = minimise(bowl, np.zeros(8), tolerance=1e-14, steps=100)
    assert end.converged
    np.testing.assert_allclose(end.at, centre, atol=1e-5)
    assert not minimise(bowl, np.zeros(8), tolerance=1e-14, steps=1).converged


def test_the_regression_finds_scipys_optimum(draw):
    dense = np.column_stack([np.ones(300), draw.exponential(size=300) * 5])
    sparse = (draw.uniform(size=(300, 6)) < 0.3) * 1.0
    sparse[:, 5] = 0.0  # an item that nobody answered
    truth = np.array([0.5, -0.3, 1.0, -1.0, 0.5, 0.0, 2.0, 0.0])
    x = np.column_stack([dense, sparse])
    correct = draw.uniform(size=300) < 1 / (1 + np.exp(-x @ truth))
    found = fit_sparse_logistic(Design(dense, csr_array(sparse)), correct, ridge=0.7)
    sign, penalty = np.where(correct, 1, -1), np.array([0.0] + [0.7] * 7)
    peak = minimize(lambda b: np.logaddexp(0, -sign * (x @ b)).sum() + 0.5 * penalty @ b**2, np.zeros(8), tol=1e-12)
    np.testing.assert_allclose(found.coefficients, peak.x, atol=5e-3)
    assert found.log_likelihood == pytest.approx(-np.logaddexp(0, -sign * (x @ peak.x)).sum(), abs=0.01)


@pytest.mark.parametrize("right", [True, False])
def test_answers_that_are_all_alike_are_fitted(right):
    events = [(who, "p", ("a",), right, 60.0) for who in range(3) for _ in range(4)]
    for name in RESPONSE_MODELS:
        model = fit(name, responses_of(events)).model
        chance = model.predict(model.init(), "p", ["a"]).correct
        assert chance > 0.9 if right else chance < 0.1


def rasch_learners(draw, learners, answered):
    """Learners of an ability each, who answer items of a difficulty each."""
    difficulty, ability = draw.normal(size=30), draw.normal(size=learners)
    item = draw.integers(0, 30, (learners, answered))
    chance = 1 / (1 + np.exp(-(ability[:, None] - 1.5 * difficulty[item])))
    rows = learners * answered
    return Responses(
        learner=np.repeat(np.arange(learners), answered).astype(np.int32),
        concept=(item % 2).ravel().astype(np.int32),
        correct=(draw.uniform(size=chance.shape) < chance).ravel(),
        event=np.arange(rows),
        time=np.full(rows, np.nan),
        learners=tuple(f"{who:03d}" for who in range(learners)),
        concepts=("a", "b"),
        item=item.ravel().astype(np.int32),
        items=tuple(f"{at:02d}" for at in range(30)),
    ), difficulty  # fmt: skip


@pytest.mark.parametrize("name", RESPONSE_MODELS)
def test_difficulties_are_found_and_predict(name, draw):
    responses, difficulty = rasch_learners(draw, 120, 30)
    held = responses.learner >= 95
    model = fit(name, responses.where(~held)).model
    whole = np.array([model.weights.of_item(item) for item in responses.items]) + np.array(
        [model.weights.of_concept("ab"[at % 2])[0] for at in range(30)]
    )
    assert np.corrcoef(whole, -difficulty)[0, 1] > 0.9
    said, correct = predicted_by_event(model, responses.where(held))
    blind = fit("pfa", responses.where(~held)).model
    assert auc(said.correct, correct) > auc(*_chances(blind, responses.where(held))) + 0.1


def _chances(model, responses):
    said, correct = predicted_by_event(model, responses)
    return said.correct, correct


@pytest.mark.parametrize("name", RESPONSE_MODELS)
def test_without_items_there_is_still_a_model(name, make):
    rows = [(f"l{who}", "ab"[at % 2], (who + at) % 3 > 0) for who in range(6) for at in range(5)]
    fitted = fit(name, make(rows))
    assert fitted.report.items == 0
    assert 0 < fitted.model.predict(fitted.model.init(), None, ["a"]).correct < 1


@pytest.mark.parametrize("name", RESPONSE_MODELS)
def test_files_keep_every_bit(name, tmp_path):
    model = model_of(name)
    model_files.write_model(model, tmp_path / "one.json")
    again = model_files.read_model(tmp_path / "one.json")
    assert type(again) is type(model)
    for field in ("shared", "own", "ease"):
        assert np.array_equal(getattr(again.weights, field), getattr(model.weights, field))
    assert (again.weights.concepts, again.weights.items) == (model.weights.concepts, model.weights.items)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"shared": {}}, "not complete"),
        ({"items": {"p": None}}, "not a number"),
        ({"items": {"p": "much"}}, "not complete"),
        ({"concepts": {"a": {}}}, "not complete"),
    ],
)
def test_damaged_files_are_refused(change, complaint):
    with pytest.raises(InputError, match=complaint):
        model_files.model_from_json(model_files.model_to_json(model_of("best-lr")) | change)
