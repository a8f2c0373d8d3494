"""Moving averages of mastery, against a loop over events."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mccpo.errors import InputError
from mccpo.logs import ema, encode
from mccpo.logs.moving_average import concept_entries, recurrence

EVENTS = st.lists(
    st.tuples(
        st.sampled_from("xyz"), st.sampled_from(["a", "b", "a~~b", "c", None]), st.booleans(), st.integers(-1, 1)
    ),
    min_size=1,
    max_size=40,
)


def table(events: list[tuple[str, str | None, bool, int]]) -> pl.DataFrame:
    events = sorted(events, key=lambda event: event[0])
    learner, concept, correct, signal = zip(*events, strict=True)
    return pl.DataFrame(
        {
            "learner": encode(pl.Series("learner", learner)),
            "concept": encode(pl.Series("concept", concept, dtype=pl.String)),
            "correct": correct,
            "signal": pl.Series(signal, dtype=pl.Int8),
        }
    )


def by_loop(frame: pl.DataFrame, of: str, alpha: float, start: float) -> list[tuple[float | None, float | None]]:
    known: dict[tuple[str, str], float] = {}
    found: list[tuple[float | None, float | None]] = []
    for learner, concept, correct, signal in frame.select("learner", "concept", "correct", "signal").iter_rows():
        steps = []
        for part in (concept or "").split("~~") if concept else []:
            before = known.get((learner, part), start)
            shown = float(correct) if of == "correct" else {1: 1.0, -1: 0.0, 0: before}[signal]
            known[learner, part] = before + alpha * (shown - before)
            steps.append((before, known[learner, part]))
        found.append(tuple(np.mean(steps, axis=0)) if steps else (None, None))
    return found


@given(EVENTS, st.sampled_from(["correct", "signal"]), st.floats(0.01, 1), st.floats(0, 1))
def test_ema_equals_a_loop_over_events(events, of, alpha, start) -> None:
    frame = table(events)
    found = ema(frame, of, alpha, start)
    expected = by_loop(frame, of, alpha, start)
    for name, values in zip(("before", "after"), zip(*expected, strict=True), strict=True):
        assert found[name].is_null().to_list() == [value is None for value in values]
        np.testing.assert_allclose(
            found[name].drop_nulls(), [value for value in values if value is not None], atol=1e-6
        )


def test_chunks_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    frame = table([(f"l{rng.integers(20):02}", f"c{rng.integers(5)}", bool(rng.integers(2)), 0) for _ in range(500)])
    whole = ema(frame)
    monkeypatch.setattr("mccpo.logs.moving_average._CHUNK", 60)
    assert ema(frame).equals(whole)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(-1, 1), st.booleans()), max_size=50), st.floats(-1, 1))
def test_recurrence_equals_a_loop(entries, start) -> None:
    keep, add, first = (
        np.array([entry[at] for entry in entries], kind) for at, kind in enumerate((float, float, bool))
    )
    first[:1] = True
    expected, last = [], 0.0
    for k, a, begins in zip(keep, add, first, strict=True):
        last = k * (start if begins else last) + a
        expected.append(last)
    np.testing.assert_allclose(recurrence(keep, add, first, start), expected, atol=1e-12)


def test_events_of_several_concepts_have_an_entry_for_each() -> None:
    frame = table([("x", "b~~c", True, 0), ("x", None, True, 0), ("x", "a", True, 0)])
    entries = concept_entries(frame)
    assert entries.concepts == ("a", "b", "c")
    assert entries.row.tolist() == [0, 0, 2]
    assert entries.concept.tolist() == [1, 2, 0]


def test_a_concept_named_twice_has_one_entry() -> None:
    entries = concept_entries(table([("x", "b~~a~~b", True, 0)]))
    assert (entries.row.tolist(), entries.concept.tolist(), entries.concepts) == ([0, 0], [0, 1], ("a", "b"))


def test_a_log_without_a_signal_has_no_average_of_it() -> None:
    frame = table([("x", "a", True, 0)]).with_columns(pl.lit(None, pl.Int8).alias("signal"))
    with pytest.raises(InputError, match="no signal"):
        ema(frame, "signal")
    with pytest.raises(InputError, match="alpha is 0"):
        ema(frame, alpha=0)
