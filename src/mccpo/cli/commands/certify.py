"""`mccpo certify`: may the policies of a run be released?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from mccpo.cli.console.output import JsonFlag, WholeNumber, emit
from mccpo.cli.console.progress import progress
from mccpo.errors import GateFailed, InputError

if TYPE_CHECKING:
    from mccpo.experiments import Policies
    from mccpo.runs.results import Certificate, Readiness


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
            help="The share of steps that may teach what the learner is not ready for. By default there is a limit "
            "where such steps can occur, by an estimate of mastery or a method with neither mask nor filter: what "
            "--ready left when it was trained, else 0.01."
        ),
    ] = None,
    on: Annotated[
        str | None,
        Parameter(help="Another environment than that of training, such as the judge.json of a prepared folder."),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Bound what the policies of a run cost, from fresh episodes, and exit 0 only if every bound is within its budget.

    The bounds hold with the confidence given, all at once and for any number of episodes: what falls short may be tried
    with more. The certificate is written into the run's folder, passed or not. With --on, budgets are the same shares
    of what the run's unconstrained policies cost there, and the file is named after the environment.
    """
    from mccpo.env import make
    from mccpo.experiments import certify as experiment
    from mccpo.experiments import evaluate, load_policies
    from mccpo.methods import EVALUATION_EPISODES

    terms = experiment.Terms(confidence, episodes, policy, estimation_error, most_violations)
    saved = load_policies(run)
    policies = _only(saved, method, part)
    if on is not None:
        policies = evaluate.moved(policies, make(on), saved, EVALUATION_EPISODES, policies.seed)
    with progress() as show:
        certificate = experiment.write_certificate(run, experiment.certify(policies, terms, show), on)
    emit(certificate.as_json(), as_json=json, text=lambda: _text(certificate, run / experiment.document_of(on)))
    if (missing := experiment.shortfall(certificate)) is not None:
        raise GateFailed(missing)


def _only(saved: list[Policies], method: str | None, part: str | None) -> Policies:
    """The policies of one method in one part."""
    from mccpo.experiments import evaluate

    chosen = evaluate.choose(saved, method or evaluate.preferred(kept.method.name for kept in saved), part)
    if len(chosen) > 1:
        parts = ", ".join(f"'{policies.part}'" for policies in chosen)
        raise InputError("the run has several parts", fix=f"name one with --part: {parts}")
    return chosen[0]


def _text(certificate: Certificate, path: Path) -> str:
    count = len(certificate.policies)
    policies = f"{count} policies" if count > 1 else f"policy {certificate.policies[0].policy}"
    verdict = "passed" if certificate.passed else "not passed"
    good = sum(policy.passed for policy in certificate.policies)
    each = certificate.correction
    assert each is not None  # every certificate that is made says how its confidence is shared out
    lines = [
        f"{certificate.method} in {certificate.part}: {verdict} at {certificate.confidence:.4g} confidence",
        f"{policies} ({good} passed), {certificate.episodes:,} fresh episodes each; "
        f"{each.claims} bounds, each at {each.confidence_of_each:.6g} so that all hold at once",
        "",
    ]
    if certificate.budgets:
        lines += [f"{'':<6}{'budget':>12}{'at most':>12}{'mean':>12}{'normal':>12}   of policy"]
    for name, bound in certificate.budgets.items():
        numbers = "".join(f"{number:>12.5g}" for number in (bound.budget, bound.bound, bound.mean, bound.normal))
        lines.append(f"{name:<6}{numbers}   {bound.policy}{'' if bound.passed else '   above its budget'}")
    if certificate.floors:
        lines += ["", f"{'':<16}{'floor':>12}{'at least':>12}{'mean':>12}{'normal':>12}   of policy"]
    for name, bound in certificate.floors.items():
        numbers = "".join(f"{number:>12.5g}" for number in (bound.budget, bound.bound, bound.mean, bound.normal))
        lines.append(f"{name:<16}{numbers}   {bound.policy}{'' if bound.passed else '   below its floor'}")
    readiness = [] if certificate.prerequisite is None else [_readiness(certificate.prerequisite)]
    return "\n".join([*lines, "", *readiness, f"certificate: {path}"])


def _readiness(bound: Readiness) -> str:
    counted = f"prerequisites: {bound.violations:,} of {bound.steps:,} steps taught what was not ready"
    if bound.structural:
        return f"{counted}: {bound.reason}"
    limit = "" if bound.budget is None else f", limit {bound.budget:.5g}"
    return f"{counted}, at most {bound.bound:.5g} of policy {bound.policy}{limit}\n({bound.reason})"
