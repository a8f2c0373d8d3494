"""The models by hand, online and in batches; and that no answer has a part in its own prediction."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mccpo.errors import InputError
from mccpo.mastery import BKT, EMA, MASTERY_MODELS, PFA, BKTForget, Responses, codes, model_files
from mccpo.mastery.fitting import by_event, practice, trajectories

DAY = 86_400.0


def model_of(name):
    """A model of two concepts, a and b, and of what it has not seen."""
    numbers = {
        "prior": [0.3, 0.6, 0.45],
        "learn": [0.1, 0.2, 0.15],
        "guess": [0.2, 0.3, 0.25],
        "slip": [0.1, 0.05, 0.08],
        "forget": [0.2, 0.1, 0.15],
    }
    bkt = [np.array(numbers[one]) for one in ("prior", "learn", "guess", "slip")]
    names = ("a", "b")
    return {
        "ema": EMA(np.array([0.2, 0.5, 0.35]), concepts=names),
        "bkt": BKT(*bkt, concepts=names),
        "bkt-forget": BKTForget(*bkt, np.array(numbers["forget"]), concepts=names),
        "pfa": PFA(np.array([0.1, -0.4, 0.0]), np.array([0.3, 0.2, 0.25]), np.array([-0.2, 0.1, 0.0]), 0.7, names),
    }[name]


def test_the_registry_names_all_mastery_models():
    assert {model_files.model_name(model_of(name)) for name in MASTERY_MODELS} == set(MASTERY_MODELS)


def test_knowledge_tracing_by_hand():
    model = model_of("bkt")
    state = model.init(0)
    assert model.predict(0, state).correct == pytest.approx(0.3 * 0.9 + 0.7 * 0.2)
    seen = 0.3 * 0.9 / (0.3 * 0.9 + 0.7 * 0.2)
    assert model.update(0, state, True) == pytest.approx(seen + (1 - seen) * 0.1)
    seen = 0.3 * 0.1 / (0.3 * 0.1 + 0.7 * 0.8)
    assert model.update(0, state, False) == pytest.approx(seen + (1 - seen) * 0.1)


def test_forgetting_by_hand():
    model = model_of("bkt-forget")
    assert model.predict(0, 0.8, DAY - 1).mastery == pytest.approx(0.8)
    assert model.predict(0, 0.8, DAY).mastery == pytest.approx(0.8 * 0.8)
    assert model.predict(0, 0.8, float("nan")).mastery == pytest.approx(0.8 * 0.8)
    assert model.predict(0, model.init(0), 0.0).mastery == 0.3


def test_the_moving_average_by_hand():
    model = model_of("ema")
    assert model.alpha == 0.08
    assert model.update(1, 0.5, True) == pytest.approx(0.54)
    assert model.update(1, 0.5, False) == pytest.approx(0.46)


def test_performance_factors_by_hand():
    model = model_of("pfa")
    state = model.init(0)
    for right in (True, False, True):
        state = model.update(0, state, right)
    assert state == pytest.approx((0.7**2 + 1, 0.7))
    logit = 0.1 + 0.3 * 1.49 - 0.2 * 0.7
    assert model.predict(0, state).correct == pytest.approx(1 / (1 + np.exp(-logit)))


def test_an_unseen_concept_takes_the_last_entry():
    assert codes(model_of("bkt"), ["b", "new", "a"]).tolist() == [1, -1, 0]
    assert model_of("bkt").init(-1) == 0.45


answers = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from("abn"), st.booleans(), st.sampled_from([1.0, DAY, 3 * DAY])),
    min_size=1,
    max_size=40,
)


def sorted_responses(rows, clock):
    rows = sorted(rows, key=lambda row: row[0])  # by learner, else in order
    learner = np.array([row[0] for row in rows], np.int32)
    concepts = ("a", "b", "n")
    time = np.cumsum([row[3] for row in rows]) if clock else np.full(len(rows), np.nan)
    return Responses(
        learner,
        np.array([concepts.index(row[1]) for row in rows], np.int32),
        np.array([row[2] for row in rows]),
        np.arange(len(rows)),
        time,
        tuple("01234"),
        concepts,
    )


@pytest.mark.parametrize("name", MASTERY_MODELS)
@settings(max_examples=25)
@given(rows=answers, clock=st.booleans())
def test_batches_give_what_one_answer_after_the_other_gives(name, rows, clock):
    model, responses = model_of(name), sorted_responses(rows, clock)
    said = trajectories(model, responses)
    states, last = {}, {}
    for at in range(responses.rows):
        who = (int(responses.learner[at]), int(responses.concept[at]))
        concept = int(codes(model, responses.concepts)[responses.concept[at]])
        state = states.get(who, model.init(concept))
        elapsed = float(responses.time[at] - last[who]) if who in last else 0.0
        online = model.predict(concept, state, elapsed)
        assert said.correct[at] == pytest.approx(online.correct, abs=1e-12)
        assert said.mastery[at] == pytest.approx(online.mastery, abs=1e-12)
        states[who] = model.update(concept, state, bool(responses.correct[at]), elapsed)
        last[who] = responses.time[at]


@pytest.mark.parametrize("name", MASTERY_MODELS)
@settings(max_examples=15)
@given(rows=answers, data=st.data())
def test_no_answer_has_a_part_in_the_prediction_of_its_event(name, rows, data):
    """Also not through another row of the same event: two rows in a row of one learner are made one event here."""
    model, responses = model_of(name), sorted_responses(rows, clock=False)
    pairs = (np.diff(responses.learner, append=-1) == 0) & (np.diff(responses.concept, append=-1) != 0)
    event = np.arange(responses.rows)
    for at in np.flatnonzero(pairs):
        if event[at] == at:
            event[at + 1] = at
    correct = responses.correct[np.searchsorted(event, event)]  # one answer for all rows of an event
    responses = responses._replace(event=event, correct=correct)
    chosen = event[data.draw(st.integers(0, responses.rows - 1))]
    flipped = responses._replace(correct=np.where(event == chosen, ~correct, correct))
    before, after = (by_event(trajectories(model, one), one)[0].correct for one in (responses, flipped))
    at = np.searchsorted(np.unique(event), chosen)
    assert before[at] == after[at]


def test_many_lanes_and_long_ones(draw):
    """More sequences than lanes of a block and longer than a slab, against plain loops."""
    lengths = np.concatenate([[700], draw.integers(1, 4, 3000)])
    learner = np.repeat(np.arange(len(lengths)), lengths).astype(np.int32)
    count = len(learner)
    correct = draw.uniform(size=count) < 0.5
    names = tuple(map(str, range(len(lengths))))
    responses = Responses(
        learner, np.zeros(count, np.int32), correct, np.arange(count), np.full(count, np.nan), names, ("a",)
    )
    said = trajectories(model_of("ema"), responses).mastery
    state, expected = 0.0, []
    for at in range(count):
        if at == 0 or learner[at] != learner[at - 1]:
            state = 0.2
        expected.append(state)
        state += 0.08 * (correct[at] - state)
    np.testing.assert_allclose(said, expected, atol=1e-12)
    counts = practice(responses, 1.0)
    total = np.array([correct[learner == learner[at]][: at - np.searchsorted(learner, learner[at])].sum()
                      for at in range(0, count, 97)])  # fmt: skip
    np.testing.assert_allclose(counts.successes[::97], total)


@pytest.mark.parametrize("name", MASTERY_MODELS)
def test_files_keep_every_bit(name, tmp_path):
    model = model_of(name)
    model_files.write_model(model, tmp_path / "one.json")
    again = model_files.read_model(tmp_path / "one.json")
    assert type(again) is type(model)
    assert all(np.array_equal(a, b) for a, b in zip(model, again, strict=True))
    model_files.write_model(again, tmp_path / "two.json")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"model": "dkt"}, "no known model"),
        ({"unseen": {}}, "not complete"),
        ({"concepts": {"a": {"prior": 1.5, "learn": 0.1, "guess": 0.1, "slip": 0.1}}}, "prior 1.5 for 'a'"),
    ],
)
def test_damaged_files_are_refused(change, complaint):
    with pytest.raises(InputError, match=complaint):
        model_files.model_from_json(model_files.model_to_json(model_of("bkt")) | change)


def test_the_models_run_without_jax_and_polars():
    script = (
        "import sys, mccpo.mastery as room; "
        "assert not {'jax', 'polars'} & set(sys.modules), set(sys.modules) & {'jax', 'polars'}"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_fitting_runs_without_polars():
    script = "import sys, mccpo.mastery.fitting; assert 'polars' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)
