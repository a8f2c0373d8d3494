"""The canonical table as a file, and names as codes."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mccpo.errors import InputError
from mccpo.logs import COLUMNS, encode, read, write_table, writing_table

NAMES = st.lists(st.none() | st.text(max_size=3), max_size=30)


@given(NAMES, st.randoms())
def test_names_have_the_same_codes_in_whatever_order_they_are_met(names: list[str | None], random) -> None:
    shuffled = random.sample(names, len(names))
    codes = dict(zip(names, encode(pl.Series(names, dtype=pl.String)).to_physical(), strict=True))
    again = encode(pl.Series(shuffled, dtype=pl.String))
    assert [codes[name] for name in shuffled] == again.to_physical().to_list()
    assert again.cast(pl.String).to_list() == shuffled
    distinct = sorted({name for name in names if name is not None}, key=lambda name: name.encode())
    assert {name: code for name, code in codes.items() if name is not None} == {
        name: code for code, name in enumerate(distinct)
    }


@given(NAMES, st.integers(0, 30))
def test_codes_of_a_part_match_its_names_alone(names: list[str | None], most: int) -> None:
    whole = encode(pl.Series(names, dtype=pl.String))
    assert encode(whole.head(most)).equals(encode(pl.Series(names[:most], dtype=pl.String)))


def events(**columns: list[object]) -> pl.DataFrame:
    told = {"learner": ["b", "a", "a"], "concept": ["x", "y", None], "order": [0, 1, 0], "correct": [True, False, True]}
    return pl.DataFrame({**told, **columns})


def test_a_table_that_others_wrote_is_sorted_and_completed(tmp_path: Path) -> None:
    events(group_school=["s", "t", "t"]).write_parquet(tmp_path / "t.parquet")
    table = read(tmp_path / "t.parquet")
    assert table.columns == [*COLUMNS, "group_school"]
    assert table["learner"].to_list() == ["a", "a", "b"]
    assert table["concept"].to_list() == [None, "y", "x"]
    assert table.schema["order"] == pl.Int32
    assert table["learner"].to_physical().to_list() == [0, 0, 1]


def test_a_table_has_propensities_only_where_they_are_told(tmp_path: Path) -> None:
    events(propensity=[0.25, None, 1.0], group_school=["s", "t", "t"]).write_parquet(tmp_path / "t.parquet")
    table = read(tmp_path / "t.parquet")
    assert table.columns == [*COLUMNS, "propensity", "group_school"]
    assert table["propensity"].to_list() == [1.0, None, 0.25]
    assert table.schema["propensity"] == pl.Float32


def test_a_table_comes_back_as_it_was_written(tmp_path: Path) -> None:
    events().write_parquet(tmp_path / "others.parquet")
    table = read(tmp_path / "others.parquet")
    write_table(table, tmp_path / "ours.parquet")
    again = read(tmp_path / "ours.parquet")
    assert again.equals(table)
    assert again.schema == table.schema
    first = (tmp_path / "ours.parquet").read_bytes()
    write_table(again, tmp_path / "ours.parquet")
    assert (tmp_path / "ours.parquet").read_bytes() == first


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        (events().drop("correct"), "has no column 'correct'"),
        (events().head(0), "holds no events"),
        (events(order=["first", "second", "third"]), "the column 'order' holds String"),
        (events(learner=["b", None, "a"]), "the column 'learner' is null in 1 of 3 rows"),
        (events(order=[0, None, 1]), "the column 'order' is null in 1 of 3 rows"),
        (events(correct=[True, None, None]), "the column 'correct' is null in 2 of 3 rows"),
        (events(correct=[1.0, 0.5, 0.0]), "the column 'correct' does not hold 0 and 1 alone"),
        (events(correct=[1, 2, 0]), "the column 'correct' does not hold 0 and 1 alone"),
        (events(order=[0.0, 0.5, 1.0]), "the column 'order' does not hold whole numbers alone"),
        (events(signal=[5, 0, -1]), "the column 'signal' holds more than -1, 0 and 1"),
        (events(propensity=[0.5, 0.0, None]), "the column 'propensity' does not hold chances"),
        (events(propensity=[0.5, float("nan"), 1.0]), "the column 'propensity' does not hold chances"),
    ],
)
def test_what_is_no_canonical_table_is_refused(frame: pl.DataFrame, told: str, tmp_path: Path) -> None:
    frame.write_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match=told):
        read(tmp_path / "t.parquet")


def test_a_file_that_is_no_parquet_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_text("learner,correct\n")
    with pytest.raises(InputError) as told:
        read(tmp_path / "t.parquet")
    assert "\n" not in str(told.value)


def test_a_table_is_put_in_place_only_when_what_goes_with_it_succeeds(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), writing_table(events(), tmp_path / "t.parquet"):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
    with writing_table(events(), tmp_path / "t.parquet"):
        assert not (tmp_path / "t.parquet").exists()
    assert pl.read_parquet(tmp_path / "t.parquet").equals(events())


def test_numbers_that_say_yes_and_no_and_names_that_are_numbers_are_taken(tmp_path: Path) -> None:
    told = events(learner=[-7, 10**12, 10**12], correct=[1.0, 0.0, 1.0], order=[0.0, 1.0, 0.0])
    told.write_parquet(tmp_path / "t.parquet")
    table = read(tmp_path / "t.parquet")
    assert table["learner"].to_list() == ["-7", "1000000000000", "1000000000000"]
    assert table["correct"].to_list() == [True, True, False]


def test_concepts_that_others_joined_are_tidied(tmp_path: Path) -> None:
    events(concept=["b~~a~~b", "~~", "a~~"]).write_parquet(tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet")["concept"].to_list() == ["a", None, "a~~b"]
