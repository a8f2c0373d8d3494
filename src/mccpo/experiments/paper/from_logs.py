"""The tables from logs: policies trained with learners of one kind, judged by learners of another."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mccpo.env import Constraints
from mccpo.errors import InputError
from mccpo.evaluation import Curves
from mccpo.experiments import feasibility, measuring
from mccpo.experiments.finite import tests
from mccpo.experiments.options import Options, Session, kappa_text
from mccpo.experiments.paper import reported as paper
from mccpo.experiments.prepare.datasets import DATASETS, Dataset, retained
from mccpo.experiments.problem import Problem, pose_neural
from mccpo.experiments.table import NOTE_EVALUATED, Produced, beside_paper, description, neural_protocol
from mccpo.logs import ema
from mccpo.logs.audit import audit
from mccpo.runs.results import Decoupling, FromLogs, Results, Setting

PAPER_KAPPA = 0.9
BY_JUDGE = "judged by others"

NOTE_KINDS = (
    "Policies are trained with learners as knowledge tracing saw one half of the learners in the logs. Under "
    f"'{BY_JUDGE}' the same policies meet learners as performance factors saw the other half; budgets there are the "
    "same share κ of what the unconstrained policies cost there, and ΔK is the change of the chance of a right answer."
)
NOTE_XES3G5M = (
    "The paper's row of this data set is, digit for digit, that of its simulated tutor with 15 concepts, at another "
    "horizon than this data has; it is shown, and not taken for a measurement on this data."
)


def produce(name: str, data: Path, options: Options, session: Session) -> Produced:
    """Makes environments of a data set, trains the methods, and judges them in both."""
    check(name, options)
    dataset = DATASETS[name](data, options.seed)
    env = dataset.prepared.tutor
    problem = pose_neural(env, options, session)
    settings: list[Setting] = []
    curves: dict[str, Curves] = {}
    for kappa in options.kappa or (PAPER_KAPPA,):
        part = f"{name} {kappa_text(kappa)}"
        both, curves[part] = _level(name, problem, dataset, kappa, options, session)
        settings += both
    results = Results(
        table=name,
        title=f"{name}: an environment made from logs",
        settings=tuple(settings),
        protocol=neural_protocol(problem.training, gamma=env.gamma, horizon=env.horizon),
        environment=description(env),
        tests={f"{setting.name}: {pair}": test for setting in settings for pair, test in tests(setting.rows).items()},
        notes=_notes(name, dataset),
        parts={part: part for part in curves},
        data=_data(name, dataset),
    )
    return Produced(results, curves)


def check(name: str, options: Options) -> None:
    """Refuses what `produce` would refuse, before logs are read."""
    if options.budgets or options.parameters:
        raise InputError(
            f"reproduce {name} sets budgets by κ, on the environment that the data gives",
            fix="run `mccpo prepare` and then `mccpo compare FOLDER` with your own",
        )
    options.neural_plan(name)


def _level(
    name: str, problem: Problem, dataset: Dataset, kappa: float, options: Options, session: Session
) -> tuple[tuple[Setting, Setting], Curves]:
    """What the methods do at one κ, where they were trained and where they are judged by others; and their curves."""
    part, budgets = f"{name} {kappa_text(kappa)}", problem.budgets(kappa, {})
    constraints = Constraints(budgets)
    trained = measuring.train(problem, options.methods, constraints, part, session, kappa)
    measuring.keep(problem, trained, constraints, part, session)
    outcome = measuring.watched(problem, trained, constraints)
    unmet = feasibility.examine(problem, outcome.rows, constraints, part, session)
    stated = paper.rows(name) if name in paper.tables() and kappa == PAPER_KAPPA else {}
    supplement = replace(outcome.supplement(), unmet=unmet)
    here = beside_paper(part, budgets, outcome.rows, stated, supplement=supplement)
    rows, elsewhere = measuring.measured_elsewhere(problem, trained, dataset.prepared.judge, kappa)
    return (here, Setting(f"{part}, {BY_JUDGE}", elsewhere, rows)), outcome.curves


def _notes(name: str, dataset: Dataset) -> tuple[str, ...]:
    doubts = (f"Warning: {line}." for line in dataset.prepared.document.warnings)
    return (NOTE_EVALUATED, NOTE_KINDS, *dataset.notes, *doubts, *([NOTE_XES3G5M] if name == "xes3g5m" else []))


def _data(name: str, dataset: Dataset) -> FromLogs:
    document = dataset.prepared.document.as_json()
    return FromLogs(
        graph=document["graph"],
        events=document["events"],
        episodes=document["episodes"],
        learners=document["learners"],
        engagement=document["engagement"],
        account=dataset.logs.account.as_json(),
        decoupling=prevalence(dataset),
        in_paper=paper.prevalence(name),
    )


def prevalence(dataset: Dataset) -> tuple[Decoupling, ...]:
    """How often answers were right and brought no gain, by the platform's signal where there is one, and by EMA."""
    average = ema(dataset.logs.table)
    gains = {"ema": average["after"] - average["before"]}
    rates = audit(dataset.logs.table, gains, retained=retained(dataset), by=()).prevalence
    return tuple(Decoupling(rate.measure, rate.population, rate.of, **rate.rate._asdict()) for rate in rates)
