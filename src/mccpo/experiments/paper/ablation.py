"""What each addition of MC-CPO brings: MC-CPO, the paper's, and MC-CPO with one part taken away at a time.

Every row has the policy that its method selects and, under 'last iterate', the one that its training ended with. Both
come from the same training. A method that selects plays validation episodes besides: how many steps these take stands
beside the steps of training, and one row has both together within what the others have for training alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mccpo.env import Constraints, Environment, make, needs_data
from mccpo.errors import InputError
from mccpo.evaluation import Difference, Summary, paired, summarise
from mccpo.experiments import measuring
from mccpo.experiments.options import Options, Session
from mccpo.experiments.prepare.environments import data_folder
from mccpo.experiments.problem import ANCHOR, Problem, pose
from mccpo.experiments.table import NOTE_EVALUATED, Produced, description, neural_protocol
from mccpo.experiments.tables import register_table
from mccpo.experiments.training import Lot, Trained, train_stage
from mccpo.methods import (
    ITERATIONS,
    METHODS,
    PAPER_METHODS,
    GradientEntry,
    MethodSpec,
    NetworkPolicies,
    NeuralPlan,
    NeuralProgress,
    NeuralRuns,
    PPOSettings,
    PrimalDual,
    Variant,
    method_arrays,
    method_spec,
    validation_steps,
)
from mccpo.runs.results import Results, Row, Rows, Setting

PREFIX = "ablation-"
KAPPA = 0.7
"""The share of the unconstrained costs: the middle one of the benchmark."""
STEPS = {"tutor-15": 300_000, "random-curricula": 300_000, "assistments-2009": 100_000}
"""The environments, and how many steps a run has on each unless --steps says otherwise."""
RULES = ("random-ready", "mastery-learning", "zpdes")
OURS, UNSELECTED, COUNTED = "mc-cpo", "mc-cpo-no-selection", "mc-cpo-counted"
TESTED = ("return", "dK", "excess_last")
_OF_LAST = (
    *("return", "dK", "mastered", "satisfaction", "satisfaction_strict", "excess"),
    *("prerequisite_violation_rate", "true_violation_rate"),
)
_SHOWN = (*_OF_LAST, "training_steps", "validation_steps", "J_")

NOTE_PARTS = (
    "Each row but the first is MC-CPO with one part taken away; `mc-cpo-frontier` has one more, since MC-CPO itself "
    "mixes in no frontier where a network learns. `mc-cpo-no-selection` is trained as `mc-cpo` is, seed by seed: its "
    "policies are the last ones of that."
)
NOTE_COUNTED = (
    "A method that selects plays validation episodes, which are steps of the environment, too. `mc-cpo-counted` is "
    "MC-CPO trained for so few steps that these and those of validation together are no more than the other rows have "
    "for training alone."
)


@dataclass(frozen=True, eq=False)
class Ablated:
    """A row of the table that is trained: a method as data, and its numbers."""

    name: str
    spec: MethodSpec
    settings: PPOSettings

    def built(self, env: Environment[Any]) -> PrimalDual:
        return PrimalDual(method_arrays(self.spec, env), settings=self.settings, shared=self.spec.shared)

    def trained(self, env: Environment[Any], runs: NeuralRuns, at: int, *, last: bool) -> Trained:
        """What training gave it: the policies it selected, or those that training ended with."""
        policies = NetworkPolicies(self.built(env), (runs.last if last else runs.selected)[at])
        progress = NeuralProgress(*(np.asarray(values)[at] for values in runs.curves))
        return Trained(self.name, self.spec, policies, progress, runs.multipliers[at])


def ablated() -> tuple[Ablated, ...]:
    """MC-CPO, the paper's, and MC-CPO with one part changed."""
    ours, settings = method_spec(OURS), PPOSettings()

    def named(name: str) -> Ablated:
        entry = METHODS[name]
        assert isinstance(entry, GradientEntry)
        return Ablated(name, method_spec(name), entry.settings or settings)

    def without(part: str, **numbers: Any) -> Ablated:
        return Ablated(f"{OURS}-no-{part}", ours, settings._replace(**numbers))

    return (
        named("mc-cpo-paper"),
        Ablated(f"{OURS}-plain-network", replace(ours, shared=False), settings),
        named(OURS),
        without("proportional", rule=settings.rule._replace(proportional=0.0)),
        without("foresight", foresight=0.0),
        without("averaging", averaging=0.0),
        without("margin", tighten=0.0, aside=0.0, caution=0.0, look_caution=0.0),
        Ablated(f"{OURS}-no-mask", replace(ours, masked=False), settings),
        named("mc-cpo-frontier"),
    )


