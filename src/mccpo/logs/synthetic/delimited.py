"""Made-up logs in one delimited file: ASSISTments 2009-10, DataShop's student-step export, and a table of one's own."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
from jaxtyping import Int

from mccpo.logs.synthetic.item_bank import ItemBank
from mccpo.logs.synthetic.line_logs import DelimitedLog
from mccpo.logs.synthetic.simulation import Answers

ASSISTMENTS_BANK = ItemBank(exercises=110, problems=240)
DATASHOP_BANK = ItemBank(exercises=60, problems=25)
TABLE_BANK = ItemBank(exercises=100, problems=20)
TABLE_MAP = {
    "learner": "student", "concept": "skill", "item": "problem", "time": "answered_at", "correct": "right",
    "attempts": "tries", "hints": "hints", "seconds": "seconds",
}  # fmt: skip
_BEGUN_MS = 1_535_760_000_000  # 2018-09-01


def clock(answers: Answers) -> pl.Series:
    """The times of answers as points in time."""
    return pl.Series(answers.time.astype(np.int64) * 1000 + _BEGUN_MS).cast(pl.Datetime("ms"))


def _assistments(bank: ItemBank, answers: Answers, which: Int[np.ndarray, " rows"]) -> pl.DataFrame:
    learner, item, exercise = (column.astype(np.int64) for column in (answers.learner, answers.item, answers.exercise))
    ms = answers.seconds.astype(np.int64) * 1000 + item % 1000
    text = pl.Series(["42", "3/4", "30°", "x + 1"]).gather(answers.item % 4)
    return pl.DataFrame(
        {
            "order_id": which.astype(np.int64) + 20_000_000,
            "assignment_id": 200_000 + exercise,
            "user_id": learner + 64_000,
            "assistment_id": item + 30_000,
            "problem_id": item + 50_000,
            "original": 1,
            "correct": answers.correct.astype(np.int8),
            "attempt_count": answers.attempts,
            "ms_first_response": ms,
            "tutor_mode": "tutor",
            "answer_type": "algebra",
            "sequence_id": 5_000 + exercise,
            "student_class_id": 11_000 + learner // 25,
            "position": exercise + 1,
            "type": "MasterySection",
            "base_sequence_id": 5_000 + exercise,
            "skill_id": exercise + 1,
            "skill_name": pl.Series([f"Skill {number + 1}" for number in range(bank.exercises)]).gather(exercise),
            "teacher_id": 22_000 + learner // 100,
            "school_id": learner // 500 + 1,
            "hint_count": answers.hints,
            "hint_total": 4,
            "overlap_time": ms,
            "template_id": item // 8 + 30_000,
            "answer_id": "",
            "answer_text": text,
            "first_action": (answers.hints > 0).astype(np.int8),
            "bottom_hint": (answers.hints == 3).astype(np.int8),
            "opportunity": answers.number,
            "opportunity_original": answers.number,
        }
    )


def _datashop(bank: ItemBank, answers: Answers, which: Int[np.ndarray, " rows"]) -> pl.DataFrame:
    unit, _, section = bank.level
    ended = clock(answers)
    begun = ended - pl.Series(answers.seconds.astype(np.int64) * 1000).cast(pl.Duration("ms"))
    seconds = pl.Series(answers.seconds)
    correct = pl.Series(answers.correct)
    first_attempt = np.where(answers.correct, 0, np.where(answers.hints > 0, 2, 1))
    places = pl.Series([f"Unit {u + 1}, Section {s + 1}" for u, s in zip(unit, section, strict=True)])
    columns = {
        "Row": which.astype(np.int64) + 1,
        "Sample": "All Data",
        "Anon Student Id": pl.Series(answers.learner).cast(pl.String).str.zfill(8),
        "Problem Hierarchy": places.gather(answers.exercise),
        "Problem Name": "problem " + pl.Series(answers.item).cast(pl.String),
        "Problem View": answers.session,
        "Step Name": "step " + pl.Series(answers.number).cast(pl.String),
        "Step Start Time": _written(begun),
        "First Transaction Time": _written(ended),
        "Correct Transaction Time": _written(ended),
        "Step End Time": _written(ended),
        "Step Duration (sec)": seconds,
        "Correct Step Duration (sec)": _where(correct, seconds),
        "Error Step Duration (sec)": _where(~correct, seconds),
        "First Attempt": pl.Series(["correct", "incorrect", "hint"]).gather(first_attempt),
        "Incorrects": answers.attempts - 1,
        "Hints": answers.hints,
        "Corrects": 1,
        "Condition": ".",
        "KC (Default)": concepts(bank, answers),
        "Opportunity (Default)": answers.number,
        "Predicted Error Rate (Default)": "",
    }
    return pl.DataFrame(columns)


def concepts(bank: ItemBank, answers: Answers, between: str = "~~", name: str = "concept {}") -> pl.Series:
    """The concepts of each answer, joined where there are two."""
    single = [name.format(number) for number in range(bank.exercises)]
    two = [between.join(pair) for pair in pairwise(single)]
    pair = bank.asks_for_two(answers.item)
    return pl.Series([*single, *two], dtype=pl.String).gather(answers.exercise + pair * len(single))


def _written(time: pl.Series) -> pl.Series:
    return time.dt.strftime("%Y-%m-%d %H:%M:%S.0")


def _where(holds: pl.Series, number: pl.Series) -> pl.Series:
    return pl.select(pl.when(holds).then(number.cast(pl.String)).otherwise(pl.lit("."))).to_series()


def _table(bank: ItemBank, answers: Answers, _: Int[np.ndarray, " rows"]) -> pl.DataFrame:
    columns = {
        "student": "s" + pl.Series(answers.learner).cast(pl.String),
        "skill": concepts(bank, answers),
        "problem": "p" + pl.Series(answers.item).cast(pl.String),
        "answered_at": clock(answers).dt.strftime("%Y-%m-%d %H:%M:%S"),
        "right": answers.correct.astype(np.int8),
        "tries": answers.attempts,
        "hints": answers.hints,
        "seconds": answers.seconds,
    }
    return pl.DataFrame(columns)


ASSISTMENTS = DelimitedLog(
    _assistments,
    by_concept=True,
    learner="user_id",
    correct="correct",
    order="order_id",
    encoding="iso-8859-15",
)
DATASHOP = DelimitedLog(
    _datashop, learner="Anon Student Id", correct="First Attempt", order="First Transaction Time", delimiter="\t"
)
TABLE = DelimitedLog(_table, learner="student", correct="right", order="answered_at")
