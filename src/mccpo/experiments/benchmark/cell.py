"""A pair of a benchmark as a run: its table and its policies, to be evaluated, certified, reported and served."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mccpo.env import describe_environment
from mccpo.errors import InputError
from mccpo.evaluation import summarise_metrics
from mccpo.evaluation.policy import metrics_of
from mccpo.experiments.benchmark.protocol import Protocol
from mccpo.experiments.benchmark.trial import ANY_KAPPA, Trial
from mccpo.experiments.options import kappa_text
from mccpo.experiments.problem import Problem
from mccpo.experiments.saved_policies import Policies
from mccpo.experiments.table import NOTE_EVALUATED, description
from mccpo.methods import GradientEntry, MethodEntry, MethodSpec, RuleEntry
from mccpo.runs.results import Results, Row, Setting


def part_of(problem: Problem, kappa: float) -> str:
    """The name of a pair's part: what it was trained for."""
    return f"{problem.name} {kappa_text(kappa)}"


def as_table(problem: Problem, trial: Trial, protocol: Protocol) -> Results | None:
    """What came of a pair as a table, with a setting for each κ; None where it came to nothing."""
    settings = [
        Setting(part_of(problem, kappa), problem.limits(kappa), {trial.method: row}, floors=_floors(problem, kappa))
        for kappa in protocol.kappa
        if (row := _row(problem, trial, kappa))
    ]
    if not settings:
        return None
    plan = protocol.plan
    return Results(
        table=problem.name,
        title=f"{trial.method} on {problem.name}",
        settings=tuple(settings),
        protocol={"seeds": plan.seeds, "seed": plan.seed, "steps": plan.iterations * plan.sizes.steps},
        environment=description(problem.test),
        notes=(NOTE_EVALUATED,),
        parts={setting.name: setting.name for setting in settings},
    )


def policies_of(
    problem: Problem, trial: Trial, load: Callable[[str], MethodEntry], protocol: Protocol
) -> list[Policies]:
    """The policies of a pair as a run keeps them.

    There are none where it came to nothing, is a table of states, or could not be played again, since its environment
    is none that can be built from its parameters.
    """
    if trial.status != "done" or trial.kind not in ("learner", "tutor") or not _is_described(problem):
        return []
    entry = load(trial.method)
    spec = MethodSpec(trial.method, masked=True)
    if isinstance(entry, GradientEntry):
        spec = entry.spec or MethodSpec(trial.method, masked=True, constrained=entry.sees_budgets)
    told = isinstance(entry, GradientEntry) and entry.conditioned
    saved = []
    for kappa in protocol.kappa:
        parameters = trial.policies.get(kappa_text(kappa), trial.policies.get(ANY_KAPPA))
        if isinstance(entry, RuleEntry):
            parameters = np.zeros((protocol.seeds, 0), np.float32)
        if parameters is None or not np.isfinite(parameters).all():
            continue
        saved.append(
            Policies(
                part=part_of(problem, kappa),
                env=problem.env,
                method=spec,
                budgets=problem.budgets(kappa),
                floors=dict(problem.constraints(kappa).floors),
                anchor=problem.anchor,
                parameters=parameters,
                seed=protocol.seed,
                kappa=kappa if told else None,
            )
        )
    return saved


def _floors(problem: Problem, kappa: float) -> dict[str, float]:
    return dict(problem.constraints_at(kappa).floors)


def _is_described(problem: Problem) -> bool:
    """Whether the environment can be built again from what a run keeps of it."""
    try:
        describe_environment(problem.env)
    except InputError:
        return False
    return True


def _row(problem: Problem, trial: Trial, kappa: float) -> Row:
    """Every metric over the seeds that came to something."""
    held = problem.constraints_at(kappa)
    seeds = [
        metrics_of(values, problem.reference, problem.test, held)
        for values in trial.values.get(kappa, [])
        if values is not None
    ]
    return summarise_metrics(seeds) if seeds else {}