def produce(environment: str, options: Options, session: Session) -> Produced:
    """Trains every row on one environment at one κ."""
    if options.budgets or options.parameters or options.methods != PAPER_METHODS:
        raise InputError(
            "an ablation has methods and budgets of its own", fix="leave --methods, --budget and --set out"
        )
    kappa = options.only_kappa(table_of(environment)) or KAPPA
    plan = replace(options, steps=options.steps or STEPS[environment]).neural_plan(environment)
    env = make(environment)
    problem = pose(env, plan, session)
    constraints = problem.constraints(kappa)
    rows = _rows(problem, constraints, session)
    results = Results(
        table=table_of(environment),
        title=f"What each addition of MC-CPO brings on {environment}",
        settings=(Setting(environment, budgets=constraints.budgets, rows=rows),),
        protocol=neural_protocol(plan, kappa=kappa),
        environment=description(env),
        tests=compared(rows),
        notes=(NOTE_EVALUATED, NOTE_PARTS, NOTE_COUNTED),
        finding=finding(rows),
        parts={environment: environment},
    )
    return Produced(results, {})


def table_of(environment: str) -> str:
    """The name of the table of an environment."""
    return f"{PREFIX}{environment}"


def lacks_data(table: str) -> bool:
    """Whether a table is one of these whose environment is made of data that are not here."""
    environment = table.removeprefix(PREFIX)
    return table.startswith(PREFIX) and needs_data(environment) and data_folder(None) is None


for _environment in STEPS:
    register_table(table_of(_environment))(partial(produce, _environment))


def _rows(problem: Problem, constraints: Constraints, session: Session) -> dict[str, Row]:
    """What every method is worth on one environment; rules and the unconstrained policies stand beside."""
    plan, env = problem.training, problem.env
    cost = validation_steps(env, plan)
    rows: dict[str, Row] = {}
    for shared in (False, True):
        alike = [one for one in ablated() if one.spec.shared == shared]
        runs = _train(env, alike, constraints, plan, f"ablation {env.name} {_network(shared)}", session)
        for at, one in enumerate(alike):
            rows[one.name] = _row(problem, one, runs, at, constraints, plan, cost)
    rows[UNSELECTED] = _unselected(rows[OURS], plan)
    short = counted_plan(env, plan)
    if short is not None:
        one = replace(next(one for one in ablated() if one.name == OURS), name=COUNTED)
        runs = _train(env, [one], constraints, short, f"ablation {env.name} counted", session)
        rows[COUNTED] = _row(problem, one, runs, 0, constraints, short, validation_steps(env, short))
    beside = measuring.train(problem, (ANCHOR, *RULES), constraints, f"ablation {env.name} rules", session)
    for name, method in beside.items():
        row = measuring.row(problem, method, constraints)
        rows[name] = row | {"excess": _excess(row, constraints)}
    return {name: _shown(rows[name]) for name in _order(rows)}


def _shown(row: Row) -> Row:
    """What the table is about; there are too many rows for all else that is known of each."""
    return {metric: cell for metric, cell in row.items() if metric.startswith(_SHOWN)}


def _network(shared: bool) -> str:
    return "shared" if shared else "plain"


