"""What a notebook asks for: a problem, a trained method, a comparison.

>>> import mccpo
>>> table = mccpo.compare("chain", ["mc-cpo", "random-ready"], seeds=2, episodes=2000)
>>> sorted(table.settings[0].rows)
['mc-cpo', 'random-ready']
>>> table.to_polars().columns
['table', 'setting', 'method', 'metric', 'seed', 'value']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mccpo.env import Environment, check_budgets, make
from mccpo.errors import DoesNotApply
from mccpo.experiments import training
from mccpo.experiments.compare import compare_on
from mccpo.experiments.measuring import saved
from mccpo.experiments.options import Options, Session
from mccpo.experiments.problem import Problem, pose
from mccpo.experiments.saved_policies import Policies
from mccpo.methods import PAPER_METHODS, NeuralPlan, SolverEntry, method_entry
from mccpo.runs.results import Results


def problem(
    env: str | Environment[Any],
    *,
    kappa: float | None = None,
    budgets: Mapping[str, float] | None = None,
    seeds: int = 10,
    steps: int = NeuralPlan.steps,
    seed: int = 0,
) -> Problem:
    """The problem that an environment poses: what the unconstrained policies reach, and the budgets that follow.

    On a finite environment that is exact, and so is `Problem.optimum`; elsewhere the unconstrained policies are trained
    for so many steps with so many seeds. `budgets` are numbers of one's own, the others a share `kappa` of what the
    unconstrained policies cost.

    >>> chain = problem("chain", kappa=0.5)
    >>> round(chain.optimum(0.5).values.ret, 3)
    3.676
    """
    opened = make(env) if isinstance(env, str) else env
    check_budgets(opened.cost_names, budgets or {})
    return pose(opened, NeuralPlan(steps, seeds, seed), kappa=kappa, given=budgets)


def train(
    env: str | Environment[Any] | Problem,
    method: str = "mc-cpo",
    *,
    kappa: float | None = None,
    budgets: Mapping[str, float] | None = None,
    seeds: int = 10,
    steps: int = NeuralPlan.steps,
    seed: int = 0,
) -> Policies:
    """Trains a method on an environment, or on a problem that was posed before, and gives its policies, one a seed.

    What a posed problem has of its own (budgets, seeds, steps) is taken from there.
    """
    posed = env if isinstance(env, Problem) else None
    if posed is None:
        assert not isinstance(env, Problem)
        posed = problem(env, kappa=kappa, budgets=budgets, seeds=seeds, steps=steps, seed=seed)
    if isinstance(method_entry(method), SolverEntry):
        raise DoesNotApply(f"{method} computes a table and trains nothing", fix="ask `mccpo.solve` for the optimum")
    level = posed.default_kappa if posed.kappa is None else posed.kappa
    limits = posed.budgets()
    trained = training.train(
        posed.env,
        [method],
        limits,
        posed.training,
        posed.name,
        Session(),
        unconstrained=posed.runs,
        kappa=None if posed.given else level,
    )
    return saved(posed, trained[method], limits, posed.name)


def compare(
    env: str | Environment[Any],
    methods: Sequence[str] = PAPER_METHODS,
    *,
    kappa: float | Sequence[float] = (),
    budgets: Mapping[str, float] | None = None,
    requirements: Sequence[str] = (),
    seeds: int = 10,
    steps: int | None = None,
    episodes: int | None = None,
    seed: int = 0,
) -> Results:
    """Trains and evaluates methods side by side, as `mccpo compare` does, and gives the results.

    A finite environment is trained by `episodes`, another by `steps`. Several κ give a front for each method.
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
    )
    opened = make(env) if isinstance(env, str) else env
    return compare_on(opened.name, opened, options, Session()).results
