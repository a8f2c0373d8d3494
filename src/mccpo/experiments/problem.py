"""The problem that an environment poses: what its budgets refer to, the budgets, and the optimum where it is finite.

Budgets are shares κ of what the unconstrained policies cost, so these come first: exactly on a finite environment, else
by training, or as an earlier run left them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from mccpo.env import Environment, FiniteEnvironment, check_budgets
from mccpo.errors import InputError
from mccpo.evaluation.policy import metrics_of
from mccpo.exact import FiniteModel, Infeasible, Optimum, Values, enumerate_model, solve
from mccpo.experiments.anchors import anchor_key, pack, unpack
from mccpo.experiments.options import Options, Session
from mccpo.experiments.training import curves_of, train_specs
from mccpo.experiments.worth import mean_values, values_of
from mccpo.methods import EVALUATION_EPISODES, Episodes, NeuralPlan, NeuralRuns, evaluate_neural, method_spec

ANCHOR = "unconstrained"
"""The method that budgets refer to."""
DEFAULT_KAPPA = 0.9
FINITE_KAPPA = 0.5
"""The share of the unconstrained costs where nobody names one; the paper's finite tables have a smaller one."""


@dataclass(frozen=True, eq=False)
class Problem:
    """An environment, what the unconstrained policies are worth on it, and the budgets at every κ.

    **Fields:**

    - `env`: where policies are trained; `test`: where they are evaluated, most often the same.
    - `anchor`: what the unconstrained policies are worth in `env`; `reference`: the same policies in `test`, to which
      everything that a table says is relative.
    - `model`: the arrays of a finite environment, by which policies are evaluated exactly.
    - `plan`, `runs`: how the unconstrained policies were trained, and what came of it, where they were.
    - `kappa`, `given`: the budgets asked for: the share of the unconstrained costs, and numbers of one's own.
    """

    name: str
    env: Environment[Any]
    test: Environment[Any]
    anchor: Values
    reference: Values
    model: FiniteModel | None = None
    plan: NeuralPlan | None = None
    runs: NeuralRuns | None = None
    kappa: float | None = None
    given: Mapping[str, float] = field(default_factory=dict)
    _optima: dict[float, Optimum | Infeasible] = field(default_factory=dict, init=False)

    @property
    def default_kappa(self) -> float:
        return DEFAULT_KAPPA if self.model is None else FINITE_KAPPA

    @property
    def training(self) -> NeuralPlan:
        """How policies are trained here; only where a network learns."""
        assert self.plan is not None
        return self.plan

    def budgets(self, kappa: float | None = None, given: Mapping[str, float] | None = None) -> dict[str, float]:
        """What may be spent in training: as given, else κ times the unconstrained costs; by default as asked for.

        Without a κ, the budgets of a finite environment's own definition come first.
        """
        kappa = self.kappa if kappa is None else kappa
        own = self.env.fixed_budgets if kappa is None and self.model is not None else {}
        share = self.default_kappa if kappa is None else kappa
        shares = {name: own.get(name, share * self.anchor.costs[name]) for name in self.env.constrained}
        return shares | dict(self.given if given is None else given)

    def limits(self, kappa: float) -> dict[str, float]:
        """What may be spent where policies are evaluated."""
        return {name: kappa * self.reference.costs[name] for name in self.test.constrained}

    def optimum(self, kappa: float) -> Optimum | Infeasible | None:
        """The best policy under the budgets of a κ; None where nobody knows it."""
        if self.model is None:
            return None
        if kappa not in self._optima:
            self._optima[kappa] = solve(self.model, self.limits(kappa))
        return self._optima[kappa]

    def best_return(self, kappa: float) -> float | None:
        """The return of the optimum, where there is one."""
        optimum = self.optimum(kappa)
        return optimum.values.ret if isinstance(optimum, Optimum) else None

    def elsewhere(self, env: Environment[Any]) -> Problem:
        """The same policies in another environment: everything is relative to what the unconstrained reach there."""
        assert self.runs is not None
        there = worth(env, self.runs.selected[0], episodes=EVALUATION_EPISODES, seed=self.training.seed)
        return replace(self, env=env, test=env, anchor=there, reference=there)


