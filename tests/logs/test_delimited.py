"""Text in all the states in which it comes: encodings, delimiters, quotes, line ends, and damage."""

import gzip
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mccpo.errors import InputError
from mccpo.logs.reading import Opened, open_table, reading
from mccpo.logs.reading.damaged_text import OPEN_QUOTE, DamagedLine, damaged_lines, line_numbers, without_damage

COLUMNS = ("a", "b", "c")


def opened(folder: Path, content: str | bytes, **how: str) -> Opened:
    path = folder / "t.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return open_table(path, COLUMNS, **how)  # type: ignore[arg-type]


def rows(table: Opened) -> list[tuple[object, ...]]:
    return table.frame.select("line", *COLUMNS).collect().rows()


@pytest.mark.parametrize(
    ("content", "how"),
    [
        ("a,b,c\n1,ä,3\n", {}),
        ("\ufeffa,b,c\n1,ä,3\n", {}),
        ("a,b,c\r\n1,ä,3\r\n", {}),
        ('"a","b","c"\n"1","ä","3"', {}),
        ("c,x,b,a\n3,,ä,1\n", {}),
        (",a,b,c\n0,1,ä,3\n", {}),
        ("a\tb\tc\n1\tä\t3\n", {"delimiter": "\t"}),
        ("a;b;c\n1;ä;3\n", {"delimiter": ";"}),
        ("a,b,c\n1,ä,3\n".encode("iso-8859-15"), {"encoding": "iso-8859-15"}),
        ("a,b,c\n1,ä,3\n".encode("utf-16"), {"encoding": "utf-16"}),
        (gzip.compress("a,b,c\n1,ä,3\n".encode(), mtime=0), {}),
        ("a,b,c\r1,ä,3\r", {}),
        ("\ufeffa,b,c\n1,ä,3\n", {"encoding": "iso-8859-15"}),
        (gzip.compress("\ufeffa,b,c\r1,ä,3\r".encode(), mtime=0), {"encoding": "iso-8859-15"}),
    ],
)
def test_the_same_row_in_many_guises(content: str | bytes, how: dict[str, str], tmp_path: Path) -> None:
    assert rows(opened(tmp_path, content, **how)) == [(2, "1", "ä", "3")]


def test_a_column_s_name_may_hold_quotes(tmp_path: Path) -> None:
    assert rows(opened(tmp_path, 'a,"x, ""y""",b,c\n1,2,3,4\n')) == [(2, "1", "3", "4")]


@pytest.mark.parametrize(
    ("content", "how", "told"),
    [
        ("a\tb\tc\n1\t2\t3\n", {}, "is separated by tabs, not by commas; give --delimiter tab"),
        ('"a";"b";"c"\n', {}, "is separated by semicolons, not by commas; give --delimiter ';'"),
        ("a,b,c\n", {"delimiter": "\t"}, "is separated by commas, not by tabs"),
        ("a,b\n1,2\n", {}, "has no column 'c'; it has a, b"),
        ("a,b,c,b\n", {}, "has the column 'b' twice"),
        ("a,b,c,line\n", {}, "has a column 'line', a name that is kept"),
        ("", {}, "is empty"),
        ("\n1,2,3\n", {}, "has no header"),
        ("a,b,c\n".encode("utf-16-le"), {}, "holds null bytes, as UTF-16 text does"),
        ("ä,b,c\n".encode("iso-8859-15"), {}, r"is not UTF-8 text \(byte 0\)"),
        ("a,b,c\n", {"encoding": "utf-99"}, "no encoding 'utf-99'"),
        (gzip.compress(b"a,b,c\n" + bytes(range(256)) * 99, mtime=0)[:40], {}, "is cut short"),
    ],
)
def test_what_cannot_be_opened_is_told_in_one_line(
    content: str | bytes, how: dict[str, str], told: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=told) as error:
        opened(tmp_path, content, **how)
    assert "\n" not in str(error.value)


