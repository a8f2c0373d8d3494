"""Whether the gate treats groups of learners alike: measures of each group, and how far groups lie apart.

There are three measures, each with an interval that takes learners, not answers, as independent:

- `restriction_rate`: the share of concepts that the gate withholds, over decisions.
- `time_to_unlock`: the mean over concepts of the decisions until a concept is first ready, held to the horizon. A
  learner who has not come so far is censored, not counted as locked out for good.
- `mastery_gain`: the mastery gained by an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from statistics import NormalDist

import numpy as np

from mccpo.serve.monitor.estimates import CONFIDENCE, Estimate
from mccpo.serve.monitor.report import ComparisonReport, GapReport, GroupReport

SMALLEST = 5
"""Learners of the smallest group that is shown: numbers of fewer would reveal persons, and say little."""
MOST_GROUPS = 20
"""Groups of a label that are compared, the largest ones; the report counts the others."""

Measures = Mapping[str, Estimate | None]


def compare_groups(
    measured: Mapping[str, Measures], learners: Mapping[str, int], bounds: Mapping[str, float]
) -> ComparisonReport:
    """The measures of each group, and for each measure the pair that lies furthest apart.

    The verdict is `alarm` if two groups differ by more than the measure's bound with 95 % confidence, shared among all
    pairs; `watch` if the estimates differ by more but the interval still reaches below the bound; else `within`.
    """
    return {
        "groups": {name: _group_report(learners[name], estimates) for name, estimates in measured.items()},
        "gaps": {
            measure: gap
            for measure, bound in bounds.items()
            if (gap := _widest_gap({name: of[measure] for name, of in measured.items()}, bound)) is not None
        },
    }


def _group_report(learners: int, estimates: Measures) -> GroupReport:
    shown = {name: None if estimate is None else estimate.report() for name, estimate in estimates.items()}
    return {
        "learners": learners,
        "restriction_rate": shown["restriction_rate"],
        "time_to_unlock": shown["time_to_unlock"],
        "mastery_gain": shown["mastery_gain"],
    }


def _widest_gap(estimates: Measures, bound: float) -> GapReport | None:
    known = {name: estimate for name, estimate in estimates.items() if estimate is not None}
    if len(known) < 2:
        return None
    names, pairs = list(known), np.array(list(combinations(range(len(known)), 2)))
    means, errors = np.array(list(known.values())).T
    differences = np.abs(means[pairs[:, 0]] - means[pairs[:, 1]])
    width = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / len(pairs) / 2)
    widths = width * np.hypot(errors[pairs[:, 0]], errors[pairs[:, 1]])
    alarming = differences - widths > bound
    widest = max(range(len(pairs)), key=lambda pair: (alarming[pair], differences[pair]))
    first, second = sorted(pairs[widest].tolist(), key=lambda group: (means[group], group))
    difference, half = float(differences[widest]), float(widths[widest])
    return {
        "least": names[first],
        "most": names[second],
        "difference": difference,
        "interval": [difference - half, difference + half],
        "bound": bound,
        "verdict": "alarm" if alarming[widest] else "watch" if difference > bound else "within",
    }
