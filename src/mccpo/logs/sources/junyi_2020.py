"""Junyi Academy 2018-2019: `Log_Problem.csv`, beside `Info_UserData.csv` where it is at hand.

Times are Taiwan's, rounded to 15 minutes, whatever the `UTC` in them says; within a quarter of an hour events are
ordered by exercise, session and problem number. `is_upgrade` and `is_downgrade` are the platform's own signal of
mastery, empty where it did not judge. Copies that went through a spreadsheet write `1/24/2019 21:00`, or the day alone,
and `FALSE`.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from mccpo.logs.reading.delimited import Opened, open_table
from mccpo.logs.reading.fields import SPREADSHEET, TRUTHS, Clock, Given, Seconds, Text, Truth, Whole
from mccpo.logs.reading.source import ReadOptions, Source
from mccpo.logs.sources.registry import register_source

LOG = "Log_Problem.csv"
USERS = "Info_UserData.csv"
USER_GROUPS = ("gender", "user_grade", "user_city", "is_self_coach")
COLUMNS = (
    "timestamp_TW", "uuid", "ucid", "upid", "problem_number", "exercise_problem_repeat_session", "is_correct",
    "total_sec_taken", "total_attempt_cnt", "used_hint_cnt", "is_downgrade", "is_upgrade", "level",
)  # fmt: skip


def _open(path: Path, options: ReadOptions) -> Opened:
    log = path / LOG if path.is_dir() else path
    return open_table(log, COLUMNS, delimiter=options.delimiter or ",", encoding=options.encoding or "utf-8")


def _is_true(column: str) -> pl.Expr:
    return pl.col(column).replace_strict(dict(TRUTHS), default=False, return_dtype=pl.Boolean).cast(pl.Int8)


def _users(path: Path) -> pl.DataFrame | None:
    users = (path if path.is_dir() else path.parent) / USERS
    if not users.exists():
        return None
    frame = open_table(users, ("uuid", *USER_GROUPS)).frame
    return frame.select(
        pl.col("uuid").alias("learner"),
        *(pl.when(pl.col(name) != "").then(pl.col(name)).alias(f"group_{name}") for name in USER_GROUPS),
    ).collect()


@register_source("junyi-2020", "Junyi Academy 2018-2019 (Log_Problem.csv)")
def junyi_2020(_: Path, __: ReadOptions) -> Source:
    """The columns of the release."""
    return Source(
        open=_open,
        fields={
            "learner": Text("uuid", required=True),
            "concept": Text("ucid", required=True),
            "item": Text("upid"),
            "time": Clock(
                "timestamp_TW",
                required=True,
                formats=("%Y-%m-%d %H:%M:%S UTC", "%Y-%m-%d %H:%M:%S", *SPREADSHEET),
                hours_ahead=8,
            ),
            "correct": Truth("is_correct", required=True),
            "attempts": Whole("total_attempt_cnt"),
            "hints": Whole("used_hint_cnt"),
            "seconds": Seconds("total_sec_taken"),
            "signal": Given("is_upgrade", expression=_is_true("is_upgrade") - _is_true("is_downgrade")),
        },
        order=("time", "concept", Whole("exercise_problem_repeat_session"), Whole("problem_number")),
        checks=(Whole("level", required=True),),
        groups_by_learner=_users,
    )
