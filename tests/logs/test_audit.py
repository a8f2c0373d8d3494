"""The audit against a loop over events, and where logs leave something out."""

from collections import defaultdict
from datetime import datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mccpo.errors import InputError
from mccpo.logs import COLUMNS, encode
from mccpo.logs.audit import NOT_KNOWN, THRESHOLDS, Audit, Rate, audit, rate_of

Event = dict[str, object]


def table(events: list[Event]) -> pl.DataFrame:
    """A canonical table of events; what an event does not name it does not have."""
    schema = {**COLUMNS, "group_class": pl.String()}
    rows = [{name: event.get(name) for name in schema} for event in events]
    frame = pl.DataFrame(rows, schema=schema).sort("learner", maintain_order=True)
    frame = frame.with_columns(pl.int_range(pl.len()).over("learner").cast(pl.Int32).alias("order"))
    return frame.with_columns(encode(frame[name]) for name in ("learner", "concept", "item", "group_class"))


def some(size: int = 400, learners: int = 12, seed: int = 0, **fixed: object) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    events: list[Event] = [
        {
            "learner": f"u{rng.integers(learners):02d}",
            "concept": str(rng.choice(["a", "b", "a~~b", "c"])),
            "correct": bool(rng.random() < 0.7),
            "signal": int(rng.choice([1, 0, -1])),
            "time": datetime(2019, 1 + int(rng.integers(3)), 1 + int(rng.integers(28)), int(rng.integers(24))),
            "group_class": str(rng.choice(["x", "y"])),
        }
        | fixed
        for _ in range(size)
    ]
    return table(events)


def gains_of(frame: pl.DataFrame, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).choice([0.0, 1e-4, 0.005, 0.02, 0.3, -0.1], frame.height).astype(np.float32)


EVENTS = st.lists(
    st.fixed_dictionaries(
        {
            "learner": st.sampled_from(["ann", "bob", "cyd"]),
            "concept": st.sampled_from(["a", "b", "a~~b", None]),
            "correct": st.booleans(),
            "signal": st.sampled_from([1, 0, -1, None]),
            "time": st.sampled_from([datetime(2019, 1, 31, 20), datetime(2019, 2, 1, 3), None]),
            "group_class": st.sampled_from(["x", "y", "", None]),
            "gain": st.sampled_from([0.0, 0.001, 0.005, 0.02, -0.5, float("nan")]),
        }
    ),
    min_size=1,
    max_size=40,
)


def by_hand(rows: list[Event], measure: str, threshold: float, population: str, of: str) -> Rate:
    """The rate as its definition reads, event by event."""
    d: dict[object, int] = defaultdict(int)
    n: dict[object, int] = defaultdict(int)
    for row in rows:
        gain: float = row["gain"]  # type: ignore[assignment]
        known = row["signal"] is not None if measure == "signal" else gain == gain
        none = row["signal"] != 1 if measure == "signal" else gain <= np.float32(threshold)
        if population == "episodes" and not row["kept"]:
            continue
        if of == "interactions" or (known and (of == "judged" or row["correct"])):
            n[row["learner"]] += 1
        d[row["learner"]] += bool(known and row["correct"] and none)
    learners = sorted(n, key=str)
    return rate_of(np.array([d[who] for who in learners] or [0]), np.array([n[who] for who in learners] or [0]))


@settings(max_examples=60)
@given(EVENTS, st.sampled_from([0.0, 0.001, 0.005, 0.01]))
def test_every_rate_is_what_a_loop_over_events_counts(events: list[Event], threshold: float) -> None:
    events = sorted(events, key=lambda event: str(event["learner"]))
    frame = table(events)
    gain = np.array([event["gain"] for event in events], np.float32)
    kept = np.arange(len(events)) % 3 > 0
    pairs = zip(events, gain, kept, strict=True)
    rows: list[Event] = [event | {"kept": bool(keep), "gain": value} for event, value, keep in pairs]
    found = audit(frame, {"ema": gain}, threshold=threshold, retained=kept)
    for one in found.prevalence:
        assert one.rate == by_hand(rows, one.measure, threshold, one.population, one.of)
    for curve in found.curves:
        for at, rate in zip(curve.thresholds, curve.rates, strict=True):
            assert rate == by_hand(rows, curve.measure, at, curve.population, "judged")
    for breakdown in found.breakdowns:
        for level in breakdown.levels:
            inside = [row for row in rows if level.label in levels_by_hand(row, breakdown.name, rows)]
            assert level.interactions == len(inside)
            for name, rate in level.rates.items():
                assert rate == by_hand(inside, name, threshold, "all", "judged")
        if breakdown.name != "concept":
            assert sum(level.interactions for level in breakdown.levels) == len(rows)


