"""`mccpo certify`: may the policies of a run be released?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from mccpo.cli.commands import cache
from mccpo.cli.console.output import JsonFlag, WholeNumber, emit, note
from mccpo.cli.console.progress import progress
from mccpo.errors import GateFailed

if TYPE_CHECKING:
    from mccpo.runs.results import Certificate, Correction, Readiness

_NORMAL = "(normal: the bound by the normal distribution, for comparison; nothing is decided by it)"


def certify(
    run: Annotated[Path, Parameter(help="The folder of a finished run of a neural learner.")],
    /,
    *,
    confidence: Annotated[float, Parameter(help="That every bound of the certificate holds at once.")] = 0.95,
    episodes: Annotated[WholeNumber, Parameter(help="Fresh episodes of each policy.")] = 10_000,
    method: Annotated[str | None, Parameter(help="Whose policies; mc-cpo's, or those of the only method.")] = None,
    policy: Annotated[WholeNumber | None, Parameter(help="The policy of one seed, from 0 on; all by default.")] = None,
    part: Annotated[str | None, Parameter(help="The part of the run, where it has several.")] = None,
    estimation_error: Annotated[
        float, Parameter(help="The standard deviation σ of the mastery that the policies will see around the true one.")
    ] = 0.0,
    most_violations: Annotated[
        float | None,
        Parameter(
            help="The share of steps that may teach what the learner is not ready for. By default it is what --ready "
            "left open in training, else 0.01. There is no limit where such steps cannot occur."
        ),
    ] = None,
    on: Annotated[
        str | None,
        Parameter(
            help="The environments to certify in, joined by commas: a name, or the judge.json of a prepared folder. "
            "By default that of training, and every judge of the prepared folder that the run was trained in."
        ),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Bound what the policies of a run cost, from fresh episodes, and exit 0 only if every bound is within its budget.

    The bounds hold with the confidence given, all at once and for any number of episodes: what falls short may be tried
    with more. The chance of error is shared over all methods, parts and seeds of the run, and over all environments
    that they were ever certified in. Every certificate is kept in the run's folder, passed or not, beside the earlier
    ones, and shown in the run's report. With the learners of a judge, budgets are the same shares of what the run's
    unconstrained policies cost there.
    """
    from mccpo.cli.commands.report import refresh
    from mccpo.experiments import certificates
    from mccpo.experiments import certify as experiment

    cache.use()
    terms = experiment.Terms(confidence, episodes, policy, estimation_error, most_violations)
    if on is None:
        environments, notes = certificates.all_environments(run, method, part)
        for line in notes:
            note(line)
    else:
        environments = [name.strip() for name in on.split(",")]
    with progress() as show:
        made = certificates.certify_run(run, terms, method=method, part=part, on=environments, progress=show)
    refresh(run)
    emit(_document(made), as_json=json, text=lambda: "\n\n".join(_texts(made)))
    _fail_where_not_kept([certificate for certificate, _ in made])


def _document(made: Sequence[tuple[Certificate, Path]]) -> dict[str, Any]:
    """The first certificate, and those of further environments beside it."""
    (first, _), *others = made
    judges = {judged.on: judged.as_json() for judged, _ in others}
    return {**first.as_json(), **({"judges": judges} if judges else {})}


def _texts(made: Sequence[tuple[Certificate, Path]]) -> Iterator[str]:
    for certificate, path in made:
        yield _text(certificate, path)
    if len(made) > 1:
        kept = sum(certificate.passed for certificate, _ in made)
        floors = "; floors are asked for with the learners of training alone" if made[0][0].floors else ""
        yield f"kept with {kept} of {len(made)} kinds of learners{floors}"


def _fail_where_not_kept(certificates: Sequence[Certificate]) -> None:
    """Exits 3 where any certificate is not passed: says what is missing, for every kind of learners, and the remedy."""
    from mccpo.experiments import certify as experiment

    lines = [
        f"with the learners of {one.on}, {short}" if one.on else short
        for one in certificates
        if (short := experiment.shortfall(one)) is not None
    ]
    if lines:
        raise GateFailed("; and ".join(lines))


def _text(certificate: Certificate, path: Path) -> str:
    count = len(certificate.policies)
    policies = f"{count} policies" if count > 1 else f"policy {certificate.policies[0].policy}"
    verdict = "passed" if certificate.passed else "not passed"
    good = sum(policy.passed for policy in certificate.policies)
    each = certificate.correction
    assert each is not None  # every certificate that is made says how its confidence is shared out
    lines = [
        f"{certificate.method} in {certificate.part}{f' on {certificate.on}' if certificate.on else ''}: {verdict} at "
        f"{certificate.confidence:.4g} confidence",
        f"{policies} ({good} passed), {certificate.episodes:,} fresh episodes each; "
        f"{each.claims} bounds, each at {each.confidence_of_each:.6g} so that all hold at once",
        _family(each),
    ]
    if certificate.budgets:
        lines += ["", f"{'':<6}{'budget':>12}{'at most':>12}{'mean':>12}{'normal':>12}   of policy"]
    for name, bound in certificate.budgets.items():
        numbers = "".join(f"{number:>12.5g}" for number in (bound.budget, bound.bound, bound.mean, bound.normal))
        lines.append(f"{name:<6}{numbers}   {bound.policy}{'' if bound.passed else '   above its budget'}")
    if certificate.floors:
        lines += ["", f"{'':<16}{'floor':>12}{'at least':>12}{'mean':>12}{'normal':>12}   of policy"]
    for name, bound in certificate.floors.items():
        numbers = "".join(f"{number:>12.5g}" for number in (bound.budget, bound.bound, bound.mean, bound.normal))
        lines.append(f"{name:<16}{numbers}   {bound.policy}{'' if bound.passed else '   below its floor'}")
    if certificate.budgets or certificate.floors:
        lines.append(_NORMAL)
    readiness = [] if certificate.prerequisite is None else [_readiness(certificate.prerequisite)]
    return "\n".join([*lines, "", *readiness, f"certificate: {path}"])


def _family(correction: Correction) -> str:
    """What the chance of error is shared over."""
    family = correction.family
    if family is None:
        return ""
    where = ", ".join(family.environments)
    return (
        f"the chance of error is shared over {family.policies} policies of the run ({', '.join(family.methods)}) and "
        f"the environments looked at so far ({where}); this environment has {family.share:.3g} of it"
    )


def _readiness(bound: Readiness) -> str:
    counted = f"prerequisites: {bound.violations:,} of {bound.steps:,} steps taught what was not ready"
    if bound.structural:
        return f"{counted}: {bound.reason}"
    limit = "" if bound.budget is None else f", limit {bound.budget:.5g}"
    return f"{counted}, at most {bound.bound:.5g} of policy {bound.policy}{limit}\n({bound.reason})"
