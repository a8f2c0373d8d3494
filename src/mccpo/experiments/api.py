"""What a notebook asks for: a problem, a trained method, a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mccpo.env import Environment, Objective, check_budgets, make
from mccpo.errors import DoesNotApply
from mccpo.experiments import training
from mccpo.experiments.asked.floors import Floor
from mccpo.experiments.compare import compare_on
from mccpo.experiments.measuring import saved
from mccpo.experiments.options import Options, Session
from mccpo.experiments.problem import Problem, pose
from mccpo.experiments.saved_policies import Policies
from mccpo.methods import COMPARED_METHODS, NeuralPlan, SolverEntry, method_entry
from mccpo.runs.results import Results


def problem(
    env: str | Environment[Any],
    *,
    kappa: float | None = None,
    budgets: Mapping[str, float] | None = None,
    floors: Mapping[str, float] | None = None,
    objective: Objective = "engagement",
    seeds: int = 10,
    steps: int = NeuralPlan.steps,
    seed: int = 0,
) -> Problem:
    """The problem that an environment poses: what the unconstrained policies reach, and the budgets that follow.

    On a finite environment that is exact, and so is `Problem.optimum`; elsewhere the unconstrained policies are trained
    for so many steps with so many seeds. `budgets` are numbers of one's own, the others a share `kappa` of what the
    unconstrained policies cost. `floors` are what must be reached at least: a number up to 1 is a share of what can be
    reached, a larger one an amount. Where floors are asked for and no budgets, there are none.

    >>> chain = problem("chain", kappa=0.5)
    >>> round(chain.optimum(0.5).values.ret, 3)
    3.676
    """
    opened = make(env) if isinstance(env, str) else env
    check_budgets(opened.cost_names, budgets or {})
    plan = NeuralPlan(steps, seeds, seed)
    return pose(opened, plan, kappa=kappa, given=budgets, floors=_floors(floors), objective=objective)


def train(
    env: str | Environment[Any] | Problem,
    method: str = "mc-cpo",
    *,
    kappa: float | None = None,
    budgets: Mapping[str, float] | None = None,
    floors: Mapping[str, float] | None = None,
    objective: Objective = "engagement",
    seeds: int = 10,
    steps: int = NeuralPlan.steps,
    seed: int = 0,
) -> Policies:
    """Trains a method on an environment, or on a problem that was posed before, and gives its policies, one a seed.

    What a posed problem has of its own (budgets, floors, seeds, steps) is taken from there.

    >>> policies = train("chain", "random-ready", seeds=1)
    >>> policies.method.name, sorted(policies.budgets)
    ('random-ready', ['c4'])
    """
    posed = env if isinstance(env, Problem) else None
    if posed is None:
        assert not isinstance(env, Problem)
        asked = {"kappa": kappa, "budgets": budgets, "floors": floors, "objective": objective}
        posed = problem(env, **asked, seeds=seeds, steps=steps, seed=seed)  # type: ignore[arg-type]
    if isinstance(method_entry(method), SolverEntry):
        raise DoesNotApply(f"{method} computes a table and trains nothing", fix="ask `mccpo.solve` for the optimum")
    level = posed.default_kappa if posed.kappa is None else posed.kappa
    held = posed.constraints()
    trained = training.train(
        posed.env,
        [method],
        held,
        posed.training,
        posed.name,
        Session(),
        unconstrained=posed.runs,
        kappa=None if posed.given else level,
    )
    return saved(posed, trained[method], held, posed.name)


def compare(
    env: str | Environment[Any],
    methods: Sequence[str] = COMPARED_METHODS,
    *,
    kappa: float | Sequence[float] = (),
    budgets: Mapping[str, float] | None = None,
    requirements: Sequence[str] = (),
    floors: Mapping[str, float] | None = None,
    objective: Objective = "engagement",
    seeds: int = 10,
    steps: int | None = None,
    episodes: int | None = None,
    seed: int = 0,
) -> Results:
    """Trains and evaluates methods side by side, as `mccpo compare` does, and gives the results.

    A finite environment is trained by `episodes`, another by `steps`. Several κ give a front for each method.

    >>> table = compare("chain", ["mc-cpo", "random-ready"], seeds=2, episodes=2000)
    >>> sorted(table.settings[0].rows)
    ['mc-cpo', 'random-ready']
    >>> table.to_polars().columns
    ['table', 'setting', 'method', 'metric', 'seed', 'value']
    """
    options = Options(
        methods=tuple(methods),
        seeds=seeds,
        episodes=episodes,
        steps=steps,
        seed=seed,
        kappa=(kappa,) if isinstance(kappa, int | float) else tuple(kappa),
        budgets=dict(budgets or {}),
        requirements=tuple(requirements),
        floors=_floors(floors),
        objective=objective,
    )
    opened = make(env) if isinstance(env, str) else env
    return compare_on(opened.name, opened, options, Session()).results


def _floors(floors: Mapping[str, float] | None) -> tuple[Floor, ...]:
    return tuple(Floor(name, float(number), relative=number <= 1) for name, number in (floors or {}).items())
