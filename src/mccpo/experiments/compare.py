"""The methods side by side on one environment, at one or several budget levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mccpo.env import Constraints, Environment, FiniteEnvironment, check_budgets, make
from mccpo.exact import Infeasible, Optimum, front, solve
from mccpo.experiments import feasibility, measuring, training
from mccpo.experiments.asked import requirements as rules
from mccpo.experiments.asked.floor_sentences import Said, split_sentences
from mccpo.experiments.asked.floors import check_asked
from mccpo.experiments.finite import Outcome, run, tests
from mccpo.experiments.options import Level, Options, Session, describe
from mccpo.experiments.problem import DEFAULT_KAPPA, FINITE_KAPPA, BudgetedProblem, Problem, pose_finite, pose_neural
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
from mccpo.methods import GradientEntry, RuleEntry, check_rule, method_entry, sees_budgets
from mccpo.runs.results import BudgetLevel, FrontPoint, Results, Setting, TradeOff, UnmetBudgets

FRONT_POINTS = 21


def check(environment: str, options: Options) -> None:
    """Refuses what `produce` would refuse, before anything is trained."""
    env = make(environment, **options.parameters)
    options, _ = _with_floors(options)
    rules.check(options.requirements, env)
    if isinstance(env, FiniteEnvironment):
        options.plan(env)
        for level in options.levels:
            _posed(env, level, options)
    else:
        check_asked(options.levels[0].floors, env)
        _check_rules(env, options)
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
    levels = options.levels
    tasks = [_posed(env, level, options) for level in levels]
    plan = options.plan(env)
    outcomes: list[Outcome] = []
    for level, task in zip(levels, tasks, strict=True):
        names = _methods_at(options, first=not outcomes)
        label = level.label(environment)
        outcomes.append(run(task, names, plan, label, session) if names else outcomes[0].without_rows())
    kappa = levels[0].kappa
    if kappa is None and tasks[0].budgets and not env.fixed_budgets:
        kappa = FINITE_KAPPA
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
    levels = options.levels
    plan = options.neural_plan(environment)
    _check_rules(env, options)
    problem = pose_neural(env, options, session)
    # A rule may loosen the κ that nobody asked for, but neither a κ nor a budget that somebody did.
    numbers = problem.budgets(levels[0].kappa, options.budgets) if options.kappa else options.budgets
    asked = rules.translate(options.requirements, env, problem.anchor.costs, numbers, problem.budgets(None, {}))
    given = {**options.budgets, **asked.budgets}
    held = [replace(problem, floors=level.floors).constraints(level.kappa, given) for level in levels]
    _ahead(environment, problem, held, options, session)
    outcomes: list[Outcome] = []
    unmet: list[UnmetBudgets | None] = []
    for level, constraints in zip(levels, held, strict=True):
        names, label = _methods_at(options, first=not outcomes), level.label(environment)
        if names:
            outcomes.append(measuring.run(problem, names, constraints, label, session, level.kappa))
        else:
            outcomes.append(outcomes[0].without_rows())
        outcome = outcomes[-1]
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
        level=BudgetLevel(DEFAULT_KAPPA if levels[0].kappa is None and held[0].budgets else levels[0].kappa),
        requirements=(*asked.explanations, *(entry.explain(held[0]) for entry in said)),
        parts={level.label(environment): "" for level in levels},
        tradeoff=TradeOff(traced, paper=paper_points(environment, options)),
    )
    return Produced(results, {environment: first.curves})


def _ahead(environment: str, problem: Problem, held: Sequence[Constraints], options: Options, session: Session) -> None:
    """Has the methods of all levels trained at once, where other processes do that."""
    if session.ahead is None:
        return
    lots: list[training.Lot] = []
    for at, (level, constraints) in enumerate(zip(options.levels, held, strict=True)):
        methods, label = _methods_at(options, first=not at), level.label(environment)
        asked = (problem.env, methods, constraints, problem.training, label)
        lots += training.lots(*asked, unconstrained=problem.runs, kappa=level.kappa)
    session.ahead(lots)


def _check_rules(env: Environment[Any], options: Options) -> None:
    """Refuses methods that have no answer here before the training that takes its time, not after it."""
    for name in options.methods:
        entry = method_entry(name)
        if isinstance(entry, RuleEntry):
            check_rule(env, name, entry.build())
        elif isinstance(entry, GradientEntry) and entry.spec is None and not entry.conditioned:
            entry.build(env, {}).network(env)  # refuses an environment that it has no answer in


def _posed(env: FiniteEnvironment[Any], level: Level, options: Options) -> BudgetedProblem:
    held = {"budgets": options.budgets, "floors": level.floors, "objective": options.objective}
    return pose_finite(env, kappa=level.kappa, **held)  # type: ignore[arg-type]


def _shown(env: Environment[Any], options: Options) -> Mapping[str, object]:
    return {"gamma": env.gamma, "horizon": env.horizon} | describe(options.parameters)


def _methods_at(options: Options, *, first: bool) -> tuple[str, ...]:
    """A method without multipliers does not see the budgets: it is trained once, with the first."""
    return tuple(name for name in options.methods if first or sees_budgets(name))


def _title(environment: str) -> str:
    return f"The methods on {environment}"


def _front(task: BudgetedProblem) -> tuple[FrontPoint, ...]:
    """The exact front: over the one budget there is, or over a common scaling of several, or of the floors."""
    held = task.constraints
    if not held.budgets:
        return front_points(task, _floor_front(task))
    if len(task.budgets) == 1 and not held.floors and held.objective == "engagement":
        return front_points(task, front(task.model, next(iter(task.budgets)), points=FRONT_POINTS))
    solutions = []
    for scale in np.linspace(0.1, 2.0, FRONT_POINTS):
        budgets = {name: float(scale) * budget for name, budget in task.budgets.items()}
        optimum = solve(task.model, budgets, floors=held.floors, objective=held.objective)
        if not isinstance(optimum, Infeasible):
            solutions.append((float(scale), optimum))
    return front_points(task, solutions)


def _floor_front(task: BudgetedProblem) -> list[tuple[float, Optimum]]:
    """The optima at floors from nothing to as much as can be reached."""
    held = task.constraints
    solutions = []
    for share in np.linspace(0.05, 1.0, FRONT_POINTS) if held.floors else ():
        # A hair below the most: on the very edge, rounding in the solver can read as infeasible.
        floors = {name: float(share) * (1 - 1e-7) * held.reach[name] for name in held.floors}
        optimum = solve(task.model, floors=floors, objective=held.objective)
        if not isinstance(optimum, Infeasible):
            solutions.append((float(share), optimum))
    return solutions