def _order(rows: Rows) -> list[str]:
    """The paper's, ours, ours with a part changed, then what stands beside."""
    first = ["mc-cpo-paper", OURS, UNSELECTED, COUNTED]
    beside = [ANCHOR, *RULES]
    parts = [name for name in rows if name not in (*first, *beside)]
    return [name for name in (*first, *parts, *beside) if name in rows]


def _train(
    env: Environment[Any],
    alike: list[Ablated],
    constraints: Constraints,
    plan: NeuralPlan,
    label: str,
    session: Session,
) -> NeuralRuns:
    variants = [Variant(one.built(env), dict(constraints.amounts)) for one in alike]
    return train_stage(Lot(env, variants, [one.name for one in alike], plan, label), session)


def _row(
    problem: Problem,
    one: Ablated,
    runs: NeuralRuns,
    at: int,
    constraints: Constraints,
    plan: NeuralPlan,
    validation: int,
) -> Row:
    """What the selected policies are worth, the last ones, and how many steps went into both."""
    selects = one.settings.selecting > 0
    row = measuring.row(problem, one.trained(problem.env, runs, at, last=False), constraints)
    row["excess"] = _excess(row, constraints)
    last = row
    if selects:
        last = measuring.measured(problem, one.trained(problem.env, runs, at, last=True), constraints)
        last["excess"] = _excess(last, constraints)
    ended = {f"{metric}_last": cell for metric, cell in last.items() if metric in _OF_LAST}
    return row | ended | _steps(plan, validation if selects else 0)


def _unselected(ours: Row, plan: NeuralPlan) -> Row:
    """MC-CPO without selection: its training is the same, and its policies are the last ones."""
    last = {metric: cell for metric, cell in ours.items() if metric.endswith("_last")}
    return {metric.removesuffix("_last"): cell for metric, cell in last.items()} | last | _steps(plan, 0)


def _steps(plan: NeuralPlan, validation: int) -> dict[str, Summary]:
    counts = {"training_steps": _trained_steps(plan), "validation_steps": validation}
    return {metric: summarise([float(count)] * plan.seeds) for metric, count in counts.items()}


def _trained_steps(plan: NeuralPlan) -> int:
    return plan.iterations * plan.sizes.steps


def counted_plan(env: Environment[Any], plan: NeuralPlan) -> NeuralPlan | None:
    """The longest plan whose steps of training and validation are together no more than those of training by `plan`.

    None where even the shortest has more.
    """
    fits = None
    for points in range(1, plan.points + 1):
        short = replace(plan, steps=points * ITERATIONS * plan.sizes.steps)
        if _trained_steps(short) + validation_steps(env, short) <= _trained_steps(plan):
            fits = short
    return fits


def _excess(row: Row, constraints: Constraints) -> Summary:
    """The largest relative excess over a budget, seed by seed; negative is below all of them."""
    over = [np.array(row[f"J_{name}"].per_seed) / budget - 1 for name, budget in constraints.budgets.items()]
    return summarise(np.max(over, axis=0))


def compared(rows: Rows) -> dict[str, Difference]:
    """Every row that was trained under the budgets against MC-CPO, seed by seed."""
    return {
        test_name(name, metric): paired(rows[OURS][metric].per_seed, row[metric].per_seed)
        for name, row in rows.items()
        for metric in TESTED
        if name not in (OURS, ANCHOR, *RULES) and len(row[metric].per_seed) > 1
    }


def test_name(variant: str, metric: str) -> str:
    """What the test of a metric between MC-CPO and a variant is called."""
    return f"{OURS} vs {variant}, {metric}"


def finding(rows: Rows) -> str:
    """How often each row meets all budgets: by the policy it selects, and by the last one."""
    return f"Seeds that meet all budgets: {', '.join(_counts(rows))}."


def _counts(rows: Rows) -> Iterator[str]:
    for name, row in rows.items():
        met, last = row["satisfaction_strict"], row.get("satisfaction_strict_last")
        both = f" (last {sum(last.per_seed):g})" if last is not None else ""
        yield f"{name} {sum(met.per_seed):g} of {len(met.per_seed)}{both}"
