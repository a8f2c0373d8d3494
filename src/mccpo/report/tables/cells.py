"""How one number of a table reads, in the page and in the terminal alike."""

from __future__ import annotations

from mccpo.report import numbers
from mccpo.report.results import Measured, Reported
from mccpo.report.tables.supplement import Certificate, Infeasible
from mccpo.report.vocabulary import SHARES_OF_SEEDS, method_label, split_variant


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


def optimum_text(metric: str, value: float) -> str:
    """What is so of the exact optimum: a yes or no where seeds are counted, else a number that is exact."""
    if split_variant(metric)[0] in SHARES_OF_SEEDS:
        return "yes" if value else "no"
    return numbers.short(value)


def infeasible_details(found: Infeasible) -> str:
    """The numbers behind budgets that cannot be met, where the results give them."""
    least = ", ".join(f"{cost} {numbers.short(value)}" for cost, value in found.least.items())
    parts = [
        f"in conflict: {', '.join(found.conflict)}" if found.conflict else "",
        f"least that can be reached: {least}" if least else "",
    ]
    if found.scale and not found.feasible:
        parts.append(f"all budgets would be reachable at {numbers.short(found.scale)} times their size")
    told = "; ".join(part for part in parts if part)
    return f"{told[:1].upper()}{told[1:]}." if told else ""


def certificate_text(certificate: Certificate) -> str:
    """What a certificate says, in words."""
    sure = f"with {numbers.share(certificate.confidence)} confidence"
    about = _about(certificate)
    if certificate.passed:
        return f"{sure}, every cost is within its budget{about}."
    failed = [f"J({cost})" for cost, bound in certificate.budgets.items() if bound.passed is False]
    if certificate.prerequisite is not None and certificate.prerequisite.passed is False:
        failed.append("the share of unready steps")
    return f"it cannot be said {sure} that {' and '.join(failed) or 'every cost'} is within budget{about}."


def _about(certificate: Certificate) -> str:
    """Which policies were certified, and how: a table can show the certificate of a part that has no rows in it."""
    error, episodes = certificate.estimation_error, certificate.episodes
    told = [
        method_label(certificate.method) if certificate.method else "",
        f"of {certificate.part}" if certificate.part else "",
        "" if episodes is None else f"in {episodes:,.0f} fresh episodes",
        f"with mastery seen with an error of σ = {numbers.short(error)}" if error else "",
    ]
    words = " ".join(part for part in told if part)
    return f" ({words})" if words else ""
