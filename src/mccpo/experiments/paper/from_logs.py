"""The tables from logs: policies trained with learners of one kind, judged by learners of another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mccpo.errors import InputError
from mccpo.evaluation import Curves
from mccpo.experiments import feasibility, neural
from mccpo.experiments.finite import tests
from mccpo.experiments.options import Options, Session, kappa_text
from mccpo.experiments.paper import reported as paper
from mccpo.experiments.paper.verdicts import verdicts
from mccpo.experiments.prepare.datasets import DATASETS, Dataset, retained
from mccpo.experiments.table import NOTE_JUDGED, Produced, description, neural_protocol, reported
from mccpo.logs import ema
from mccpo.logs.audit import audit

PAPER_KAPPA = 0.9
JUDGED = "judged by others"

NOTE_KINDS = (
    "Policies are trained with learners as knowledge tracing saw one half of the learners in the logs. Under "
    f"'{JUDGED}' the same policies meet learners as performance factors saw the other half; budgets there are the same "
    "share κ of what the unconstrained policies cost there, and ΔK is the change of the chance of a right answer."
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
    anchored = neural.anchor(env, options, session)
    settings: dict[str, Any] = {}
    curves = {}
    for kappa in options.kappa or (PAPER_KAPPA,):
        part = f"{name} {kappa_text(kappa)}"
        levels, curves[part] = _level(name, anchored, dataset, kappa, options, session)
        settings |= {part + where: level for where, level in levels.items()}
    document = dataset.prepared.document.as_json()
    told = {key: document[key] for key in ("graph", "events", "episodes", "learners", "engagement")}
    results = {
        "table": name,
        "title": f"{name}: an environment made from logs",
        "protocol": neural_protocol(anchored.plan, gamma=env.gamma, horizon=env.horizon),
        "environment": description(env),
        "data": told
        | {
            "account": dataset.logs.account.as_json(),
            "decoupling": prevalence(dataset),
            "decoupling in the paper": paper.prevalence(name),
        },
        "settings": settings,
        "parts": {part: part for part in curves},
        "tests": {
            f"{where}: {test}": result for where, one in settings.items() for test, result in tests(one["rows"]).items()
        },
        "notes": [NOTE_JUDGED, NOTE_KINDS, *dataset.notes, *([NOTE_XES3G5M] if name == "xes3g5m" else [])],
    }
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
    name: str, anchored: neural.Anchored, dataset: Dataset, kappa: float, options: Options, session: Session
) -> tuple[dict[str, dict[str, Any]], Curves]:
    """What the methods do at one κ, where they were trained and where they are judged by others; and their curves."""
    part, budgets = f"{name} {kappa_text(kappa)}", anchored.budgets(kappa, {})
    trained = neural.train(anchored, options.methods, budgets, part, session)
    neural.keep(anchored, trained, budgets, part, session)
    outcome = neural.watched(anchored, trained, budgets)
    why = feasibility.examine(anchored, outcome.rows, budgets, part, session)
    stated = paper.rows(name) if name in paper.tables() and kappa == PAPER_KAPPA else {}
    here = {
        "budgets": budgets,
        "rows": outcome.rows,
        "optimum": None,
        "paper": reported(stated, outcome),
        "verdicts": verdicts(outcome.rows, stated, {}, paper_seeds=10),
    }
    rows, elsewhere = neural.judged_elsewhere(anchored, trained, dataset.prepared.judge, kappa)
    there = {"budgets": elsewhere, "rows": rows, "optimum": None, "paper": {}, "verdicts": {}}
    return {"": here | outcome.shown() | why, f", {JUDGED}": there}, outcome.curves


def prevalence(dataset: Dataset) -> list[dict[str, Any]]:
    """How often answers were right and brought no gain, by the platform's signal where there is one, and by EMA."""
    average = ema(dataset.logs.table)
    gains = {"ema": average["after"] - average["before"]}
    return [one.as_json() for one in audit(dataset.logs.table, gains, retained=retained(dataset), by=()).prevalence]
