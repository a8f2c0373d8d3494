"""The pipeline as one writes it with pandas: `pandas_logs.py FOLDER OUT THRESHOLDS`, in an environment that has pandas.

Reads the log, cleans and sorts it, follows the moving average of each learner and exercise, keeps the episodes, and
audits: the decoupling prevalence by signal and by moving average, each with its interval, overall, by level of all that
an audit breaks down by, and over the thresholds. Prints JSON.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-not-found,import-untyped,unused-ignore]  # of its own environment
from scipy import stats  # type: ignore[import-untyped,unused-ignore]

ALPHA, K0, THRESHOLD, MINIMUM = 0.08, 0.2, 0.005, 30
GROUPS = ["gender", "user_grade", "user_city", "is_self_coach"]


def follow(answers: Any) -> Any:
    """The mastery after each answer of one learner to one exercise."""
    mastery, path = K0, []
    for correct in answers:
        mastery += ALPHA * (correct - mastery)
        path.append(mastery)
    return path


def interval(group: Any) -> Any:
    """The share of events with its interval, by learner: linearised variance, Wilson at the effective number."""
    by_learner = group.groupby("uuid", observed=True)["event"].agg(["sum", "count"])
    d, n, learners = by_learner["sum"], by_learner["count"], len(by_learner)
    rate = d.sum() / n.sum()
    variance = learners / max(learners - 1, 1) * ((d - rate * n) ** 2).sum() / n.sum() ** 2
    effective = min(rate * (1 - rate) / variance, n.sum()) if variance > 0 else learners
    t = stats.t.ppf(0.975, max(learners - 1, 1))
    pull = t * t / effective
    centre = (rate + pull / 2) / (1 + pull)
    half = t / (1 + pull) * np.sqrt(rate * (1 - rate) / effective + pull / (4 * effective))
    return pd.Series({"rate": rate, "low": centre - half, "high": centre + half})


def pipeline(folder: Path, out: Path, thresholds: list[float]) -> dict[str, Any]:
    """The whole of it, from the CSV file on."""
    begun = time.perf_counter()
    log = pd.read_csv(folder / "Log_Problem.csv")
    log["time"] = pd.to_datetime(log["timestamp_TW"], format="%Y-%m-%d %H:%M:%S UTC") - pd.Timedelta(hours=8)
    log = log.dropna(subset=["uuid", "ucid", "time", "is_correct", "level"]).drop_duplicates()
    log = log.sort_values(["uuid", "time", "ucid", "exercise_problem_repeat_session", "problem_number"])
    log["order"] = log.groupby("uuid").cumcount()
    users = pd.read_csv(folder / "Info_UserData.csv", encoding="utf-8-sig")
    log = log.merge(users[["uuid", *GROUPS]], on="uuid", how="left")
    log.to_parquet(out)
    correct = log["is_correct"].astype(float)
    log["after"] = correct.groupby([log["uuid"], log["ucid"]]).transform(follow)
    log["before"] = log.groupby(["uuid", "ucid"])["after"].shift().fillna(K0)
    episodes = log.groupby("uuid").filter(lambda rows: len(rows) >= MINIMUM)
    signal = (log["is_upgrade"] == True).astype(int) - (log["is_downgrade"] == True).astype(int)  # noqa: E712 - or empty
    gain = log["after"] - log["before"]
    events = {"signal": log["is_correct"] & (signal <= 0), "ema": log["is_correct"] & (gain <= THRESHOLD)}
    levels = {
        "concept": log["ucid"],
        **{column: log[column].fillna("not known") for column in GROUPS},
        "accuracy": (log.groupby("uuid")["is_correct"].transform("mean") * 10).astype(int).clip(4, 9),
        "place": np.log2(log["order"] + 1).astype(int),
        "month": log["time"].dt.strftime("%Y-%m"),
        "hour": log["time"].dt.hour,
    }
    whole, by = {}, {}
    for measure, event in events.items():
        log["event"] = event
        whole[measure, "all"] = interval(log)
        whole[measure, "episodes"] = interval(log.loc[episodes.index])
        for name, level in levels.items():
            by[measure, name] = log.groupby(level).apply(interval)
    curve = []
    for threshold in thresholds:
        log["event"] = log["is_correct"] & (gain <= threshold)
        curve.append(float(interval(log)["rate"]))
        interval(log.loc[episodes.index])
    seconds = time.perf_counter() - begun
    return {
        "seconds": seconds,
        "result": {
            "interactions": len(log),
            "learners": int(log["uuid"].nunique()),
            "episodes": int(episodes["uuid"].nunique()),
            "retained": len(episodes),
            "mean_mastery": float(log["after"].mean()),
            "decoupled_by_signal": float(whole["signal", "all"]["rate"]),
            "low": float(whole["signal", "all"]["low"]),
            "high": float(whole["signal", "all"]["high"]),
            "decoupled_by_ema": float(whole["ema", "all"]["rate"]),
            "decoupled_in_episodes": float(whole["ema", "episodes"]["rate"]),
            "by_concept": {name: float(rate) for name, rate in by["signal", "concept"]["rate"].items()},
            "by_month": {name: float(rate) for name, rate in by["ema", "month"]["rate"].items()},
            "curve": curve,
        },
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(pipeline(Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3]))) + "\n")
