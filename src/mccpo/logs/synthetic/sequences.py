"""Made-up logs that keep each learner's answers together: pyKT's data.txt, XES3G5M's sequences, EdNet's files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from mccpo.files import dump_json
from mccpo.logs.synthetic.delimited import clock, concepts
from mccpo.logs.synthetic.item_bank import ItemBank
from mccpo.logs.synthetic.line_logs import Contents
from mccpo.logs.synthetic.simulation import AT_ONCE, Answers

PYKT_BANK = ItemBank(exercises=100, problems=20)
XES_BANK = ItemBank(exercises=865, problems=9)
EDNET_BANK = ItemBank(exercises=188, problems=70)
SEQUENCES = "kc_level/train_valid_sequences.csv"
_WIDTH = 200
_FOLDS = 5
_LETTERS = pl.Series(["a", "b", "c", "d"])
_CALENDAR = 1_565_000_000_000  # when EdNet's questions were deployed


def write_pykt(bank: ItemBank, answers: Answers, path: Path) -> Contents:
    """Six lines a learner: who and how many, then questions, concepts, responses, times and seconds taken."""
    with path.open("w", encoding="utf-8", newline="") as handle:
        for some in _learners(answers):
            frame = (
                _frame(bank, some, "_")
                .group_by("learner", maintain_order=True)
                .agg(
                    pl.len().alias("count"),
                    *(pl.col(name).str.join(",") for name in ("question", "concept", "response", "time", "taken")),
                )
            )
            for learner, count, *lines in frame.iter_rows():
                handle.write("\n".join([f"{learner},{count}", *lines]) + "\n")
    return _as_they_are(answers)


def write_xes3g5m(bank: ItemBank, answers: Answers, home: Path) -> Contents:
    """Sequences of 200 at the level of concepts, padded with -1, and the questions with their routes."""
    (home / SEQUENCES).parent.mkdir()
    added = 0
    with (home / SEQUENCES).open("wb") as handle:
        for some in _learners(answers):
            rows = _by_concept(bank, some)
            added += rows.height - len(some.learner)
            _padded(rows).write_csv(handle, include_header=handle.tell() == 0)
    _write_routes(bank, home / "metadata")
    made = _as_they_are(answers)
    return replace(made, rows=made.rows + added, merged=added)


def write_ednet(bank: ItemBank, answers: Answers, home: Path) -> Contents:
    """A file for each learner, and the questions with their answers and tags."""
    (home / "KT1").mkdir()
    for some in _learners(answers):
        right = some.item % len(_LETTERS)
        given = np.where(some.correct, right, (right + 1 + some.hints % 3) % len(_LETTERS))
        frame = pl.DataFrame(
            {
                "timestamp": clock(some).to_physical(),
                "solving_id": _places(some.learner) + 1,
                "question_id": "q" + pl.Series(some.item + 1).cast(pl.String),
                "user_answer": _LETTERS.gather(given),
                "elapsed_time": some.seconds.astype(np.int64) * 1000,
            }
        )
        starts = np.flatnonzero(np.append(True, np.diff(some.learner) > 0))
        for start, length in zip(starts, np.diff(np.append(starts, frame.height)), strict=True):
            frame.slice(int(start), int(length)).write_csv(home / "KT1" / f"u{some.learner[start] + 1}.csv")
    _write_questions(bank, home / "contents")
    return _as_they_are(answers)


def _learners(answers: Answers) -> Iterator[Answers]:
    """The answers of some learners at a time, whole."""
    starts = np.flatnonzero(np.append(True, np.diff(answers.learner) > 0))
    cuts = np.unique(starts[np.searchsorted(starts, np.arange(0, len(answers.learner), AT_ONCE))])
    for begin, end in zip(cuts, np.append(cuts[1:], len(answers.learner)), strict=True):
        yield answers.take(slice(begin, end))


def _frame(bank: ItemBank, answers: Answers, between: str) -> pl.DataFrame:
    """The answers as pyKT and XES3G5M write them: all of them texts."""
    return pl.DataFrame(
        {
            "learner": answers.learner,
            "question": pl.Series(answers.item).cast(pl.String),
            "concept": concepts(bank, answers, between, "{}"),
            "response": pl.Series(answers.correct.astype(np.int8)).cast(pl.String),
            "time": clock(answers).to_physical().cast(pl.String),
            "taken": pl.Series(answers.seconds.astype(np.int64) * 1000).cast(pl.String),
        }
    )


def _by_concept(bank: ItemBank, answers: Answers) -> pl.DataFrame:
    """A row for each concept of an answer; the second one repeats the first."""
    rows = _frame(bank, answers, ",").with_columns(pl.col("concept").str.split(","))
    rows = rows.with_columns(pl.int_ranges(pl.col("concept").list.len()).alias("repeat"))
    rows = rows.explode("concept", "repeat").with_columns(pl.col("repeat").cast(pl.String))
    number = pl.int_range(pl.len()).over("learner")
    return rows.with_columns(pl.lit("1").alias("mask"), (number // _WIDTH).alias("window"))


def _padded(rows: pl.DataFrame) -> pl.DataFrame:
    """One line for each two hundred answers of a learner."""
    names = {
        "question": "questions", "concept": "concepts", "response": "responses", "time": "timestamps",
        "mask": "selectmasks", "repeat": "is_repeat",
    }  # fmt: skip
    padding = pl.lit("-1").repeat_by(_WIDTH - pl.col("count"))
    lines = rows.group_by("learner", "window", maintain_order=True).agg(pl.len().alias("count"), *names)
    return lines.select(
        (pl.col("learner") % _FOLDS).alias("fold"),
        pl.col("learner").alias("uid"),
        *(pl.col(name).list.concat(padding).list.join(",").alias(written) for name, written in names.items()),
    )


def _write_routes(bank: ItemBank, home: Path) -> None:
    home.mkdir()
    second, third, fourth = bank.level
    above = bank.exercises
    names = {str(number): f"concept {number}" for number in range(above)}
    names |= {str(above + node): f"topic {node}" for node in range(bank.nodes[1])}
    names |= {str(above + bank.nodes[1] + node): f"field {node}" for node in range(bank.nodes[0])}
    # Within a node of the fourth level the first concept stands above the others: it is asked for, and leads on.
    leads = np.searchsorted(fourth, fourth)
    ends = [f"concept {lead}----concept {at}" if lead < at else f"concept {at}" for at, lead in enumerate(leads)]
    routes = [f"field {second[at]}----topic {third[at]}----{end}" for at, end in enumerate(ends)]
    items = np.arange(bank.items)
    two = bank.asks_for_two(items)
    questions = {
        str(item): {
            "content": f"question {item}",
            "kc_routes": [routes[item // bank.problems + more] for more in range(1 + int(two[item]))],
            "answer": ["A"], "options": {}, "analysis": "", "type": "单选",
        }
        for item in items
    }  # fmt: skip
    (home / "questions.json").write_text(dump_json(questions), encoding="utf-8")
    (home / "kc_routes_map.json").write_text(dump_json(names), encoding="utf-8")


def _write_questions(bank: ItemBank, home: Path) -> None:
    home.mkdir()
    items = np.arange(bank.items)
    exercise = items // bank.problems
    two = bank.asks_for_two(items)
    frame = pl.DataFrame(
        {
            "question_id": [f"q{item + 1}" for item in items],
            "bundle_id": [f"b{item + 1}" for item in items],
            "explanation_id": [f"e{item + 1}" for item in items],
            "correct_answer": _LETTERS.gather(items % len(_LETTERS)),
            "part": bank.level[0][exercise] % 7 + 1,
            "tags": [f"{at};{at + 1}" if pair else f"{at}" for at, pair in zip(exercise, two, strict=True)],
            "deployed_at": _CALENDAR + items,
        }
    )
    frame.write_csv(home / "questions.csv")


def _places(learner: np.ndarray) -> np.ndarray:
    return np.arange(len(learner)) - np.searchsorted(learner, learner)


def _as_they_are(answers: Answers) -> Contents:
    return Contents(len(answers.learner), len(answers.learner), int(answers.learner[-1]) + 1)