def levels_by_hand(row: Event, name: str, rows: list[Event]) -> list[str]:
    time: datetime | None = row["time"]  # type: ignore[assignment]
    own = [other for other in rows if other["learner"] == row["learner"]]
    if name == "concept":
        return str(row["concept"] or NOT_KNOWN).split("~~")
    if name == "group_class":
        return [str(row["group_class"] or NOT_KNOWN)]
    if name == "month":
        return [NOT_KNOWN if time is None else f"{time:%Y-%m}"]
    if name == "hour":
        return [NOT_KNOWN if time is None else f"{time:%H}"]
    if name == "place":
        place = next(at for at, other in enumerate(own, start=1) if other is row)
        low = 2 ** int(np.log2(place))
        return ["1" if low == 1 else f"{low}–{2 * low - 1}"]
    share = sum(bool(other["correct"]) for other in own) / len(own)
    low = min(int(share * 10 + 1e-9) * 10, 90)
    return ["under 50 %" if low < 50 else f"{low}–{low + 10} %"]


def test_answers_add_up_to_all_interactions() -> None:
    frame = some()
    found = audit(frame, {"ema": gains_of(frame)})
    for measure in ("signal", "ema"):
        told = [one for one in found.answers if one.measure == measure]
        assert sum(one.gained + one.none + one.lost + one.not_judged for one in told) == frame.height
        right = next(one for one in told if one.correct)
        assert right.none + right.lost == found.rate(measure).events


@pytest.mark.parametrize("seed", range(8))
def test_the_rate_grows_with_the_threshold_and_the_curve_holds_the_rate(seed: int) -> None:
    frame = some(60, 5, seed)
    found = audit(frame, {"ema": gains_of(frame, seed)}, threshold=0.005)
    curve = found.curve("ema")
    assert curve is not None
    values = [rate.rate for rate in curve.rates]
    assert values == sorted(values)  # type: ignore[type-var]
    assert curve.rates[curve.thresholds.index(0.005)] == found.rate("ema")
    assert set(THRESHOLDS) <= set(curve.thresholds)
    assert curve.rates[-1].events == int(frame["correct"].sum())  # no gain is above 1


def test_without_a_signal_the_first_model_sums_up() -> None:
    frame = some(signal=None)
    found = audit(frame, {"ema": gains_of(frame), "bkt": gains_of(frame, 1)})
    assert (found.main, [one.name for one in found.measures]) == ("ema", ["ema", "bkt"])
    assert found.without_signal == frame.height
    assert audit(frame, {"ema": gains_of(frame), "bkt": gains_of(frame, 1)}, main="bkt").main == "bkt"


def test_without_signal_and_models_there_is_nothing_to_audit() -> None:
    with pytest.raises(InputError, match=r"no signal of mastery; .*--model"):
        audit(some(signal=None))


def test_events_without_a_concept_are_counted_and_no_concept_is_no_breakdown() -> None:
    frame = some(concept=None)
    found = audit(frame)
    assert found.without_concept == frame.height
    assert found.breakdown("concept") is None
    unknown = audit(frame, {"ema": np.full(frame.height, np.nan)}).rate("ema")
    assert (unknown.analysed, unknown.rate) == (0, None)


def test_one_learner_has_rates_and_no_intervals() -> None:
    found = audit(some(learners=1))
    assert found.rate().rate is not None
    assert found.rate().low is None


@pytest.mark.parametrize("correct", [True, False])
def test_constant_answers(correct: bool) -> None:
    frame = some(correct=correct, signal=0)
    rate = audit(frame, {"ema": np.ones(frame.height)}).rate()
    assert rate.rate == float(correct)
    assert rate.low is not None
    assert rate.high is not None
    assert rate.high - rate.low > 0


