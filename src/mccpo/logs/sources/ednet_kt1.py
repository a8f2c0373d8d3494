"""EdNet KT1: a folder of `u….csv`, one for each learner, and the `questions.csv` that says what is correct.

The questions are looked for in the folder, beside it, and in a folder `contents` of either. Tags are the concepts; -1
stands for none. Questions of one bundle are answered together, in one solving, and are an event each. The part of the
test is a group.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from mccpo.errors import InputError
from mccpo.logs.reading.delimited import Opened, open_table
from mccpo.logs.reading.fields import Concepts, Epoch, Given, Seconds, Text, Whole
from mccpo.logs.reading.headers import FILE, LINE, check_columns, read_header
from mccpo.logs.reading.source import ReadOptions, Source
from mccpo.logs.reading.text_files import check_file, ends_lines_with_cr
from mccpo.logs.sources.registry import register_source

COLUMNS = ("timestamp", "solving_id", "question_id", "user_answer", "elapsed_time")
QUESTIONS = "questions.csv"
QUESTION_COLUMNS = ("question_id", "correct_answer", "part", "tags")


def _open(path: Path, options: ReadOptions) -> Opened:
    if not path.exists():
        raise InputError(f"{path} does not exist", fix="check the path")
    files = _files(path)
    questions = _questions(path)
    delimiter, encoding = options.delimiter or ",", options.encoding or "utf-8"
    check_file(files[0])
    header = read_header(files[0], delimiter, encoding)
    check_columns(files[0], header, COLUMNS, delimiter)
    rows = pl.scan_csv(
        files,
        schema=dict.fromkeys(header, pl.String),
        separator=delimiter,
        row_index_name=LINE,
        row_index_offset=2,
        include_file_paths=FILE,
        low_memory=True,
    )

    def with_questions(answers: pl.LazyFrame) -> pl.LazyFrame:
        return answers.join(questions, on="question_id", how="left", maintain_order="left")

    def mend() -> Opened:
        frames, ragged = [], []
        for file in files:
            table = open_table(file, COLUMNS, delimiter=delimiter, encoding=encoding)
            part = table if table.mend is None else table.mend()
            frames.append(part.frame.select(LINE, *COLUMNS, pl.lit(str(file)).alias(FILE)))
            ragged += [line._replace(file=str(file)) for line in part.ragged]
        return Opened(with_questions(pl.concat(frames)), ragged)

    def locate(rows_to_locate: pl.DataFrame) -> pl.DataFrame:
        """Rows are counted through all files; a line is one of its own file."""
        some = rows.filter(pl.col(FILE).is_in(rows_to_locate[FILE].unique().implode()))
        starts = some.group_by(FILE).agg(pl.col(LINE).min().alias("start")).collect(engine="streaming")
        placed = rows_to_locate.join(starts, on=FILE, how="left", maintain_order="left")
        return placed.with_columns(pl.col(LINE) - pl.col("start") + 2).drop("start")

    if ends_lines_with_cr(files[0], encoding):
        return mend()
    return Opened(with_questions(rows), mend=mend, locate=locate)


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    for folder in (path, path / "KT1"):
        files = sorted(folder.glob("u*.csv"))
        if files:
            return files
    raise InputError(f"{path} has no u….csv, one for each learner", fix="name the folder KT1")


def _questions(path: Path) -> pl.LazyFrame:
    folders = [at / below for at in (path, path.parent) for below in (".", "contents")]
    file = next((folder / QUESTIONS for folder in folders if (folder / QUESTIONS).is_file()), None)
    if file is None:
        raise InputError(f"there is no {QUESTIONS} in or beside {path}", fix="put it there: it says what is correct")
    return open_table(file, QUESTION_COLUMNS).frame.select(*QUESTION_COLUMNS).unique("question_id", keep="first")


@register_source("ednet-kt1", "EdNet KT1 (a folder of u….csv, with questions.csv)")
def ednet_kt1(_: Path, __: ReadOptions) -> Source:
    """The columns of the release."""
    return Source(
        open=_open,
        fields={
            "learner": Given(FILE, required=True, expression=pl.col(FILE).str.extract(r"([^/\\]+)\.csv$")),
            "concept": Concepts("tags", unknown=("-1",), between=";"),
            "item": Text("question_id", required=True),
            "time": Epoch("timestamp", required=True, per_second=1000),
            "correct": Given("user_answer", expression=pl.col("user_answer") == pl.col("correct_answer")),
            "seconds": Seconds("elapsed_time", unit=1e-3),
        },
        order=("time", Whole("solving_id", required=True, dtype=pl.Int64)),
        checks=(Text("user_answer", required=True), Text("correct_answer", required=True)),
        groups={"part": Text("part")},
    )
