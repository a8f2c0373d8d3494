"""How one of our numbers stands to the paper's: agrees, differs, or cannot tell.

What is asked is whether the two means lie within a margin of one another. The answer is an interval of their
difference: Welch's, widened by what the paper's rounding hides. Inside the margin the number *agrees* (an equivalence
test: two one-sided t tests). Outside of it the number *differs*, and is called *better* where it lies nearer to the
exact value of what the method aims for (the optimum of its own problem, by linear programming). An interval that
reaches over the end of the margin *cannot tell*. All verdicts of a table hold together with 95 % confidence: each has
an equal part of the 5 %.

The margin is 2 % of the paper's number, or 0.02 of a rate, and at least two units of the last digit that the paper
prints; for a share of seeds it is 0.02, since that is a count. The paper's own conclusions rest on differences of 5 %
and more.
"""

from __future__ import annotations

from collections.abc import Mapping

from mccpo.evaluation import CONFIDENCE, SHARES_OF_SEEDS, Summary, from_moments, share_interval
from mccpo.runs.results import Reported, Rows, Verdict

MARGIN = 0.02
RATES = ("pi_hack", "pi_hack_trained", "rhsi", "rhsi_trained", "violation_rate", *SHARES_OF_SEEDS)
"""What lies between 0 and 1, so that the margin is a part of 1: a share of next to nothing is no scale."""

PAPER_SEEDS = 10
_UNITS = 2

Interval = tuple[float, float]


def verdicts(
    ours: Rows,
    paper: Mapping[str, Mapping[str, Reported]],
    exact: Mapping[str, Mapping[str, float]],
    *,
    paper_seeds: int,
) -> dict[str, dict[str, Verdict]]:
    """A verdict for every cell that we and the paper have; `exact` holds the value each method aims for."""
    shared = {
        method: {metric: reported for metric, reported in cells.items() if metric in ours[method]}
        for method, cells in paper.items()
        if method in ours
    }
    family = sum(len(cells) for cells in shared.values())
    return {
        method: {
            metric: verdict_on(
                metric,
                ours[method][metric],
                reported,
                exact.get(method, {}).get(metric),
                paper_seeds=paper_seeds,
                family=family,
            )
            for metric, reported in cells.items()
        }
        for method, cells in shared.items()
    }


def verdict_on(
    metric: str, ours: Summary, paper: Reported, exact: float | None, *, paper_seeds: int, family: int = 1
) -> Verdict:
    """The verdict on one cell, of a `family` of so many that are to hold together."""
    margin = margin_of(metric, paper)
    chance = (1 - CONFIDENCE) / family
    if metric in SHARES_OF_SEEDS:
        interval = _shares_apart(ours, paper, paper_seeds, chance)
    else:
        interval = _means_apart(ours, paper, paper_seeds, chance)
    within = f"a margin of {_short(margin)}"
    if interval is None:
        return Verdict("cannot tell", f"one seed does not show how far the next would be; there is {within}")
    low, high = interval
    apart = f"ours less the paper's is from {_short(low)} to {_short(high)}"
    if -margin <= low and high <= margin:
        return Verdict("agrees", f"{apart}, within {within}{_aim(ours, exact)}")
    if low <= margin and high >= -margin:
        return Verdict("cannot tell", f"{apart}, which reaches over {within}{_aim(ours, exact)}")
    if exact is None:
        return Verdict("differs", f"{apart}, beyond {within}")
    our_error, their_error = abs(ours.mean - exact), abs(paper.mean - exact)
    kind, place = ("better", "nearer to") if our_error < their_error else ("differs", "farther from")
    aim = f"{place} the exact {_short(exact)} that the method aims for"
    return Verdict(kind, f"{apart}; {aim}: off by {_short(our_error)}, the paper's by {_short(their_error)}")


def margin_of(metric: str, paper: Reported) -> float:
    """How far two means may be apart and still agree; a share of seeds is a count, which rounding hides nothing of."""
    if metric in SHARES_OF_SEEDS:
        return MARGIN
    scale = 1.0 if metric in RATES else abs(paper.mean)
    return max(MARGIN * scale, _UNITS * (paper.unit or 0.0))


def _means_apart(ours: Summary, paper: Reported, paper_seeds: int, chance: float) -> Interval | None:
    """Between what our mean less the paper's lies, but for a chance on each side.

    Where the paper prints no spread, it is taken to be ours.
    """
    if ours.n < 2:
        return None
    spread = ours.std if paper.std is None else paper.std
    estimated = from_moments((ours.mean, ours.std, ours.n), (paper.mean, spread, paper_seeds))
    half = estimated.bound(chance) + (paper.unit or 0.0) / 2
    return estimated.difference - half, estimated.difference + half


def _shares_apart(ours: Summary, paper: Reported, paper_seeds: int, chance: float) -> Interval | None:
    """The same for shares of seeds, by an exact interval of each."""
    counts = (round(sum(ours.per_seed)), ours.n), (round(paper.mean * paper_seeds), paper_seeds)
    mine, theirs = (share_interval(count, n, 1 - chance) for count, n in counts)  # half of the chance for each
    if mine is None or theirs is None:
        return None
    return mine[0] - theirs[1], mine[1] - theirs[0]


def _aim(ours: Summary, exact: float | None) -> str:
    return "" if exact is None else f"; ours is {_short(abs(ours.mean - exact))} from the exact {_short(exact)}"


def _short(value: float) -> str:
    return f"{value:.3g}"
