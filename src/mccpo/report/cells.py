"""How one number of a table reads, in the page and in the terminal alike."""

from __future__ import annotations

from mccpo.report import numbers
from mccpo.report.results import Measured, Reported
from mccpo.report.vocabulary import SHARES_OF_SEEDS, split_variant


def measured_text(metric: str, measured: Measured, *, tight: bool = False) -> str:
    """One of our numbers: a count of seeds for what a seed does or does not do, mean ± std otherwise."""
    if split_variant(metric)[0] in SHARES_OF_SEEDS:
        return numbers.of_seeds(measured.per_seed) or numbers.share(measured.mean)
    return numbers.with_spread(measured.mean, measured.shown_std, tight=tight)


def reported_text(metric: str, reported: Reported, *, tight: bool = False) -> str:
    """One of the paper's numbers, in the same form."""
    if split_variant(metric)[0] in SHARES_OF_SEEDS:
        return numbers.share(reported.mean)
    return numbers.with_spread(reported.mean, reported.std, tight=tight)
