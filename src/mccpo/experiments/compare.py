"""The methods side by side on one environment, at one or several budget levels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mccpo.env import Environment, FiniteEnvironment, check_budgets, make
from mccpo.exact import Infeasible, front, solve
from mccpo.experiments import feasibility, measuring
from mccpo.experiments import requirements as rules
from mccpo.experiments.finite import Outcome, run, tests
from mccpo.experiments.floor_sentences import Said, split_sentences
from mccpo.experiments.floors import check_asked
from mccpo.experiments.options import Options, Session, describe, kappa_text
from mccpo.experiments.problem import DEFAULT_KAPPA, FINITE_KAPPA, BudgetedProblem, pose_finite, pose_neural
from mccpo.experiments.table import (
    NOTE_AVERAGED,
    NOTE_EVALUATED,
    Produced,
    description,
    front_points,
    fronts,
    neural_protocol,
    paper_points,
    protocol,
    solved_setting,
)
from mccpo.methods import sees_budgets
from mccpo.runs.results import BudgetLevel, FrontPoint, Results, Setting, TradeOff, UnmetBudgets

FRONT_POINTS = 21


def check(environment: str, options: Options) -> None:
    """Refuses what `produce` would refuse, before anything is trained."""
    env = make(environment, **options.parameters)
    options, _ = _with_floors(options)
    rules.check(options.requirements, env)
    if isinstance(env, FiniteEnvironment):
        options.plan(env)
        for kappa in options.kappa or (None,):
            _posed(env, kappa, options)
    else:
        check_asked(options.floors, env)
        options.neural_plan(environment)
        check_budgets(env.cost_names, options.budgets)


def produce(environment: str, options: Options, session: Session) -> Produced:
    """Trains and evaluates the methods on an environment; several κ give a front for each method."""
    return compare_on(environment, make(environment, **options.parameters), options, session)


def compare_on(name: str, env: Environment[Any], options: Options, session: Session) -> Produced:
    """The same on an environment that is made already; `name` is what its table is called."""
    options, said = _with_floors(options)
    rules.check(options.requirements, env)
    if isinstance(env, FiniteEnvironment):
        return _finite(name, env, options, said, session)
    return _neural(name, env, options, said, session)


def _with_floors(options: Options) -> tuple[Options, tuple[Said, ...]]:
    """The options with the floors that sentences ask for, and these sentences."""
    said, others = split_sentences(options.requirements)
    floors = (*options.floors, *(entry.floor for entry in said))
    return replace(options, floors=floors, requirements=others), said


def _finite(
    environment: str, env: FiniteEnvironment[Any], options: Options, said: tuple[Said, ...], session: Session
) -> Produced:
    levels: tuple[float | None, ...] = options.kappa or (None,)
    tasks = [_posed(env, kappa, options) for kappa in levels]
    plan = options.plan(env)
    outcomes: list[Outcome] = []
    for kappa, task in zip(levels, tasks, strict=True):
        names = _methods_at(options, first=not outcomes)
        label = _label(environment, kappa)
        outcomes.append(run(task, names, plan, label, session) if names else outcomes[0].without_rows())
    kappa = levels[0] if levels[0] is not None or env.fixed_budgets else FINITE_KAPPA
    results = Results(
        table=environment,
        title=_title(environment),
        settings=(solved_setting("", tasks[0], outcomes[0], {}, {}),),
        protocol=protocol(plan, **_shown(env, options)),
        environment=description(env),
        tests=tests(outcomes[0].rows),
        notes=(NOTE_AVERAGED,),
        level=BudgetLevel(kappa),
        requirements=tuple(entry.explain(tasks[0].constraints) for entry in said) or None,
        tradeoff=TradeOff(fronts(options.methods, levels, outcomes), optimum=_front(tasks[0])),
    )
    return Produced(results, {environment: outcomes[0].curves})


def _neural(
    environment: str, env: Environment[Any], options: Options, said: tuple[Said, ...], session: Session
) -> Produced:
    levels: tuple[float | None, ...] = options.kappa or (None,)
    plan = options.neural_plan(environment)
    problem = pose_neural(env, options, session)
    # A rule may loosen the κ that nobody asked for, but neither a κ nor a budget that somebody did.
    numbers = problem.budgets(levels[0], options.budgets) if options.kappa else options.budgets
    asked = rules.translate(options.requirements, env, problem.anchor.costs, numbers, problem.budgets(None, {}))
    given = {**options.budgets, **asked.budgets}
    held = [problem.constraints(kappa, given) for kappa in levels]
    outcomes: list[Outcome] = []
    unmet: list[UnmetBudgets | None] = []
    for kappa, constraints in zip(levels, held, strict=True):
        names, label = _methods_at(options, first=not outcomes), _label(environment, kappa)
        outcome = (
            measuring.run(problem, names, constraints, label, session, kappa) if names else outcomes[0].without_rows()
        )
        outcomes.append(outcome)
        unmet.append(feasibility.examine(problem, outcome.rows, constraints, label, session))
    first = outcomes[0]
    shown = Setting(
        name="",
        budgets=held[0].budgets,
        floors=held[0].floors,
        rows=first.rows,
        supplement=replace(first.supplement(), unmet=unmet[0]),
    )
    # Why the budgets of the first level were not met is told by the setting, so its points leave it out.
    traced = fronts(options.methods, levels, outcomes, [None, *unmet[1:]])
    results = Results(
        table=environment,
        title=_title(environment),
        settings=(shown,),
        protocol=neural_protocol(plan, **_shown(env, options)),
        environment=description(env),
        tests=tests(first.rows),
        notes=(NOTE_EVALUATED,),
        level=BudgetLevel(DEFAULT_KAPPA if levels[0] is None and held[0].budgets else levels[0]),
        requirements=(*asked.explanations, *(entry.explain(held[0]) for entry in said)),
        parts={_label(environment, kappa): "" for kappa in levels},
        tradeoff=TradeOff(traced, paper=paper_points(environment, options)),
    )
    return Produced(results, {environment: first.curves})


def _posed(env: FiniteEnvironment[Any], kappa: float | None, options: Options) -> BudgetedProblem:
    return pose_finite(env, kappa=kappa, budgets=options.budgets, floors=options.floors, objective=options.objective)


def _shown(env: Environment[Any], options: Options) -> Mapping[str, object]:
    return {"gamma": env.gamma, "horizon": env.horizon} | describe(options.parameters)


def _methods_at(options: Options, *, first: bool) -> tuple[str, ...]:
    """A method without multipliers does not see the budgets: it is trained once, with the first."""
    return tuple(name for name in options.methods if first or sees_budgets(name))


def _label(environment: str, kappa: float | None) -> str:
    return environment if kappa is None else f"{environment} {kappa_text(kappa)}"


def _title(environment: str) -> str:
    return f"The methods on {environment}"


def _front(task: BudgetedProblem) -> tuple[FrontPoint, ...]:
    """The exact front: over the one budget there is, or over a common scaling of several."""
    if len(task.budgets) == 1:
        return front_points(task, front(task.model, next(iter(task.budgets)), points=FRONT_POINTS))
    solutions = []
    for scale in np.linspace(0.1, 2.0, FRONT_POINTS):
        optimum = solve(task.model, {name: float(scale) * budget for name, budget in task.budgets.items()})
        if not isinstance(optimum, Infeasible):
            solutions.append((float(scale), optimum))
    return front_points(task, solutions)
