"""How well a model predicts answers of learners it was not fitted to.

An event counts once. What a mastery model predicts for it is the mean over its concepts, and a response model predicts
it as a whole; both from the learner's earlier events only: its own answer plays no part, in none of its rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.stats import rankdata

from mccpo.mastery.fitting.intervals import Interval, Resamples, interval
from mccpo.mastery.fitting.response_fits import predict_events
from mccpo.mastery.fitting.trajectories import trajectories
from mccpo.mastery.model import MasteryModel, Prediction
from mccpo.mastery.response_model import ResponseModel
from mccpo.mastery.responses import Responses

BINS = 10
_CLOSEST = 1e-12  # to 0 and 1, for the logarithm


class ReliabilityBin(NamedTuple):
    """Events whose predicted chance lies in a range: how many, the mean prediction, and the share of right answers.

    `interval` is where that share lies when learners are resampled.
    """

    low: float
    high: float
    events: int
    predicted: float
    correct: float
    interval: Interval | None = None

    def as_json(self) -> dict[str, Any]:
        """The bin as plain values, for JSON."""
        ends = {"from": self.low, "to": self.high}
        told = {**ends, "events": self.events, "predicted": self.predicted, "correct": self.correct}
        return told | {"interval": None if self.interval is None else list(self.interval)}


class GateCalibration(NamedTuple):
    """Events whose mastery is at least θ: their share, how many are right, and how many should be; None without any."""

    theta: float
    events: int
    share: float
    predicted: float | None
    correct: float | None
    gap: float | None


@dataclass(frozen=True)
class Diagnostics:
    """How well a model predicts: AUC, log-loss, RMSE, expected calibration error, and calibration in detail.

    **Fields:**

    - `constant_log_loss`: of a constant that knows the share of right answers among these very events.
    - `intervals`: of `auc`, `log_loss`, `rmse`, and of the `gain`, how much lower the log-loss is than the constant's;
      none where they were not asked for, or there is one learner.
    """

    events: int
    learners: int
    correct: float
    auc: float
    log_loss: float
    rmse: float
    ece: float
    reliability: tuple[ReliabilityBin, ...]
    at_theta: GateCalibration
    constant_log_loss: float
    intervals: Mapping[str, Interval] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The diagnostics as plain values, for JSON."""
        return {
            "events": self.events,
            "learners": self.learners,
            "correct": self.correct,
            "auc": self.auc,
            "log_loss": self.log_loss,
            "rmse": self.rmse,
            "ece": self.ece,
            "reliability": [one_bin.as_json() for one_bin in self.reliability],
            "at_theta": self.at_theta._asdict(),
            "constant": {"log_loss": self.constant_log_loss, "gain": self.constant_log_loss - self.log_loss},
            "intervals": {name: list(ends) for name, ends in self.intervals.items()},
        }


def diagnose(
    model: MasteryModel | ResponseModel, responses: Responses, theta: float = 0.7, *, intervals: bool = False
) -> Diagnostics:
    """AUC, log-loss, RMSE and calibration, overall and of those whose mastery is at least the gate's threshold θ.

    With `intervals`, which take a while, also how far these would move with other learners.
    """
    predicted, correct = predicted_by_event(model, responses)
    losses = _losses(predicted.correct, correct)
    errors = (predicted.correct - correct) ** 2
    constant = _losses(np.full(len(correct), correct.mean()), correct)
    learner = responses.learner[responses.event_starts]
    resamples = Resamples.draw(learner) if intervals and len(np.unique(learner)) > 1 else None
    bins = _with_intervals(reliability(predicted.correct, correct), predicted.correct, correct, resamples)
    return Diagnostics(
        events=len(correct),
        learners=len(np.unique(learner)),
        correct=float(correct.mean()),
        auc=auc(predicted.correct, correct),
        log_loss=float(losses.mean()),
        rmse=float(np.sqrt(errors.mean())),
        ece=calibration_error(bins),
        reliability=bins,
        at_theta=_gate_calibration(predicted, correct, theta),
        constant_log_loss=float(constant.mean()),
        intervals={}
        if resamples is None
        else {
            "auc": interval(resamples.auc(predicted.correct, correct)),
            "log_loss": interval(resamples.mean(losses)),
            "rmse": interval(np.sqrt(resamples.mean(errors))),
            "gain": interval(resamples.mean(constant - losses)),
        },
    )