@dataclass(frozen=True, eq=False)
class BudgetedProblem:
    """A finite problem under one set of budgets, and its optimum under them."""

    problem: Problem
    budgets: dict[str, float]
    optimum: Optimum
    kappa: float | None = None

    @property
    def env(self) -> FiniteEnvironment[Any]:
        assert isinstance(self.problem.env, FiniteEnvironment)
        return self.problem.env

    @property
    def model(self) -> FiniteModel:
        assert self.problem.model is not None
        return self.problem.model

    @property
    def anchor(self) -> Values:
        return self.problem.anchor

    @property
    def optimum_metrics(self) -> dict[str, float]:
        prices = {f"lambda_{name}": value for name, value in self.optimum.multipliers.items()}
        return metrics_of(self.optimum.values, self.anchor, self.env, self.budgets) | prices


def pose(
    env: Environment[Any],
    plan: NeuralPlan | None = None,
    session: Session | None = None,
    *,
    name: str = "",
    test: Environment[Any] | None = None,
    kappa: float | None = None,
    given: Mapping[str, float] | None = None,
) -> Problem:
    """Poses the problem of an environment: exactly where it is finite, else by training the unconstrained by a plan."""
    session, test = session or Session(), env if test is None else test
    name = name or env.name
    if isinstance(test, FiniteEnvironment):
        model = enumerate_model(test)
        free = solve(model)
        assert isinstance(free, Optimum)  # without budgets every environment has an optimum
        return Problem(name, env, test, free.values, free.values, model, plan, None, kappa, given or {})
    plan = plan or NeuralPlan()
    runs, anchor = _unconstrained(env, plan, session)
    reference = anchor
    if test is not env:
        reference = worth(test, runs.selected[0], episodes=EVALUATION_EPISODES, seed=plan.seed)
    return Problem(name, env, test, anchor, reference, None, plan, runs, kappa, given or {})


def pose_finite(
    env: FiniteEnvironment[Any], *, kappa: float | None = None, budgets: Mapping[str, float] | None = None
) -> BudgetedProblem:
    """Poses a finite problem: budgets are those given, else the environment's own, else κ times the unconstrained."""
    problem = pose(env)
    limits = problem.budgets(kappa, budgets)
    check_budgets(env.cost_names, limits)
    assert problem.model is not None
    optimum = solve(problem.model, limits)
    if isinstance(optimum, Infeasible):
        raise InputError(optimum.what(limits), fix=optimum.fix())
    return BudgetedProblem(problem, limits, optimum, kappa)


def pose_neural(env: Environment[Any], options: Options, session: Session) -> Problem:
    """Poses the problem of an environment that is not finite, as the options say."""
    plan = options.neural_plan(env.name)
    check_budgets(env.cost_names, options.budgets)  # before the training that takes its time, not after it
    return pose(env, plan, session)


def worth(
    env: Environment[Any], policies: Float[np.ndarray, "seeds parameters"], *, episodes: int, seed: int
) -> Values:
    """What unconstrained policies cost and return on fresh episodes of an environment, on average over seeds."""
    return _mean(env, evaluate_neural(env, [method_spec(ANCHOR)], policies[None], episodes=episodes, seed=seed))


def _unconstrained(env: Environment[Any], plan: NeuralPlan, session: Session) -> tuple[NeuralRuns, Values]:
    """Trains the unconstrained policies by a plan, or recalls those that an earlier run trained by it."""
    free, label, key = method_spec(ANCHOR), f"{env.name} {ANCHOR}", anchor_key(env, plan)
    kept = session.recall(key) if session.recall is not None and key is not None else None
    if kept is None:
        runs = train_specs(env, [free], {}, plan, label, session)
        played = evaluate_neural(env, [free], runs.selected, episodes=EVALUATION_EPISODES, seed=plan.seed)
        if session.remember is not None and key is not None:
            session.remember(key, pack(runs, played))
    else:
        runs, played = unpack(kept)
        session.end(label, curves_of(env, [ANCHOR], runs.curves, runs.steps))
    return runs, _mean(env, played)


def _mean(env: Environment[Any], played: Episodes) -> Values:
    """What the policies of one method are worth on average over seeds."""
    alone = Episodes(*(np.asarray(values)[0] for values in played))
    return mean_values([values_of(env, alone, seed) for seed in range(len(alone.ret))])
