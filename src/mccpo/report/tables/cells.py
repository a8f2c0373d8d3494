"""How one number of a table reads, in the page and in the terminal alike."""

from __future__ import annotations

from mccpo.evaluation import SHARES_OF_SEEDS, Summary
from mccpo.report import numbers
from mccpo.report.vocabulary import method_label, split_variant
from mccpo.runs.results import Certificate, Reported, UnmetBudgets


def measured_text(metric: str, summary: Summary, *, tight: bool = False) -> str:
    """One of our numbers: a count of seeds for what a seed does or does not do, mean ± std otherwise."""
    if split_variant(metric)[0] in SHARES_OF_SEEDS:
        return numbers.of_seeds(summary.per_seed) or numbers.share(summary.mean)
    return numbers.with_spread(summary.mean, summary.shown_std, tight=tight)


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


def unmet_details(unmet: UnmetBudgets) -> str:
    """The numbers behind budgets that no policy was found to meet, where the results give them."""
    least = ", ".join(f"{cost} {numbers.short(value)}" for cost, value in unmet.least.items())
    clauses = [
        f"in conflict: {', '.join(unmet.conflict)}" if unmet.conflict else "",
        f"least that {'was' if unmet.feasible is None else 'can be'} reached: {least}" if least else "",
    ]
    if unmet.scaling and not unmet.feasible:
        clauses.append(f"all budgets are reachable at {numbers.short(unmet.scaling)} times their size")
    sentence = "; ".join(clause for clause in clauses if clause)
    return f"{sentence[:1].upper()}{sentence[1:]}." if sentence else ""


def certificate_text(certificate: Certificate, *, brief: bool = False) -> str:
    """What a certificate says, in words; in brief, without what the chance of error is shared over."""
    sure = f"with {numbers.share(certificate.confidence)} confidence"
    about = _about(certificate, brief=brief)
    if certificate.passed:
        return f"{sure}, {_kept(certificate)}{about}."
    failed = [f"J({cost})" for cost, bound in certificate.budgets.items() if bound.passed is False]
    failed += [name for name, bound in certificate.floors.items() if bound.passed is False]
    if certificate.prerequisite is not None and certificate.prerequisite.passed is False:
        failed.append("the share of lessons that the learner is not ready for")
    return f"it cannot be said {sure} that {' and '.join(failed) or 'every cost'} {_keeps(certificate)}{about}."


def _kept(certificate: Certificate) -> str:
    kept = ["every cost is within its budget"] if certificate.budgets or not certificate.floors else []
    return " and ".join([*kept, *(["every floor is reached"] if certificate.floors else [])])


def _keeps(certificate: Certificate) -> str:
    if certificate.floors:
        return "keeps to budget and floor" if certificate.budgets else "reaches its floor"
    return "is within budget"


def _about(certificate: Certificate, *, brief: bool) -> str:
    """Which policies were certified, and how: a table can show the certificate of a part that has no rows in it."""
    error, episodes = certificate.estimation_error, certificate.episodes
    phrases = [
        method_label(certificate.method) if certificate.method else "",
        f"of {certificate.part}" if certificate.part else "",
        f"on {certificate.on}" if certificate.on else "",
        "" if episodes is None else f"in {episodes:,.0f} fresh episodes",
        f"with mastery seen with an error of σ = {numbers.short(error)}" if error else "",
    ]
    words = " ".join(phrase for phrase in phrases if phrase)
    family = None if certificate.correction is None else certificate.correction.family
    if family is not None and not brief:
        words += (
            f"; the chance of error is shared over {family.policies} policies of the run and over the environments "
            f"that they were looked at in, {len(family.environments)} so far"
        )
    return f" ({words})" if words else ""