def test_columns_of_one_name_are_numbered_where_they_may_be(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,b,b,v.1\n\n1,2,3,4,5\n")
    table = open_table(tmp_path / "t.csv", ("a", "b", "b.2", "v.1"), numbered=True)
    assert table.frame.select("a", "b", "b.2", "v.1").collect().rows()[1:] == [("1", "2", "4", "5")]


def test_lines_that_are_no_rows_are_mended_away(tmp_path: Path) -> None:
    table = opened(tmp_path, "a,b,c\n1,2,3\n1,2,3,4\n5,6\n")
    with pytest.raises(pl.exceptions.ComputeError, match="more fields"):
        rows(table)
    assert table.mend is not None
    mended = table.mend()
    assert [(each.line, each.reason) for each in mended.ragged] == [(3, "4 fields, where the header has 3")]
    assert [row[1:] for row in rows(mended)] == [("1", "2", "3"), ("5", "6", None)]


def test_a_quote_without_an_end_costs_its_own_line_only(tmp_path: Path) -> None:
    table = opened(tmp_path, 'a,b,c\n1,2,3\n4,5,"6\n\n7,"x\ny",9\n10,11,12\n')
    assert table.mend is not None
    mended = table.mend()
    assert [(each.line, each.reason) for each in mended.ragged] == [(3, "a quote without an end")]
    assert rows(mended) == [(2, "1", "2", "3"), (4, None, None, None), (5, "7", "x\ny", "9"), (7, "10", "11", "12")]


def test_a_quote_within_a_field_is_a_letter_like_others() -> None:
    lines = ["a,b,c\n", '1,5" wide,3\n', "1,2,3,4\n", '"x""y",2,3\n']
    found, plain = damaged_lines(lines, 3, ",")
    assert [(line.line, line.row) for line in found] == [(3, 1)]
    assert not plain
    assert without_damage(lines, 3, ",").lines == [2, 4]


@given(st.lists(st.lists(st.text(alphabet='a"\n\r,', max_size=4), min_size=2, max_size=2), max_size=8))
def test_rows_begin_on_the_lines_on_which_they_were_written(table: list[list[str]]) -> None:
    lines: list[str] = ["x,y\n"]
    starts = []
    for row in table:
        starts.append(len(lines) + 1)
        text = ",".join('"' + cell.replace('"', '""').replace("\r", "") + '"' for cell in row) + "\n"
        lines += text.splitlines(keepends=True)
    assert line_numbers(lines, list(range(len(table))), ",") == starts
    assert damaged_lines(lines, 2, ",") == ([], True)
    assert without_damage(lines, 2, ",").lines == starts


def test_a_quote_within_a_field_is_mended_beside_other_damage(tmp_path: Path) -> None:
    table = opened(tmp_path, 'a,b,c\n1,5" pipe,3\n1,2,3,4\n"x""y","2,\n2",3\n7,8,9\n')
    assert table.mend is not None
    mended = table.mend()
    assert rows(mended) == [(2, "1", '5" pipe', "3"), (4, 'x"y', "2,\n2", "3"), (6, "7", "8", "9")]
    assert [each.line for each in mended.ragged] == [3]


def test_where_fields_are_not_quoted_a_quote_is_a_letter(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text('a\tb\tc\n"1\t5" pipe\t"3"\n1\t2\t3\t"4\n7\t8\t9\n')
    mend = open_table(path, COLUMNS, delimiter="\t", quoted=False).mend
    assert mend is not None
    mended = mend()
    assert rows(mended) == [(2, '"1', '5" pipe', '"3"'), (4, "7", "8", "9")]
    assert [each.line for each in mended.ragged] == [3]


def test_a_row_over_several_lines_with_a_field_too_many_is_one_row() -> None:
    lines = ["a,b,c\n", '1,"2,\n', '2",3,x\n', "4,5,6\n"]
    found, plain = damaged_lines(lines, 3, ",")
    assert (found, plain) == ([DamagedLine(0, 2, "4 fields, where the header has 3")], True)
    # A sound row between says that the quote above it has no end.
    found, _ = damaged_lines(["a,b,c\n", '1,"2,3\n', "4,5,6\n", '7",8,9\n'], 3, ",")
    assert found[0] == DamagedLine(0, 2, OPEN_QUOTE)


def test_what_is_told_about_a_file_is_short(tmp_path: Path) -> None:
    with pytest.raises(InputError) as told, reading(tmp_path):
        raise pl.exceptions.ComputeError("x" * 10_000)
    assert len(str(told.value)) < 600
