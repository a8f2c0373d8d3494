"""The tables from logs: by the paper's protocol where it has one, and by ours.

*The paper's protocol* takes from the logs the graph, the retained episodes and their mean length; everything else is
the simulator's: η = 0.08, θ = 0.7, K₀, r_E and the costs of `tutor-15`. Only its rows stand beside the paper's. *Ours*
fits learners, demands and engagement to the logs, and has policies judged by learners of another kind.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mccpo.curriculum import Curriculum
from mccpo.env import Constraints, Tutor
from mccpo.env.tutor import profile_curriculum
from mccpo.errors import InputError
from mccpo.evaluation import Curves
from mccpo.experiments import feasibility, measuring
from mccpo.experiments.finite import tests
from mccpo.experiments.options import Options, Session, kappa_text
from mccpo.experiments.paper import reported as paper
from mccpo.experiments.prepare.datasets import DATASETS, Dataset, retained
from mccpo.experiments.problem import Problem, pose_neural
from mccpo.experiments.table import NOTE_EVALUATED, Produced, beside_paper, description, neural_protocol
from mccpo.experiments.training import Trained
from mccpo.logs import ema
from mccpo.logs.audit import audit
from mccpo.runs.results import Decoupling, FromLogs, Results, Setting

PAPER_KAPPA = 0.9
BY_JUDGE = "judged by others"
PAPERS, OURS = "the paper's protocol", "our protocol"

NOTE_KINDS = (
    "Policies are trained with learners as knowledge tracing saw one half of the learners in the logs. Under "
    f"'{BY_JUDGE}' the same policies meet learners as performance factors saw the other half; budgets there are the "
    "same share κ of what the unconstrained policies cost there, and ΔK is the change of the chance of a right answer."
)
NOTE_PROTOCOLS = (
    f"Under '{PAPERS}' the graph, the retained episodes and the horizon come from the logs, by the paper's filters; "
    "η = 0.08, θ = 0.7, K0, r_E and the costs are the simulator's, and demands are spaced evenly from 0.2 to 0.9 along "
    "the graph, since the paper states none. Its mastery by EMA (α = 0.08) is that of the prevalence. Verdicts stand "
    f"here only. Under '{OURS}' learners, demands and engagement are fitted to the logs."
)
NOTE_XES3G5M = (
    "The paper's row of this data set is, digit for digit, that of its simulated tutor with 15 concepts, at another "
    "horizon than this data has; it is shown, and not taken for a measurement on this data."
)


def produce(name: str, data: Path, options: Options, session: Session) -> Produced:
    """Makes environments of a data set, trains the methods, and judges them in both."""
    check(name, options)
    dataset = DATASETS[name](data, options.seed)
    env, reported = dataset.prepared.tutor, name in paper.tables()
    settings: list[Setting] = []
    curves: dict[str, Curves] = {}
    if reported:
        problem = pose_neural(paper_tutor(dataset), options, session)
        for kappa in options.kappa or (PAPER_KAPPA,):
            part = f"{name}, {PAPERS} {kappa_text(kappa)}"
            stated = paper.rows(name) if kappa == PAPER_KAPPA else {}
            here, _, curves[part] = _level(part, problem, kappa, stated, options, session)
            settings.append(here)
    problem = pose_neural(env, options, session)
    for kappa in options.kappa or (PAPER_KAPPA,):
        part = f"{name}, {OURS} {kappa_text(kappa)}" if reported else f"{name} {kappa_text(kappa)}"
        here, trained, curves[part] = _level(part, problem, kappa, {}, options, session)
        rows, elsewhere = measuring.measured_elsewhere(problem, trained, dataset.prepared.judge, kappa)
        settings += [here, Setting(f"{part}, {BY_JUDGE}", elsewhere, rows)]
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


def paper_tutor(dataset: Dataset) -> Tutor:
    """The environment of the paper's protocol: the graph and the horizon of the data, all else the simulator's."""
    ours = dataset.prepared.tutor
    graph = ours.curriculum
    demand = profile_curriculum(len(graph)).demand
    return Tutor(curriculum=Curriculum.from_edges(graph.edges, graph.concepts, demand), horizon=ours.horizon)


def _level(
    part: str, problem: Problem, kappa: float, stated: paper.Rows, options: Options, session: Session
) -> tuple[Setting, dict[str, Trained], Curves]:
    """What the methods do at one κ where they were trained, beside what the paper states; and their curves."""
    budgets = problem.budgets(kappa, {})
    constraints = Constraints(budgets)
    trained = measuring.train(problem, options.methods, constraints, part, session, kappa)
    measuring.keep(problem, trained, constraints, part, session)
    outcome = measuring.watched(problem, trained, constraints, part, session)
    unmet = feasibility.examine(problem, outcome.rows, constraints, part, session)
    supplement = replace(outcome.supplement(), unmet=unmet)
    return beside_paper(part, budgets, outcome.rows, stated, supplement=supplement), trained, outcome.curves


def _notes(name: str, dataset: Dataset) -> tuple[str, ...]:
    doubts = (f"Warning: {line}." for line in dataset.prepared.document.warnings)
    protocols = [NOTE_PROTOCOLS] if name in paper.tables() else []
    simulated = [NOTE_XES3G5M] if name == "xes3g5m" else []
    return (NOTE_EVALUATED, *protocols, NOTE_KINDS, *dataset.notes, *doubts, *simulated)


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
