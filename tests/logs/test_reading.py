"""From rows to the canonical table: what is rejected, skipped, repeated, merged, sorted, and that nothing is lost."""

import csv
import gzip
import io
import random
import tempfile
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mccpo.errors import InputError
from mccpo.logs import Logs, ReadOptions, ema, load, write_rejects

HEADER = "learner,concept,item,time,correct,attempts,hints,seconds,signal\n"
ROW = "ana,c,i,2020-01-01 10:00:{:02},1,1,0,2.5,0\n"


def read(folder: Path, content: str | bytes, most_rejected: float = 0.0, **how: str) -> Logs:
    path = folder / "t.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return load(path, "table", ReadOptions(**how), most_rejected=most_rejected)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (",c,i,2020-01-01,1,,,,", "missing learner"),
        ("ana,c,i,2020-01-01,,,,,", "missing correct"),
        ("ana,c,i,2020-01-01,NA,,,,", "missing correct"),
        ("ana,c,i,2020-01-01,perhaps,,,,", "unreadable correct"),
        ("ana,c,i,2020-01-01,0.5,,,,", "unreadable correct"),
        ("ana,c,i,yesterday,1,,,,", "unreadable time"),
        ("ana,c,i,,1,,,,", "missing time"),
        ("ana,c,i,2020-02-30,1,,,,", "unreadable time"),
        ("ana,c,i,0020-02-20,1,,,,", "unreadable time"),
        ("ana,c,i,2/20/0020 10:00,1,,,,", "unreadable time"),
        ("ana,c,i,2020-01-01,1,many,,,", "unreadable attempts"),
        ("ana,c,i,2020-01-01,1,1.5,,,", "unreadable attempts"),
        ("ana,c,i,2020-01-01,1,99999999999999999999,,,", "unreadable attempts"),
        ("ana,c,i,2020-01-01,1,inf,,,", "unreadable attempts"),
        ("ana,c,i,2020-01-01,1,\0,,,", "unreadable attempts"),
        ("ana,c,i,2020-01-01,1,,,long,", "unreadable seconds"),
        ("ana,c,i,2020-01-01,1,,,,2", "unreadable signal"),
        ("ana,c,i,2020-01-01,1,,,,,", "10 fields, where the header has 9"),
        ('ana,c,i,2020-01-01,1,,,,"0', "a quote without an end"),
        ("ana,c,i", "missing correct"),
    ],
)
def test_a_row_that_cannot_be_used_is_rejected_with_its_line_and_reason(row: str, reason: str, tmp_path: Path) -> None:
    logs = read(tmp_path, HEADER + ROW.format(1) + row + "\n" + ROW.format(2), most_rejected=0.5)
    assert logs.account.reasons == {reason: 1}
    assert logs.rejects.select("line", "reason").rows() == [(3, reason)]
    assert logs.account.interactions == 2
    assert logs.account.reconciles


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ("1,1,0,inf,0", {"seconds": None}),
        ("1,1,0,-3,0", {"seconds": None}),
        ("1,1,0,nan,0", {"seconds": None}),
        ("1,-1,-2,3,0", {"attempts": None, "hints": None}),
        ("1,2.0,.,3,", {"attempts": 2, "hints": None, "signal": None}),
        ("TRUE,,,,-1", {"correct": True, "signal": -1}),
        ("hint,,,,true", {"correct": False, "signal": 1}),
    ],
)
def test_a_value_that_is_not_known_costs_no_row(cells: str, expected: dict[str, object], tmp_path: Path) -> None:
    logs = read(tmp_path, HEADER + f"ana,c,i,2020-01-01,{cells}\n")
    assert {name: logs.table[name][0] for name in expected} == expected


def test_names_are_taken_as_they_stand(tmp_path: Path) -> None:
    names = ["ana", " ana", "ana ", "Ånå 学", "a\0b", "-"]
    text = io.StringIO()
    csv.writer(text).writerows([["learner", "correct"], *([name, "1"] for name in names)])
    assert sorted(read(tmp_path, text.getvalue()).table["learner"].cast(pl.String)) == sorted(names)


def test_the_share_of_rejects_is_a_limit_that_may_be_reached(tmp_path: Path) -> None:
    content = HEADER + ROW.format(1) * 99 + "x\n"
    assert read(tmp_path, content, most_rejected=0.01).account.rejected == 1
    with pytest.raises(
        InputError, match=r"2 of 101 rows .* 1\.00% .*missing correct, 2 times, first in line 101"
    ) as told:
        read(tmp_path, content + "x\n", most_rejected=0.01)
    assert "\n" not in str(told.value)
    with pytest.raises(InputError, match=r"the share of rejects is 1\.5"):
        read(tmp_path, content, most_rejected=1.5)