def _losses(chance: Float[np.ndarray, " events"], correct: Bool[np.ndarray, " events"]) -> Float[np.ndarray, " events"]:
    """The log-loss of each event."""
    inside = np.clip(chance, _CLOSEST, 1 - _CLOSEST)
    return -np.log(np.where(correct, inside, 1 - inside))


def _with_intervals(
    bins: Sequence[ReliabilityBin],
    predicted: Float[np.ndarray, " events"],
    correct: Bool[np.ndarray, " events"],
    resamples: Resamples | None,
) -> tuple[ReliabilityBin, ...]:
    if resamples is None:
        return tuple(bins)
    bin_of = _bins_of(predicted, BINS)
    return tuple(
        one_bin._replace(interval=resamples.share(bin_of == round(one_bin.low * BINS), correct)) for one_bin in bins
    )


def predicted_by_event(
    model: MasteryModel | ResponseModel, responses: Responses
) -> tuple[Prediction, Bool[np.ndarray, " events"]]:
    """What is predicted of each event before its answer, and whether that is right."""
    if isinstance(model, ResponseModel):
        return predict_events(model, responses), responses.correct[responses.event_starts]
    return by_event(trajectories(model, responses), responses)


def by_event(predicted: Prediction, responses: Responses) -> tuple[Prediction, Bool[np.ndarray, " events"]]:
    """The mean of what is predicted of an event's concepts, and whether its answer is right."""
    start = responses.event_starts
    rows = np.diff(start, append=responses.rows)
    means = [np.add.reduceat(np.asarray(field), start) / rows for field in predicted]
    return Prediction(*means), responses.correct[start]


def auc(predicted: Float[np.ndarray, " events"], correct: Bool[np.ndarray, " events"]) -> float:
    """The chance that of a right and a wrong answer the right one was given more; a tie counts half.

    NaN where all answers are the same.

    >>> auc(np.array([0.9, 0.2, 0.6]), np.array([True, False, False]))
    1.0
    """
    right = int(correct.sum())
    wrong = len(correct) - right
    if not right or not wrong:
        return float("nan")
    return float((rankdata(predicted)[correct].sum() - right * (right + 1) / 2) / (right * wrong))


def reliability(
    predicted: Float[np.ndarray, " events"], correct: Bool[np.ndarray, " events"], bins: int = BINS
) -> tuple[ReliabilityBin, ...]:
    """Bins of equal width; those without events are left out."""
    bin_of = _bins_of(predicted, bins)
    count = np.bincount(bin_of, minlength=bins)
    total = np.bincount(bin_of, predicted, bins)
    right = np.bincount(bin_of, correct, bins)
    return tuple(
        ReliabilityBin(
            at / bins, (at + 1) / bins, int(count[at]), float(total[at] / count[at]), float(right[at] / count[at])
        )
        for at in np.flatnonzero(count)
    )


def _bins_of(predicted: Float[np.ndarray, " events"], bins: int) -> Int[np.ndarray, " events"]:
    return np.minimum((predicted * bins).astype(int), bins - 1)


def calibration_error(bins: Sequence[ReliabilityBin]) -> float:
    """The expected calibration error: how far prediction and truth are apart in a bin, the mean over events."""
    events = sum(one_bin.events for one_bin in bins)
    return float(sum(one_bin.events * abs(one_bin.predicted - one_bin.correct) for one_bin in bins) / events)


def _gate_calibration(predicted: Prediction, correct: Bool[np.ndarray, " events"], theta: float) -> GateCalibration:
    open_ = predicted.mastery >= theta
    count = int(open_.sum())
    share = count / len(correct)
    if not count:
        return GateCalibration(theta, count, share, None, None, None)
    expected, right = float(predicted.correct[open_].mean()), float(correct[open_].mean())
    return GateCalibration(theta, count, share, expected, right, expected - right)
