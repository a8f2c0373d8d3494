"""Which learners are retained, and how their events are numbered."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mccpo.errors import InputError
from mccpo.logs import encode, episodes


def table(counts: dict[str, int], concept: str = "a") -> pl.DataFrame:
    rows = [(name, at, concept) for name in sorted(counts) for at in range(counts[name])]
    frame = pl.DataFrame(rows, schema=["learner", "order", "concept"], orient="row")
    return frame.with_columns(encode(frame["learner"]), encode(frame["concept"]))


def test_short_histories_are_left_out_and_steps_are_numbered() -> None:
    found = episodes(table({"long": 3, "longer": 4, "short": 2}), minimum=3)
    assert found.select("learner", "episode", "step").rows() == [
        *(("long", 0, step) for step in range(3)),
        *(("longer", 1, step) for step in range(4)),
    ]


@given(st.dictionaries(st.text("abcdef", min_size=1, max_size=4), st.integers(1, 6), min_size=1), st.integers(1, 4))
def test_the_sample_is_of_the_asked_size_and_depends_on_names_alone(counts, most) -> None:
    enough = {name for name, count in counts.items() if count >= 2}
    kept = set(episodes(table(counts), minimum=2, most=most)["learner"].cast(pl.String))
    assert kept <= enough
    assert len(kept) == min(most, len(enough))
    # Others who come or go do not change who among the kept is kept.
    assert (
        set(episodes(table({name: counts[name] for name in kept} or {"x": 1}), 2, most)["learner"].cast(pl.String))
        == kept
    )


def test_only_events_of_the_named_concepts_count() -> None:
    frame = pl.concat([table({"x": 2}).cast({"concept": pl.String, "learner": pl.String})] * 2)
    frame = frame.with_columns(pl.Series("concept", ["a", "b", "a", "b"]))
    frame = frame.with_columns(encode(frame["concept"]), encode(frame["learner"]))
    assert episodes(frame, minimum=2, concepts={"a"}).height == 2
    assert episodes(frame, minimum=3, concepts={"a", "unknown"}).height == 0


def test_another_seed_takes_others() -> None:
    frame = table({f"l{at}": 1 for at in range(50)})
    picks = [tuple(episodes(frame, 1, 5, seed=seed)["learner"].cast(pl.String)) for seed in (0, 0, 1)]
    assert picks[0] == picks[1] != picks[2]


def test_numbers_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match="minimum is 0"):
        episodes(table({"x": 1}), minimum=0)
