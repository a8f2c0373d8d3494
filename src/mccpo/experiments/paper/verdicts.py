"""How one of our numbers stands to the paper's: agrees, better or differs, and why.

A number *agrees* when the 95 % Welch interval of the difference, widened by what the paper's rounding hides, contains
zero. Otherwise it is *better* when it lies nearer to the exact value of what the method aims for (the optimum of its
own problem, by linear programming), and *differs* in every other case.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

import numpy as np
import scipy  # whose parts load when they are used: training need not wait for them

from mccpo.evaluation import Summary
from mccpo.experiments.paper.reported import Reported, Rows


class Verdict(TypedDict):
    """A verdict on one cell of a table, and its reason."""

    verdict: str
    reason: str


def verdicts(
    ours: Mapping[str, Mapping[str, Summary]],
    paper: Rows,
    exact: Mapping[str, Mapping[str, float]],
    *,
    paper_seeds: int,
) -> dict[str, dict[str, Verdict]]:
    """A verdict for every cell that we and the paper have; `exact` holds the value each method aims for."""
    return {
        method: {
            metric: judge(ours[method][metric], reported, exact.get(method, {}).get(metric), paper_seeds)
            for metric, reported in cells.items()
            if metric in ours[method]
        }
        for method, cells in paper.items()
        if method in ours
    }


def judge(ours: Summary, paper: Reported, exact: float | None, paper_seeds: int) -> Verdict:
    """The verdict on one cell."""
    gap = ours["mean"] - paper.mean
    margin = _margin(ours, paper, paper_seeds)
    if abs(gap) <= margin:
        return {
            "verdict": "agrees",
            "reason": f"the means are {_short(abs(gap))} apart, within {_short(margin)}{_aim(ours, exact)}",
        }
    if exact is None:
        return {"verdict": "differs", "reason": f"the means are {_short(abs(gap))} apart, more than {_short(margin)}"}
    if abs(ours["mean"] - exact) < abs(paper.mean - exact):
        reason = (
            f"nearer to the exact {_short(exact)} that the method aims for: off by {_short(abs(ours['mean'] - exact))}"
        )
        return {"verdict": "better", "reason": f"{reason}, the paper's by {_short(abs(paper.mean - exact))}"}
    reason = (
        f"farther from the exact {_short(exact)} that the method aims for: off by {_short(abs(ours['mean'] - exact))}"
    )
    return {"verdict": "differs", "reason": f"{reason}, the paper's by {_short(abs(paper.mean - exact))}"}


def _margin(ours: Summary, paper: Reported, paper_seeds: int) -> float:
    seeds = np.array([len(ours["per_seed"]), paper_seeds])
    # A printed deviation of 0.000 may be anything below half its last digit.
    spread = np.array([ours["std"], max(paper.std, paper.unit / 2 if paper.std == 0 else 0.0)])
    variance = spread**2 / seeds
    freedom = np.maximum(seeds - 1, 1)
    total = float(variance.sum())
    degrees = total**2 / float((variance**2 / freedom).sum()) if total > 0 else 1.0
    return float(scipy.stats.t.ppf(0.975, degrees)) * float(np.sqrt(total)) + paper.unit / 2


def _aim(ours: Summary, exact: float | None) -> str:
    return "" if exact is None else f"; ours is {_short(abs(ours['mean'] - exact))} from the exact {_short(exact)}"


def _short(value: float) -> str:
    return f"{value:.3g}"