@pytest.mark.parametrize("content", [HEADER, HEADER.rstrip(), HEADER + "\n\n"])
def test_a_file_without_rows_is_refused(content: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no rows"):
        read(tmp_path, content)


def test_a_file_of_nothing_but_rejects_is_refused_whatever_is_allowed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no answers, only missing correct \(2\)"):
        read(tmp_path, HEADER + "x\nx\n", most_rejected=1)


def test_text_that_is_no_utf_8_further_down_is_told(tmp_path: Path) -> None:
    content = (HEADER + ROW.format(1) * 9999).encode() + "ä".encode("iso-8859-15") + b",c,i,2020-01-01,1,,,,\n"
    with pytest.raises(InputError, match="is not UTF-8 text; name its encoding"):
        read(tmp_path, content)
    assert read(tmp_path, content, encoding="iso-8859-15").account.learners == 2


def test_gzip_data_that_is_cut_short_further_down_is_told(tmp_path: Path) -> None:
    rows = "".join(f"{random.Random(row).random()},c,i,2020-01-01,1,,,,\n" for row in range(9999))
    whole = gzip.compress((HEADER + rows).encode())
    assert read(tmp_path, whole).account.rows == 9999
    with pytest.raises(InputError, match=r"unexpected end of file|cut short") as told:
        read(tmp_path, whole[: len(whole) // 2])
    assert "\n" not in str(told.value)


def test_empty_lines_are_counted_and_cost_nothing(tmp_path: Path) -> None:
    logs = read(tmp_path, HEADER + "\n" + ROW.format(1) + "\n" + ROW.format(2) + "\n\n")
    assert logs.account.skips == {"empty line": logs.account.skipped}
    assert logs.account.interactions == 2
    assert logs.account.reconciles


def test_lines_of_rejects_are_true_where_fields_go_over_several(tmp_path: Path) -> None:
    content = HEADER + '"ana\nmaria",c,"i\n\n1",2020-01-01,1,,,,\n' + "ana,c,i,2020-01-01,?,,,,\n"
    logs = read(tmp_path, content, most_rejected=0.5)
    assert logs.table["learner"].to_list() == ["ana\nmaria"]
    assert logs.rejects["line"].to_list() == [6]


def test_lines_of_rejects_are_true_beside_lines_that_are_no_rows(tmp_path: Path) -> None:
    content = HEADER + '"a\nb",c,i,2020-01-01,1,,,,\n' + "1,2,3,4,5,6,7,8,9,10\n" + "ana,c,i,2020-01-01,?,,,,\n"
    logs = read(tmp_path, content, most_rejected=0.9)
    assert logs.rejects.select("line", "reason").rows() == [
        (4, "10 fields, where the header has 9"),
        (5, "unreadable correct"),
    ]


def test_rejects_are_written_with_what_they_held(tmp_path: Path) -> None:
    logs = read(tmp_path, HEADER + ROW.format(1) + 'ana,"c,d",i,2020-01-01,?,,,,\n', most_rejected=0.5)
    write_rejects(logs, tmp_path / "rejects.csv")
    with (tmp_path / "rejects.csv").open(newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    assert len(found) == 1
    assert found[0] | {"line": "3", "reason": "unreadable correct", "concept": "c,d", "correct": "?"} == found[0]


def test_a_run_that_is_refused_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read(tmp_path, HEADER + "x\n" * 9)
    assert [each.name for each in tmp_path.iterdir()] == ["t.csv"]


def test_rows_that_say_the_same_are_counted_once(tmp_path: Path) -> None:
    logs = read(tmp_path, HEADER + ROW.format(2) + ROW.format(1) + ROW.format(2) + ROW.format(2).replace(",i,", ",j,"))
    assert (logs.account.duplicates, logs.account.interactions) == (1, 3)
    assert logs.table["order"].to_list() == [0, 1, 2]
    assert logs.table["item"].to_list() == ["i", "i", "j"]


def test_without_an_order_the_same_answer_twice_is_two_answers(tmp_path: Path) -> None:
    logs = read(tmp_path, "learner,item,correct\nana,i,1\nbo,i,1\nana,i,1\n")
    assert (logs.account.duplicates, logs.account.interactions) == (0, 3)
    assert logs.table["order"].to_list() == [0, 1, 0]


def test_names_of_rejected_rows_are_not_in_the_table(tmp_path: Path) -> None:
    logs = read(tmp_path, HEADER + "aaa,b,x,2020-01-01,?,,,,\n" + ROW.format(1), most_rejected=0.5)
    assert logs.table["learner"].to_physical().to_list() == [0]
    assert logs.table["concept"].dtype == pl.Enum(["c"])


def test_an_event_of_several_rows_is_one_and_joins_their_concepts(tmp_path: Path) -> None:
    header = "learner,concept,item,order,correct,event\n"
    body = [
        "ana,b,i,1,1,7\n",
        "ana,a,i,1,1,7\n",
        "ana,b,i,1,1,7\n",
        "ana,,i,1,1,7\n",
        "bo,b,i,1,0,7\n",
        "ana,,j,0,0,6\n",
    ]
    logs = read(tmp_path, header + "".join(body))
    assert logs.table.select("learner", "concept", "item", "correct").rows() == [
        ("ana", None, "j", False),
        ("ana", "a~~b", "i", True),
        ("bo", "b", "i", False),
    ]
    assert (logs.account.merged, logs.account.duplicates, logs.account.without_concept) == (2, 1, 1)


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["ana", "bo", "Zoë"]),
        st.sampled_from(["a", "b", "a~~b", ""]),
        st.integers(0, 50),
        st.booleans(),
    ),
    min_size=1,
    max_size=30,
    # One answer of a learner at a time: those of one moment keep the file's order, which shuffling changes.
    unique_by=lambda event: (event[0], event[2]),
)


@settings(max_examples=25)
@given(EVENTS, st.integers(0, 2**32))
def test_shuffled_rows_give_the_same_table(events: list[tuple[str, str, int, bool]], seed: int) -> None:
    lines = [f"{who},{concept},{time},{correct}\n" for who, concept, time, correct in events]
    shuffled = random.Random(seed).sample(lines, len(lines))
    tables = [_read_text("learner,concept,time,correct\n" + "".join(each)).table for each in (lines, shuffled)]
    assert tables[0].equals(tables[1])
    expected = sorted(events, key=lambda event: (event[0].encode(), event[2]))
    assert tables[0]["learner"].to_list() == [event[0] for event in expected]
    assert tables[0]["correct"].to_list() == [event[3] for event in expected]


CELL = st.sampled_from(["", "1", "x", "0", "NA", "inf", "-1", '"', "a b", "ä", "\0"])


@settings(max_examples=40)
@given(st.lists(st.lists(CELL, min_size=1, max_size=6), min_size=1, max_size=12))
def test_every_row_is_accounted_for_or_the_file_is_refused(table: list[list[str]]) -> None:
    text = "learner,correct,time,seconds\n" + "".join(",".join(row) + "\n" for row in table)
    with suppress(InputError):
        account = _read_text(text, most_rejected=1.0).account
        assert account.reconciles
        assert account.rejected == sum(account.reasons.values())
        assert account.skipped == sum(account.skips.values())


def _read_text(text: str, most_rejected: float = 0.0) -> Logs:
    with tempfile.TemporaryDirectory() as folder:
        return read(Path(folder), text, most_rejected)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_in_any_way(end: str, tmp_path: Path) -> None:
    logs = read(tmp_path, (HEADER + "".join(ROW.format(at) for at in range(50)) + "ana\n").replace("\n", end), 0.1)
    assert logs.account.interactions == 50
    assert logs.rejects["line"].to_list() == [52]


def test_a_quote_within_a_field_costs_no_row(tmp_path: Path) -> None:
    logs = read(tmp_path, 'learner,concept,correct\nu1,5" pipe,1\nu2,b,0\n')
    assert logs.table["concept"].to_list() == ['5" pipe', "b"]


def test_a_row_over_several_lines_with_a_field_too_many_is_one_reject(tmp_path: Path) -> None:
    content = HEADER + ROW.format(1) + 'ana,"a, b\nc",i,2020-01-01,1,1,0,2.5,0,x\n' + ROW.format(2)
    logs = read(tmp_path, content, 0.5)
    assert logs.account.reasons == {"10 fields, where the header has 9": 1}
    assert (logs.account.rows, logs.account.interactions, logs.rejects["line"].to_list()) == (3, 2, [3])


def test_a_concept_is_in_an_event_once_however_its_rows_tell_it(tmp_path: Path) -> None:
    logs = read(tmp_path, "learner,concept,event,correct\nana,a~~b,1,0\nana,a,1,0\n")
    assert logs.table["concept"].to_list() == ["a~~b"]
    assert ema(logs.table)["before"].to_list() == pytest.approx([0.2])


def test_rows_of_one_event_that_answer_differently_are_two_events(tmp_path: Path) -> None:
    logs = read(tmp_path, "learner,concept,event,correct\nana,a,1,0\nana,b,1,0\nana,a,1,1\n")
    assert logs.table.select("concept", "correct").rows() == [("a~~b", False), ("a", True)]
    assert (logs.account.merged, logs.account.duplicates) == (1, 0)


@pytest.mark.parametrize(("cell", "concept"), [("a~~", "a"), ("~~a", "a"), ("~~", None), ("b~~~~a", "a~~b")])
def test_a_concept_without_a_name_counts_as_missing(cell: str, concept: str | None, tmp_path: Path) -> None:
    logs = read(tmp_path, f"learner,concept,correct\nana,{cell},1\nbob,,0\n")
    assert logs.table["concept"].to_list() == [concept, None]


def test_where_rows_have_an_order_they_need_no_time(tmp_path: Path) -> None:
    content = "learner,order,time,correct\nana,1,,1\nana,0,NA,0\nbob,0,2020-01-01,0\n"
    logs = read(tmp_path, content)
    assert logs.table["correct"].to_list() == [False, True, False]
    assert logs.table["time"].null_count() == 2
    logs.table.write_csv(tmp_path / "canonical.csv")
    assert load(tmp_path / "canonical.csv", "table").table.equals(logs.table)
