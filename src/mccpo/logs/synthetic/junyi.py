"""Junyi Academy's release of 2018-2019, made up: Log_Problem.csv, Info_Content.csv and Info_UserData.csv."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import numpy as np
import polars as pl
from jaxtyping import Int

from mccpo.logs.synthetic.item_bank import DIFFICULTIES, STAGES, ItemBank, hashed
from mccpo.logs.synthetic.line_logs import Contents, DelimitedLog
from mccpo.logs.synthetic.simulation import NOT_JUDGED, YEAR, Answers

LOG, CONTENT, USERS = "Log_Problem.csv", "Info_Content.csv", "Info_UserData.csv"
BANK = ItemBank(exercises=1330, problems=20)
_BEGUN = datetime(2018, 8, 1)
_QUARTER = 900
_TRUTH = pl.Series(["False", "True"])
_CITIES = ("tp", "ntpc", "tc", "tn", "kh", "ty", "hc", "cy", "yl", "pt", "il", "hl")


def write(bank: ItemBank, answers: Answers, home: Path, faulty: int, seed: int) -> Contents:
    """Writes the three files. The log is UTF-8 as it stands; the other two begin with a BOM and end lines by CR LF."""
    learners = int(answers.learner[-1]) + 1
    _write_content(bank, home / CONTENT)
    _write_users(learners, home / USERS, seed)
    log = DelimitedLog(_Columns(learners), learner="uuid", correct="is_correct", order="timestamp_TW")
    return log.write(bank, _as_released(bank, answers), home / LOG, faulty, seed)


def _as_released(bank: ItemBank, answers: Answers) -> Answers:
    """The answers with times rounded to quarters of an hour, in the order that is left to tell them by."""
    quarter = (answers.time + _QUARTER // 2) // _QUARTER
    names = hashed("ucid", bank.exercises)
    rank = np.empty(bank.exercises, np.int64)
    rank[names.arg_sort().to_numpy()] = np.arange(bank.exercises)
    key = answers.learner.astype(np.int64) << 17 | quarter
    key = (key << 12 | rank[answers.exercise]) << 15 | answers.number
    order = pl.Series(key).arg_sort().to_numpy()
    answers.time[:] = quarter * _QUARTER
    for column in answers:  # in place: of millions of answers there is room for one copy
        column[:] = column[order]
    return answers


class _Columns:
    """The columns of the log: texts are looked up, since each stands there many times."""

    def __init__(self, learners: int) -> None:
        self.uuid = hashed("uuid", learners)
        quarters = pl.Series(np.arange(0, 2 * YEAR, _QUARTER, dtype=np.int64) * 1000)
        times = (quarters + int((_BEGUN - datetime(1970, 1, 1)).total_seconds()) * 1000).cast(pl.Datetime("ms"))
        self.time = times.dt.strftime("%Y-%m-%d %H:%M:%S UTC")

    def __call__(self, bank: ItemBank, answers: Answers, which: Int[np.ndarray, " rows"]) -> pl.DataFrame:
        ucid, upid = hashed("ucid", bank.exercises), hashed("upid", bank.items)
        judged = pl.Series(answers.signal != NOT_JUDGED)
        columns = {
            "timestamp_TW": self.time.gather(answers.time // _QUARTER),
            "uuid": self.uuid.gather(answers.learner),
            "ucid": ucid.gather(answers.exercise),
            "upid": upid.gather(answers.item),
            "problem_number": answers.number,
            "exercise_problem_repeat_session": answers.session,
            "is_correct": _truth(answers.correct),
            "total_sec_taken": answers.seconds,
            "total_attempt_cnt": answers.attempts,
            "used_hint_cnt": answers.hints,
            "is_hint_used": _truth(answers.hints > 0),
            "is_downgrade": _truth(answers.signal == -1),
            "is_upgrade": _truth(answers.signal == 1),
            "level": answers.level,
        }
        return pl.DataFrame(columns).with_columns(
            pl.when(judged).then(pl.col(name)).alias(name) for name in ("is_downgrade", "is_upgrade")
        )


def _truth(holds: np.ndarray) -> pl.Series:
    return _TRUTH.gather(holds.astype(np.uint32))


def _write_content(bank: ItemBank, path: Path) -> None:
    second, third, fourth = bank.level
    frame = pl.DataFrame(
        {
            "ucid": hashed("ucid", bank.exercises),
            "content_pretty_name": [f"練習 {number + 1}" for number in range(bank.exercises)],
            "content_kind": "Exercise",
            "difficulty": pl.Series(DIFFICULTIES).gather(bank.difficulty),
            "subject": "math",
            "learning_stage": pl.Series(STAGES).gather(bank.stage),
            "level1_id": hashed("level1", 1)[0],
            "level2_id": hashed("level2", bank.nodes[0]).gather(second),
            "level3_id": hashed("level3", bank.nodes[1]).gather(third),
            "level4_id": hashed("level4", bank.nodes[2]).gather(fourth),
        }
    )
    frame.write_csv(path, include_bom=True, line_terminator="\r\n")


def _write_users(learners: int, path: Path, seed: int) -> None:
    rng = np.random.default_rng([seed, 3])
    points = rng.lognormal(8.0, 1.5, learners).astype(np.int64)
    login = pl.Series(np.datetime64("2015-01-01") + rng.integers(0, 1300, learners))
    frame = pl.DataFrame(
        {
            "uuid": hashed("uuid", learners),
            "gender": pl.Series(["male", "female", "unspecified", ""]).gather(
                rng.choice(4, learners, p=[0.24, 0.22, 0.14, 0.4])
            ),
            "points": points,
            "badges_cnt": (np.log1p(points) // 1).astype(np.int64),
            "first_login_date_TW": login.cast(pl.Date).dt.strftime("%Y-%m-%d"),
            "user_grade": rng.integers(1, 13, learners),
            "user_city": pl.Series(_CITIES).gather(rng.integers(0, len(_CITIES), learners)),
            "has_teacher_cnt": rng.poisson(0.8, learners),
            "is_self_coach": _truth(rng.random(learners) < 0.05),
            "has_student_cnt": rng.poisson(0.02, learners),
            "belongs_to_class_cnt": rng.poisson(1.1, learners),
            "has_class_cnt": rng.poisson(0.02, learners),
        }
    )
    frame.write_csv(path, include_bom=True, line_terminator="\r\n")
