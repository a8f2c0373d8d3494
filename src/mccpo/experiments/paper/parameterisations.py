"""Whether conclusions hang on the numbers of `tutor-15`: the paper's methods on other tutors that fit its facts.

`tutor-15` is one of many tutors that the paper's unconstrained row allows. Here are as many others as were drawn; see
`mccpo.experiments.paper.drawn_tutors` for what is drawn, from where, and what must hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice

import numpy as np

from mccpo.env import Constraints
from mccpo.errors import InputError
from mccpo.evaluation import Summary, summarise
from mccpo.experiments import measuring
from mccpo.experiments.options import Options, Session
from mccpo.experiments.paper.drawn_tutors import FACTS, RANGES, DrawnParameters, drawn_tutors
from mccpo.experiments.problem import ANCHOR, DEFAULT_KAPPA, Problem, worth
from mccpo.experiments.table import NOTE_EVALUATED, Produced, neural_protocol
from mccpo.experiments.tables import register_table
from mccpo.experiments.training import train_specs
from mccpo.methods import EVALUATION_EPISODES, NETWORK_METHODS, NeuralPlan, method_spec
from mccpo.runs.results import Instance, Results, Row, Rows, Setting

DRAWS = 32
SHARE, STEPS = 5, 200_000
"""A draw has one of so many seeds asked for, and runs of so many steps unless others are: there are many draws."""

ENVIRONMENT = (
    "Tutors of fifteen concepts whose graph, demands, K0, r_E, c2 and c4 are drawn at random, and kept where the "
    "policy that repeats the first concept has the figures of the paper's unconstrained row. What the paper states "
    "(η, θ, γ, the horizon) and the form of r_E, c2, c3 and c4 are those of tutor-15."
)
NOTE_DRAWS = (
    "The first draws of the root seed, none left out. Means are over all runs: every draw with every seed. 'Kept' and "
    "'First' are over draws. Every budget is κ times what the unconstrained policies of the same draw cost."
)
NOTE_SHORT = (
    f"A run has {STEPS:,} steps, a fifth of the paper's, unless --steps says otherwise. A draw has a fifth of the "
    "seeds asked for: 2 by default, 10 with --seeds 50."
)


@register_table("parameterisations")
def produce(options: Options, session: Session) -> Produced:
    """Trains the methods on every draw at one κ, and sums up over draws."""
    if options.budgets or options.parameters:
        raise InputError("parameterisations draws its environments", fix="leave --budget and --set out")
    kappa = options.only_kappa("parameterisations") or DEFAULT_KAPPA
    methods, plan = options.methods_or(NETWORK_METHODS), _plan(options)
    rows: dict[str, Rows] = {}
    instances: dict[str, Instance] = {}
    for number, drawn in enumerate(islice(drawn_tutors(plan.seed), DRAWS)):
        name = f"draw {number}"
        problem = _pose(name, drawn, plan, session)
        constraints = problem.constraints(kappa)
        trained = measuring.train(problem, methods, constraints, f"parameterisations {name}", session)
        rows[name] = {method: measuring.row(problem, one, constraints) for method, one in trained.items()}
        instances[name] = _instance(drawn, problem, constraints, rows[name])
    summed = {method: _row(method, rows, instances) for method in methods}
    results = Results(
        table="parameterisations",
        title=f"{DRAWS} tutors that fit the paper's facts as well as tutor-15",
        settings=(Setting("", budgets={}, rows=summed),),
        protocol=neural_protocol(plan, draws=DRAWS, kappa=kappa, facts=_facts(), ranges=RANGES),
        environment=ENVIRONMENT,
        notes=(NOTE_EVALUATED, NOTE_DRAWS, NOTE_SHORT),
        finding=finding(summed),
        instances=instances,
    )
    return Produced(results, {})


def _plan(options: Options) -> NeuralPlan:
    """How a draw is trained: a fifth of the seeds asked for, and of the paper's steps where nobody asks for others."""
    steps = STEPS if options.steps is None else options.steps
    return replace(options, steps=steps, seeds=max(1, options.seeds // SHARE)).neural_plan("parameterisations")


def _pose(name: str, drawn: DrawnParameters, plan: NeuralPlan, session: Session) -> Problem:
    """The problem of a draw; its stages are named by the draw, since all draws share the environment's name."""
    env = drawn.tutor()
    label = f"parameterisations {name} {ANCHOR}"
    runs = train_specs(env, [method_spec(ANCHOR)], Constraints(), plan, label, session)
    anchor = worth(env, runs.selected[0], episodes=EVALUATION_EPISODES, seed=plan.seed)
    return Problem(name, env, env, anchor, anchor, plan=plan, runs=runs)


def _facts() -> dict[str, list[float]]:
    """What must hold: the paper's figure, and how far from it a draw may lie."""
    return {metric: [fact.stated(metric), fact.within] for metric, fact in FACTS.items()}


_TOLD = ("return", "dK", "rhsi_ratio", "J_", "satisfaction", "prerequisite_violation_rate")


def _instance(drawn: DrawnParameters, problem: Problem, constraints: Constraints, rows: Rows) -> Instance:
    seeds = {
        method: {metric: cell.per_seed for metric, cell in row.items() if metric.startswith(_TOLD)}
        for method, row in rows.items()
    }
    parameters = drawn.as_json() | {"unconstrained return": problem.anchor.ret, "unconstrained dK": problem.anchor.gain}
    return Instance(dict(constraints.budgets), {}, seeds, parameters)


def _row(method: str, rows: Mapping[str, Rows], instances: Mapping[str, Instance]) -> dict[str, Summary]:
    """The metrics of a method over all runs, draw by draw and seed by seed, and over draws."""
    cells: dict[str, list[np.ndarray]] = {}
    for name, by_method in rows.items():
        row = {metric: np.array(cell.per_seed) for metric, cell in by_method[method].items()}
        drawn = instances[name].parameters
        row["return_share"] = row["return"] / drawn["unconstrained return"]
        row["dK_share"] = row["dK"] / drawn["unconstrained dK"]
        row["kept"] = np.array([float(_kept(by_method[method]))])
        row["first"] = np.array([float(method in _first(by_method))])
        for metric, values in row.items():
            cells.setdefault(metric, []).append(values)
    return {metric: summarise(np.concatenate(values)) for metric, values in cells.items()}


def _kept(row: Row) -> bool:
    return min(row["satisfaction_strict"].per_seed) == 1.0


def _first(rows: Rows) -> list[str]:
    """The methods that return most of those that meet the budgets in every seed; none where none does."""
    returns = {method: row["return"].mean for method, row in rows.items() if _kept(row)}
    return [method for method, value in returns.items() if value == max(returns.values())]


def finding(rows: Rows) -> str:
    """Who meets the budgets on how many draws, and who returns most there."""
    draws = len(next(iter(rows.values()))["kept"].per_seed)

    def counted(metric: str) -> str:
        return ", ".join(f"{method} {round(sum(row[metric].per_seed))}" for method, row in rows.items())

    shares = ", ".join(f"{method} {row['return_share'].mean:.3f}" for method, row in rows.items())
    return (
        f"Of {draws} draws, all budgets are met in every seed by: {counted('kept')}. The most is returned, of the "
        f"methods that meet them, by: {counted('first')}. Mean return as a share of the unconstrained: {shares}."
    )
