"""Responses: from the canonical table, split by learner, put in sequences."""

import datetime

import numpy as np
import polars as pl
import pytest

from mccpo.errors import InputError
from mccpo.mastery import elapsed, sequences, split_learners
from mccpo.mastery.tables import responses_of


@pytest.fixture
def frame():
    noon = datetime.datetime(2020, 1, 1, 12)
    return pl.DataFrame(
        {
            "learner": ["u", "u", "u", "v", "v"],
            "concept": ["b~~a", None, "b", "a", "c~~c"],
            "order": [0, 1, 2, 0, 1],
            "time": [noon, noon, noon + datetime.timedelta(seconds=90), None, noon],
            "correct": [True, False, False, True, False],
            "signal": [1, 0, -1, None, 1],
        },
        schema_overrides={"time": pl.Datetime("ms"), "signal": pl.Int8},
    )


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical, "enum"])
def test_one_row_for_each_concept_of_an_event(frame, kind):
    if kind == "enum":
        for name in ("learner", "concept"):
            frame = frame.with_columns(pl.col(name).cast(pl.Enum([*sorted(frame[name].drop_nulls().unique()), "z"])))
    else:
        frame = frame.with_columns(pl.col("learner", "concept").cast(kind))
    found = responses_of(frame)
    assert (found.learners, found.concepts) == (("u", "v"), ("a", "b", "c"))
    assert found.learner.tolist() == [0, 0, 0, 1, 1]
    assert found.concept.tolist() == [0, 1, 1, 0, 2]
    assert found.event.tolist() == [0, 0, 2, 3, 4]
    assert found.correct.tolist() == [True, True, False, True, False]
    assert np.isnan(found.time[3])
    assert found.time[2] - found.time[0] == 90.0


def test_the_platforms_signal_in_place_of_answers(frame):
    found = responses_of(frame, "signal")
    assert found.correct.tolist() == [True, True, False, True]
    assert found.event.tolist() == [0, 0, 2, 4]


def test_without_a_concept_there_is_nothing(frame):
    with pytest.raises(InputError, match="no answer on a named concept"):
        responses_of(frame.with_columns(concept=pl.lit(None, pl.String)))


def test_a_learner_is_on_one_side_only(make):
    responses = make([(f"l{who}", "c", True) for who in range(10) for _ in range(3)])
    kept, held = split_learners(responses, 0.2, seed=1)
    assert len(np.unique(held.learner)) == 2
    assert not set(kept.learner) & set(held.learner)
    assert kept.rows + held.rows == 30
    again = split_learners(responses, 0.2, seed=1)[1]
    assert np.array_equal(again.learner, held.learner)
    others = [split_learners(responses, 0.2, seed)[1] for seed in range(2, 6)]
    assert any(not np.array_equal(held.learner, other.learner) for other in others)


def test_nobody_held_out_is_refused(make):
    with pytest.raises(InputError, match="cannot be held out"):
        split_learners(make([("a", "c", True), ("b", "c", True)]), 0.1, 0)


def test_sequences_and_the_time_between(make):
    rows = [("u", "b", 1), ("u", "a", 0), ("u", "b", 0), ("v", "b", 1), ("v", "b", 1)]
    responses = make(rows, [0.0, 5.0, 7.0, 100.0, 130.0])
    found = sequences(responses)
    assert found.order.tolist() == [1, 0, 2, 3, 4]
    assert found.start.tolist() == [0, 1, 3]
    assert found.length.tolist() == [1, 2, 2]
    assert found.concept.tolist() == [0, 1, 1]
    assert elapsed(responses, found).tolist() == [0.0, 0.0, 7.0, 0.0, 30.0]


def test_items_are_codes_and_where_none_is_named_minus_one(frame):
    assert responses_of(frame).item is None
    found = responses_of(frame.with_columns(item=pl.Series(["q", "z", None, "p", "q"])))
    assert found.items == ("p", "q")
    assert found.item.tolist() == [1, 1, -1, 0, 1]
    assert found.where(found.learner == 1).item.tolist() == [0, 1]
    assert found.event_starts.tolist() == [0, 2, 3, 4]
