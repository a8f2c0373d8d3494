"""The methods side by side on one environment, at one or several budget levels."""

from __future__ import annotations

from typing import Any

from mccpo.algo import method_spec
from mccpo.env import FiniteEnvironment, make
from mccpo.errors import InputError
from mccpo.exact import Infeasible, front, solve
from mccpo.experiments.finite import DEFAULT_KAPPA, Outcome, Task, pose, run, tests
from mccpo.experiments.options import Options, Session
from mccpo.experiments.table import NOTE_AVERAGED, Produced, description, front_points, fronts, protocol, setting

FRONT_POINTS = 21


def produce(environment: str, options: Options, session: Session) -> Produced:
    """Trains and evaluates the methods on an environment; several κ give a front for each method."""
    env = make(environment, **options.parameters)
    if not isinstance(env, FiniteEnvironment):
        raise InputError(f"{environment} is not finite", fix="choose a finite environment")
    levels: tuple[float | None, ...] = options.kappa or (None,)
    tasks = [pose(env, kappa=kappa, budgets=options.budgets) for kappa in levels]
    plan = options.plan(environment)
    outcomes: list[Outcome] = []
    for kappa, task in zip(levels, tasks, strict=True):
        # A method without multipliers does not see the budgets: it is trained once, with the first.
        names = [name for name in options.methods if not outcomes or method_spec(name).constrained]
        label = environment if kappa is None else f"{environment} κ={kappa:g}"
        outcomes.append(run(task, tuple(names), plan, label, session) if names else Outcome({}, outcomes[0].curves))
    task, outcome = tasks[0], outcomes[0]
    results: dict[str, Any] = {
        "table": environment,
        "title": f"The methods on {environment}",
        "protocol": protocol(plan, gamma=env.gamma, horizon=env.horizon, **options.parameters),
        "environment": description(env),
        "kappa": levels[0] if levels[0] is not None or env.fixed_budgets else DEFAULT_KAPPA,
        **setting(task, outcome, {}, {}),
        "tests": tests(outcome.rows),
        "fronts": fronts(options.methods, levels, outcomes),
        "front_optimum": _front(task),
        "notes": [NOTE_AVERAGED],
    }
    return Produced(results, {environment: outcome.curves})


def _front(task: Task) -> list[dict[str, float]]:
    """The exact front: over the one budget there is, or over a common scaling of several."""
    if len(task.budgets) == 1:
        return front_points(task, front(task.model, next(iter(task.budgets)), points=FRONT_POINTS))
    solutions = []
    for step in range(1, FRONT_POINTS + 1):
        scale = step / FRONT_POINTS
        found = solve(task.model, {name: scale * task.anchor.costs[name] for name in task.budgets})
        if not isinstance(found, Infeasible):
            solutions.append((scale, found))
    return front_points(task, solutions)
