"""How one of our numbers stands to the paper's: agrees, better or differs, and why.

A number *agrees* when the 95 % Welch interval of the difference, widened by what the paper's rounding hides, contains
zero. Otherwise it is *better* when it lies nearer to the exact value of what the method aims for (the optimum of its
own problem, by linear programming), and *differs* in every other case.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import scipy  # whose parts load when they are used: training need not wait for them

from mccpo.evaluation import Summary
from mccpo.runs.results import Reported, Rows, Verdict


def verdicts(
    ours: Rows,
    paper: Mapping[str, Mapping[str, Reported]],
    exact: Mapping[str, Mapping[str, float]],
    *,
    paper_seeds: int,
) -> dict[str, dict[str, Verdict]]:
    """A verdict for every cell that we and the paper have; `exact` holds the value each method aims for."""
    return {
        method: {
            metric: verdict_on(ours[method][metric], reported, exact.get(method, {}).get(metric), paper_seeds)
            for metric, reported in cells.items()
            if metric in ours[method]
        }
        for method, cells in paper.items()
        if method in ours
    }


def verdict_on(ours: Summary, paper: Reported, exact: float | None, paper_seeds: int) -> Verdict:
    """The verdict on one cell."""
    gap = ours.mean - paper.mean
    margin = _margin(ours, paper, paper_seeds)
    if abs(gap) <= margin:
        near = f"the means are {_short(abs(gap))} apart, within {_short(margin)}{_aim(ours, exact)}"
        return Verdict("agrees", near)
    if exact is None:
        return Verdict("differs", f"the means are {_short(abs(gap))} apart, more than {_short(margin)}")
    our_error, their_error = abs(ours.mean - exact), abs(paper.mean - exact)
    kind, place = ("better", "nearer to") if our_error < their_error else ("differs", "farther from")
    aim = f"{place} the exact {_short(exact)} that the method aims for"
    return Verdict(kind, f"{aim}: off by {_short(our_error)}, the paper's by {_short(their_error)}")


def _margin(ours: Summary, paper: Reported, paper_seeds: int) -> float:
    seeds = np.array([len(ours.per_seed), paper_seeds])
    # A printed deviation of 0.000 may be anything below half its last digit.
    unit, std = paper.unit or 0.0, paper.std or 0.0
    spread = np.array([ours.std, max(std, unit / 2 if std == 0 else 0.0)])
    variance = spread**2 / seeds
    freedom = np.maximum(seeds - 1, 1)
    total = float(variance.sum())
    degrees = total**2 / float((variance**2 / freedom).sum()) if total > 0 else 1.0
    return float(scipy.stats.t.ppf(0.975, degrees)) * float(np.sqrt(total)) + unit / 2


def _aim(ours: Summary, exact: float | None) -> str:
    return "" if exact is None else f"; ours is {_short(abs(ours.mean - exact))} from the exact {_short(exact)}"


def _short(value: float) -> str:
    return f"{value:.3g}"