def test_groups_are_compared_with_the_one_of_most_learners() -> None:
    answer: Event = {"concept": "a", "correct": True}
    events = [
        answer | {"learner": f"u{who:02d}", "signal": int(at < gained), "group_class": group}
        for who in range(20)
        for gained, group in [(8, "x") if who < 12 else (5, "y")]
        for at in range(10)
    ]
    found = audit(table(events)).breakdown("group_class")
    assert found is not None
    assert found.reference == "x"
    assert {level.label: level.learners for level in found.levels} == {"x": 12, "y": 8}
    y = next(level for level in found.levels if level.label == "y")
    assert y.against["signal"].difference == pytest.approx(0.3)
    assert y.against["signal"].low < 0.3 < y.against["signal"].high
    assert not next(level for level in found.levels if level.label == "x").against


def test_learners_in_two_groups_narrow_the_difference_between_them() -> None:
    rng = np.random.default_rng(0)
    events: list[Event] = []
    for who, bent in enumerate(rng.random(40)):  # a learner's rate is the same in both groups, and learners differ
        for group in ("x", "y"):
            signals = rng.random(30) < bent
            events += [
                {"learner": f"u{who:02d}", "concept": "a", "correct": True, "signal": int(s), "group_class": group}
                for s in signals
            ]
    both = audit(table(events)).breakdown("group_class")
    apart = audit(table([event | {"learner": f"{event['learner']}{event['group_class']}"} for event in events]))
    other = apart.breakdown("group_class")
    assert both is not None
    assert other is not None
    narrow, wide = (next(level.against["signal"] for level in found.levels if level.against) for found in (both, other))
    assert narrow.high - narrow.low < 0.5 * (wide.high - wide.low)


def test_months_and_hours_are_local() -> None:
    frame = some(time=datetime(2018, 12, 31, 20))
    found = audit(frame, hours_ahead=8)
    month, hour = found.breakdown("month"), found.breakdown("hour")
    assert month is not None
    assert hour is not None
    assert [level.label for level in month.levels] == ["2019-01"]
    assert [level.label for level in hour.levels] == ["04"]


def test_a_relative_clock_has_months_of_30_days_and_no_hours() -> None:
    frame = some().with_columns(time=pl.from_epoch(pl.int_range(pl.len()) * 86_400, "s").cast(pl.Datetime("ms")))
    found = audit(frame)
    month = found.breakdown("month")
    assert month is not None
    assert [level.label for level in month.levels] == [f"month {at}" for at in range(1, 15)]
    assert found.breakdown("hour") is None


def test_no_clock_is_no_breakdown_by_time() -> None:
    found = audit(some(time=None))
    assert {one.name for one in found.breakdowns} == {"concept", "group_class", "accuracy", "place"}


@pytest.mark.parametrize("groups", [["class"], ["group_class"]])
def test_groups_can_be_named(groups: list[str]) -> None:
    assert audit(some(), by=groups).breakdown("group_class") is not None
    assert audit(some(), by=[]).breakdown("group_class") is None


def test_what_does_not_fit_is_refused() -> None:
    frame = some(20)
    with pytest.raises(InputError, match=r"'grade'.*group_class"):
        audit(frame, by=["grade"])
    with pytest.raises(InputError, match="shape"):
        audit(frame, {"ema": np.zeros(3)})
    with pytest.raises(InputError, match="threshold of ema is 2"):
        audit(frame, {"ema": np.zeros(20)}, threshold=2)
    with pytest.raises(InputError, match="retained"):
        audit(frame, retained=np.zeros(20))
    with pytest.raises(InputError, match="not sorted"):
        audit(frame.reverse())
    with pytest.raises(InputError, match="no events"):
        audit(frame.head(0))
    with pytest.raises(InputError, match="no measure 'bkt'"):
        audit(frame, main="bkt")
    with pytest.raises(InputError, match="'signal'"):
        audit(frame, {"signal": np.zeros(20)})


def test_everything_goes_to_json_and_back_to_the_same_numbers() -> None:
    frame = some()
    found = audit(frame, {"ema": pl.Series(gains_of(frame))}, retained=np.ones(frame.height, bool))
    told = found.as_json()
    first = told["prevalence"][0]
    assert (first["measure"], first["population"], first["of"]) == ("signal", "all", "interactions")
    assert first["rate"] == found.rate("signal", of="interactions").rate
    assert told["episodes"] == {"interactions": frame.height, "learners": found.learners}
    assert told["definitions"]["ema"]["formula"] == "correct ∧ K_after − K_before ≤ 0.005"
    assert isinstance(found, Audit)
