"""How well a model predicts answers of learners it was not fitted to.

An event counts once. What is predicted for it is the mean over its concepts, each from the learner's earlier events
only: its own answer plays no part, in none of its rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from scipy.stats import rankdata

from mccpo.mastery.fitting.trajectories import trajectories
from mccpo.mastery.model import MasteryModel, Prediction
from mccpo.mastery.responses import Responses

BINS = 10
_CLOSEST = 1e-12  # to 0 and 1, for the logarithm


def diagnose(model: MasteryModel, responses: Responses, theta: float = 0.7) -> dict[str, Any]:
    """AUC, log-loss, RMSE and calibration, overall and of those whose mastery is at least the gate's threshold θ."""
    said, correct = by_event(trajectories(model, responses), responses)
    chance = np.clip(said.correct, _CLOSEST, 1 - _CLOSEST)
    losses = -np.log(np.where(correct, chance, 1 - chance))
    bins = reliability(said.correct, correct)
    return {
        "events": len(correct),
        "learners": len(np.unique(responses.learner)),
        "correct": float(correct.mean()),
        "auc": auc(said.correct, correct),
        "log_loss": float(losses.mean()),
        "rmse": float(np.sqrt(np.mean((said.correct - correct) ** 2))),
        "ece": calibration_error(bins),
        "reliability": bins,
        "at_theta": _beyond(said, correct, theta),
    }


def by_event(said: Prediction, responses: Responses) -> tuple[Prediction, Bool[np.ndarray, " events"]]:
    """The mean of what is said of an event's concepts, and whether its answer is right."""
    start = np.flatnonzero((np.diff(responses.event, prepend=-1) != 0) | (np.diff(responses.learner, prepend=-1) != 0))
    rows = np.diff(start, append=responses.rows)
    means = [np.add.reduceat(np.asarray(field), start) / rows for field in said]
    return Prediction(*means), responses.correct[start]


def auc(said: Float[np.ndarray, " events"], correct: Bool[np.ndarray, " events"]) -> float:
    """The chance that of a right and a wrong answer the right one was given more; a tie counts half.

    NaN where all answers are the same.
    """
    right = int(correct.sum())
    wrong = len(correct) - right
    if not right or not wrong:
        return float("nan")
    return float((rankdata(said)[correct].sum() - right * (right + 1) / 2) / (right * wrong))


def reliability(
    said: Float[np.ndarray, " events"], correct: Bool[np.ndarray, " events"], bins: int = BINS
) -> list[dict[str, Any]]:
    """In bins of equal width, how many events there are, the mean of what was predicted, and the share of right ones.

    Bins without events are left out.
    """
    bin_of = np.minimum((said * bins).astype(int), bins - 1)
    count = np.bincount(bin_of, minlength=bins)
    predicted = np.bincount(bin_of, said, bins)
    right = np.bincount(bin_of, correct, bins)
    return [
        {
            "from": at / bins,
            "to": (at + 1) / bins,
            "events": int(count[at]),
            "predicted": float(predicted[at] / count[at]),
            "correct": float(right[at] / count[at]),
        }
        for at in np.flatnonzero(count)
    ]


def calibration_error(bins: list[dict[str, Any]]) -> float:
    """The expected calibration error: how far prediction and truth are apart in a bin, the mean over events."""
    events = sum(one["events"] for one in bins)
    return float(sum(one["events"] * abs(one["predicted"] - one["correct"]) for one in bins) / events)


def _beyond(said: Prediction, correct: Bool[np.ndarray, " events"], theta: float) -> dict[str, Any]:
    """Of events whose mastery is at least θ, how many are right, and how many should be."""
    open_ = said.mastery >= theta
    count = int(open_.sum())
    found: dict[str, Any] = {"theta": theta, "events": count, "share": count / len(correct)}
    if not count:
        return found | {"predicted": None, "correct": None, "gap": None}
    predicted, right = float(said.correct[open_].mean()), float(correct[open_].mean())
    return found | {"predicted": predicted, "correct": right, "gap": predicted - right}
